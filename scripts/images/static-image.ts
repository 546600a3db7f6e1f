/** The image of the static-files example: busybox, whose httpd serves examples/static-files/site at /site. */
import { createHash } from "node:crypto";
import { copyFile, cp, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import Docker from "dockerode";
import { findStaticBusybox } from "./busybox.ts";
import { finishImage, labelsOf, tarOf, withScratchFolder } from "./image-import.ts";

const REPOSITORY = "edgerun/static-files";
const SITE = fileURLToPath(new URL("../../examples/static-files/site", import.meta.url));
/** Replaces its shell, so that it gets the signal that ends the container. */
const COMMAND = "exec httpd -f -p $PORT -h /site";

/** Makes sure that an image with the files as they are in this clone exists. */
export async function ensureStaticFilesImage(
  say: (line: string) => void = () => {},
): Promise<{ image: string }> {
  const docker = new Docker();
  const image = `${REPOSITORY}:${await hashOfSite()}`;
  if (await labelsOf(docker, image)) return { image };

  say(`building ${image}`);
  await withScratchFolder(async (folder) => {
    const root = join(folder, "root");
    await layOut(root, folder);
    const [repo, tag] = image.split(":");
    const changes = ["ENV PATH=/bin", `CMD ["sh", "-c", "${COMMAND}"]`];
    await finishImage(docker, await docker.importImage(tarOf(root), { repo, tag, changes }));
  });
  return { image };
}

async function layOut(root: string, scratch: string): Promise<void> {
  const busybox = await findStaticBusybox(scratch);
  if (busybox === null) throw new Error("There is no static busybox here: apt-get install busybox-static");
  await mkdir(join(root, "bin"), { recursive: true });
  await copyFile(busybox, join(root, "bin/busybox"));
  for (const command of ["sh", "httpd"]) await symlink("busybox", join(root, "bin", command));
  await cp(SITE, join(root, "site"), { recursive: true });
  // Clients that accept gzip get these instead.
  for (const name of await files()) {
    await writeFile(join(root, "site", `${name}.gz`), gzipSync(await readFile(join(SITE, name))));
  }
}

async function hashOfSite(): Promise<string> {
  const hash = createHash("sha256").update(COMMAND);
  for (const name of await files()) hash.update(name).update(await readFile(join(SITE, name)));
  return hash.digest("hex").slice(0, 12);
}

/** The site has no folders. */
async function files(): Promise<readonly string[]> {
  return (await readdir(SITE)).toSorted();
}
