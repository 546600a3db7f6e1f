/**
 * An app's files with the bytecode that the Python of one image has made of them.
 *
 * B1  The files are hard links of those of the build, and take no disk again.
 * B2  Bytecode is used by containers of the image that made it and by no others, and only files of `__pycache__`
 *     folders are taken from it: an image has no say in what another one runs.
 * B3  What is there under the name of an image is whole and on the disk.
 */
import { link, mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { errorCode } from "../../src/std/errors.ts";
import { syncDisk } from "../host/sync-disk.ts";
import { runCommand } from "../host/command.ts";
import { unpack } from "./unpacking.ts";

/** Images whose bytecode is stored of one build. A tag that moves each day must not fill the disk. */
const IMAGES_MAX = 8;

/** In the folder of a build. */
const COMPILED = "compiled";

const BYTECODE = /(^|\/)__pycache__\/[^/]+\.pyc$/;

/** Where containers of an image find the files of a build; null where they were not compiled for it. */
export async function findCompiled(build: string, imageId: string): Promise<string | null> {
  const path = compiledPath(build, imageId);
  const found = await stat(path).catch(() => null);
  return found?.isDirectory() === true ? path : null;
}

/** Whether a build has a place for bytecode of one more image. */
export async function takesBytecode(build: string, imageId: string): Promise<boolean> {
  const images = await readdir(join(build, COMPILED)).catch((): string[] => []);
  return images.length < IMAGES_MAX && !images.includes(nameOf(imageId));
}

/**
 * Adds the bytecode in a gzipped tar archive, whose content is not trusted. `draft` is a new folder on the same disk;
 * returns the bytes that were added. Throws an ArchiveError, or the error of the disk.
 */
export async function addBytecode(
  build: string,
  imageId: string,
  { archive, draft, signal }: { archive: string; draft: string; signal: AbortSignal },
): Promise<number> {
  const bytecode = join(draft, "bytecode");
  await unpack(archive, bytecode, signal);
  const files = join(draft, "app");
  await linkTree(join(build, "app"), files);
  const bytes = await moveBytecode(bytecode, files);
  await rm(bytecode, { recursive: true });
  if (!(await syncDisk(draft))) throw new Error("the disk was not written");
  await mkdir(join(build, COMPILED)).catch(ignorePlace);
  await rename(files, compiledPath(build, imageId));
  return bytes;
}

function compiledPath(build: string, imageId: string): string {
  return join(build, COMPILED, nameOf(imageId));
}

/** "sha256:12ab" as a name of a folder. */
function nameOf(imageId: string): string {
  return imageId.replaceAll(/[^0-9a-z]/g, "-");
}

async function linkTree(from: string, to: string): Promise<void> {
  const end = await runCommand("cp", ["--archive", "--link", from, to]);
  if (end.kind === "absent") throw new Error("this host has no command cp");
  if (end.code !== 0) throw new Error(end.output);
}

/** Moves what is bytecode into a tree, and replaces nothing there; returns its bytes. */
async function moveBytecode(from: string, to: string): Promise<number> {
  const entries = await readdir(from, { recursive: true, withFileTypes: true });
  let bytes = 0;
  for (const entry of entries) {
    const source = join(entry.parentPath, entry.name);
    const path = source.slice(from.length + 1);
    if (!entry.isFile() || !BYTECODE.test(path)) continue;
    bytes += (await place(source, join(to, path))) ? (await stat(join(to, path))).size : 0;
  }
  return bytes;
}

/** False where its module's folder is not there, or something is in its place. */
async function place(source: string, target: string): Promise<boolean> {
  try {
    await mkdir(dirname(target), { mode: 0o755 }).catch(ignorePlace);
    await link(source, target); // which replaces nothing
    return true;
  } catch (error) {
    ignorePlace(error);
    return false;
  }
}

function ignorePlace(error: unknown): void {
  if (!["EEXIST", "ENOENT", "ENOTDIR"].includes(errorCode(error) ?? "")) throw error;
}
