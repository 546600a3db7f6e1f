/** The console (console/app), built into files whose names change with their content. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync } from "node:zlib";
import { execa } from "execa";

/** What a browser loads before the first page shows, compressed. */
export const FIRST_LOAD_MAX_BYTES = 150_000;

const APP = "console/app";
const MANIFEST = "manifest.json";
/** Of the manifest, as Vite writes it. */
type Chunk = {
  readonly file: string;
  readonly imports?: readonly string[];
  readonly css?: readonly string[];
};
type Manifest = Readonly<Record<string, Chunk>>;

/** The files by their path below the address of the edge. Throws when the first load is too large. */
export async function buildConsole(root: string): Promise<ReadonlyMap<string, Buffer>> {
  const target = await mkdtemp(join(tmpdir(), "edgerun-console-"));
  try {
    await execa(process.execPath, argumentsOf(root, target), {
      cwd: root,
      // Of a program that builds it for tests, React would be the slow variant.
      env: { NODE_ENV: "production" },
    });
    const manifest = JSON.parse(await readFile(join(target, MANIFEST), "utf8")) as Manifest;
    const chunks = Object.values(manifest);
    const paths = new Set(["index.html", ...chunks.flatMap(({ file, css = [] }) => [file, ...css])]);
    const files = new Map<string, Buffer>();
    for (const path of paths) files.set(`console/${path}`, await readFile(join(target, path)));
    requireSmall(firstLoadBytes(manifest, files));
    return files;
  } finally {
    await rm(target, { recursive: true, force: true });
  }
}

function argumentsOf(root: string, target: string): readonly string[] {
  const vite = join(root, "node_modules/vite/bin/vite.js");
  const config = join(root, APP, "vite.config.ts");
  return [
    vite,
    "build",
    "--config",
    config,
    "--configLoader",
    "native",
    "--outDir",
    target,
    "--logLevel",
    "warn",
  ];
}

/** Bytes that travel for the document, its scripts and style sheets, without those of single pages. */
function firstLoadBytes(manifest: Manifest, files: ReadonlyMap<string, Buffer>): number {
  const needed = new Set<string>(["index.html"]);
  const open = ["index.html"];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const chunk = manifest[name];
    for (const path of [chunk?.file, ...(chunk?.css ?? [])]) if (path) needed.add(path);
    open.push(...(chunk?.imports ?? []).filter((one) => !needed.has(manifest[one]?.file ?? "")));
  }
  const contents = [...needed].flatMap((path) => files.get(`console/${path}`) ?? []);
  return contents.reduce((sum, content) => sum + brotliCompressSync(content).length, 0);
}

function requireSmall(bytes: number): void {
  if (bytes <= FIRST_LOAD_MAX_BYTES) return;
  throw new Error(
    `The first load of the console takes ${bytes} bytes compressed, more than ${FIRST_LOAD_MAX_BYTES}. Load the heavy part with import().`,
  );
}
