/**
 * Copies a directory to or from a container as a tar archive, which is packed and unpacked on the way.
 *
 * What comes from a container is not trusted: an absolute name, or one with `..`, ends the copy; links that lead out of
 * the directory, devices and the like are left out. Nothing is written through a link.
 */
import { mkdir } from "node:fs/promises";
import type { Stats } from "node:fs";
import { Writable } from "node:stream";
import { finished } from "node:stream/promises";
import { Pack, type ReadEntry, Unpack } from "tar";
import { errorMessage, ignoreFailure } from "../../../src/std/errors.ts";
import { Failure } from "../../../src/std/failure.ts";
import type { Shell } from "./container-shell.ts";
import type { FilePaths, OnProgress } from "./file-copy.ts";
import { leadsOut } from "./place.ts";

const REQUIRE_TAR = `command -v tar > /dev/null || { echo 'there is no tar in this image, which copying a directory needs' >&2; exit 1; }`;
const UNPACK = `${REQUIRE_TAR}
mkdir -p "$1" && exec tar -x -p -o -f - -C "$1"`;
const PACK = `${REQUIRE_TAR}
exec tar -c -f - -C "$1" .`;

const KEPT = new Set<string>(["File", "OldFile", "ContiguousFile", "Directory"]);
const LINKS = new Set<string>(["SymbolicLink", "Link"]);

/** Returns the names of what was left out. */
export async function uploadDirectory(
  shell: Shell,
  { local, remote }: FilePaths,
  onProgress: OnProgress,
): Promise<readonly string[]> {
  const leftOut: string[] = [];
  const input = counted(archiveOf(local, leftOut), onProgress);
  await shell.run(UNPACK, [remote], { input });
  return leftOut;
}

/** Sockets and pipes have no contents, and devices none that end. */
async function* archiveOf(directory: string, leftOut: string[]): AsyncIterable<Uint8Array> {
  const pack = new Pack({
    cwd: directory,
    filter: (path, entry) => {
      const stats = entry as Stats;
      const isKept = stats.isFile() || stats.isDirectory() || stats.isSymbolicLink();
      if (!isKept) leftOut.push(path);
      return isKept;
    },
  });
  pack.on("error", ignoreFailure); // the first is thrown below, and may be followed by others
  pack.add(".");
  pack.end();
  try {
    for await (const chunk of pack) yield chunk;
  } catch (error) {
    throw new Failure(`The directory cannot be read: ${errorMessage(error)}`);
  }
}

async function* counted(
  archive: AsyncIterable<Uint8Array>,
  onProgress: OnProgress,
): AsyncIterable<Uint8Array> {
  let thereBytes = 0;
  for await (const chunk of archive) {
    yield chunk;
    thereBytes += chunk.length;
    onProgress({ sentBytes: chunk.length, thereBytes });
  }
}

/** Returns the names of what was left out. */
export async function downloadDirectory(
  shell: Shell,
  { local, remote }: FilePaths,
  onProgress: OnProgress,
): Promise<readonly string[]> {
  const leftOut: string[] = [];
  await mkdir(local, { recursive: true });
  const unpack = new Unpack({
    cwd: local,
    strict: true, // an absolute name, and one with `..`, is an error
    preserveOwner: false,
    filter: (path, entry) => {
      const isKept = admit(entry as ReadEntry);
      if (!isKept) leftOut.push(path);
      return isKept;
    },
  });
  const output = writableOf(unpack, onProgress);
  output.on("error", () => {}); // which is thrown below
  await shell.run(PACK, [remote], { output }).catch((error) => {
    throw output.errored ?? error;
  });
  await finished(output.end());
  return leftOut;
}

/** Decides on an entry, and takes from it the bits that would let a file run as its owner. */
function admit(entry: ReadEntry): boolean {
  const { type, path, linkpath = "" } = entry;
  if (entry.mode !== undefined) entry.mode &= 0o777;
  if (KEPT.has(type)) return true;
  // The name of a hard link's target starts at the top of the archive.
  return LINKS.has(type) && !leadsOut(type === "Link" ? "top" : path, linkpath);
}

function writableOf(unpack: Unpack, onProgress: OnProgress): Writable {
  let thereBytes = 0;
  const closed = new Promise<void>((resolve) => unpack.once("close", resolve));
  const output: Writable = new Writable({
    write(chunk: Buffer, _, next) {
      thereBytes += chunk.length;
      onProgress({ sentBytes: chunk.length, thereBytes });
      if (unpack.write(chunk)) next();
      else unpack.once("drain", () => next());
    },
    final(next) {
      unpack.end();
      void closed.then(() => next());
    },
  });
  unpack.on("error", (error: Error) =>
    output.destroy(new Failure(`The directory cannot be unpacked: ${error.message}`)),
  );
  return output;
}
