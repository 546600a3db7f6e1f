/**
 * Images for the examples on Node, made from what this clone already has: no registry, a few seconds.
 *
 *   edgerun/node:24              the Node of node_modules with the shared libraries that it needs
 *   edgerun/hello:<hash>         the same with examples/hello/worker.mjs at /app/worker.mjs
 *   edgerun/node-server:<hash>   the same with examples/node-server/server.mjs at /app/server.mjs, and ws
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, copyFile, cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import Docker from "dockerode";
import { finishImage, labelsOf, tarOf, withScratchFolder } from "./image-import.ts";

const run = promisify(execFile);

const NODE_IMAGE = "edgerun/node:24";
/** Carries the Node version, so that another one replaces the image. */
const NODE_LABEL = "edgerun.node";

const repositoryRoot = fileURLToPath(new URL("../../", import.meta.url));
const nodeFile = join(repositoryRoot, "node_modules/node/bin/node");

type ImageOptions = {
  readonly docker?: Docker;
  /** Told in a few words what happens. */
  readonly say?: (line: string) => void;
};

/** Makes sure that an image with this clone's Node exists. Throws where it cannot be made. */
export async function ensureNodeImage(options: ImageOptions = {}): Promise<{ image: string }> {
  const docker = options.docker ?? new Docker();
  const version = await nodeVersion();
  if ((await labelsOf(docker, NODE_IMAGE))?.[NODE_LABEL] === version) return { image: NODE_IMAGE };

  options.say?.(`building ${NODE_IMAGE} with Node ${version}`);
  await withScratchFolder(async (folder) => {
    await layOutNode(folder);
    const [repo, tag] = NODE_IMAGE.split(":");
    const changes = [`LABEL ${NODE_LABEL}=${version}`, "ENV PATH=/usr/local/bin", 'CMD ["node"]'];
    await finishImage(docker, await docker.importImage(tarOf(folder), { repo, tag, changes }));
  });
  return { image: NODE_IMAGE };
}

/** Makes sure that an image of the hello worker as it stands in this clone exists. */
export async function ensureHelloImage(options: ImageOptions = {}): Promise<{ image: string }> {
  return ensureNodeApp("edgerun/hello", join(repositoryRoot, "examples/hello/worker.mjs"), options);
}

/** Makes sure that an image of the Node server as it stands in this clone exists. */
export async function ensureNodeServerImage(options: ImageOptions = {}): Promise<{ image: string }> {
  const server = join(repositoryRoot, "examples/node-server/server.mjs");
  return ensureNodeApp("edgerun/node-server", server, { ...options, packages: ["ws"] });
}

/** Makes sure that there is an image that runs this one file, beside packages of this clone that need no others. */
export async function ensureNodeApp(
  repository: string,
  file: string,
  { packages = [], ...options }: ImageOptions & { readonly packages?: readonly string[] } = {},
): Promise<{ image: string }> {
  const docker = options.docker ?? new Docker();
  const version = await nodeVersion();
  const hash = createHash("sha256").update(await readFile(file));
  for (const name of packages) hash.update(await readFile(join(packageFolder(name), "package.json")));
  const image = `${repository}:${hash.digest("hex").slice(0, 12)}`;
  if ((await labelsOf(docker, image))?.[NODE_LABEL] === version) return { image };

  const base = await ensureNodeImage(options);
  options.say?.(`building ${image}`);
  const program = `/app/${basename(file)}`;
  await withScratchFolder(async (folder) => {
    await mkdir(join(folder, "app"));
    await copyFile(file, join(folder, program));
    for (const name of packages) {
      await cp(packageFolder(name), join(folder, "app/node_modules", name), { recursive: true });
    }
    await writeFile(
      join(folder, "Dockerfile"),
      `FROM ${base.image}\nCOPY app /app\nCMD ["node", "${program}"]\n`,
    );
    await finishImage(docker, await docker.buildImage(tarOf(folder), { t: image, q: true, rm: true }));
  });
  return { image };
}

function packageFolder(name: string): string {
  return join(repositoryRoot, "node_modules", name);
}

async function nodeVersion(): Promise<string> {
  if (process.platform !== "linux" || !["x64", "arm64"].includes(process.arch)) {
    throw new Error(
      `The Node image is made from this machine's own Node, which needs Linux on x64 or arm64; ` +
        `this is ${process.platform} on ${process.arch}. Use the process runtime, or an image of your own.`,
    );
  }
  const { stdout } = await run(nodeFile, ["--version"]);
  return stdout.trim();
}

/** Lays out a root file system in which node starts. */
async function layOutNode(root: string): Promise<void> {
  await place(root, nodeFile, "/usr/local/bin/node");
  for (const library of await librariesOf(nodeFile)) await place(root, library, library);
  await mkdir(join(root, "etc"));
  await writeFile(join(root, "etc/passwd"), "root:x:0:0:root:/root:/sbin/nologin\n");
  await writeFile(join(root, "etc/group"), "root:x:0:\n");
  await writeFile(join(root, "etc/nsswitch.conf"), "hosts: files dns\n");
  for (const folder of ["root", "tmp"]) await mkdir(join(root, folder));
  await chmod(join(root, "tmp"), 0o1777);
}

async function place(root: string, source: string, target: string): Promise<void> {
  const path = join(root, target);
  await mkdir(dirname(path), { recursive: true });
  // What ldd names is often a link: the image gets the file behind it.
  await cp(source, path, { dereference: true });
}

/** The shared libraries that a program loads, as absolute paths, and those it needs to look up host names. */
async function librariesOf(program: string): Promise<readonly string[]> {
  const { stdout } = await run("ldd", [program]);
  const linked = stdout.split(/\s+/).filter((word) => word.startsWith("/"));
  const libc = linked.find((path) => basename(path).startsWith("libc.so"));
  if (libc === undefined) throw new Error(`ldd named no C library for ${program}:\n${stdout}`);

  const lookups = ["libnss_files.so.2", "libnss_dns.so.2", "libresolv.so.2"].map((name) =>
    join(dirname(libc), name),
  );
  const present = await Promise.all(
    lookups.map((path) =>
      readFile(path).then(
        () => true,
        () => false,
      ),
    ),
  );
  return [...linked, ...lookups.filter((_, index) => present[index])];
}
