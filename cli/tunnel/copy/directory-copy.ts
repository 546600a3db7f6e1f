/**
 * Copies a directory to or from a container as a tar archive, which is packed and unpacked on the way.
 *
 * What comes from a container is not trusted: an absolute name, or one with `..`, ends the copy; links that lead out of
 * the directory, devices and the like are left out. Nothing is written through a link.
 */
import { mkdir } from "node:fs/promises";
import { Writable } from "node:stream";
import { finished } from "node:stream/promises";
import { Pack, type ReadEntry, Unpack } from "tar";
import { Failure } from "../../../src/std/failure.ts";
import type { ContainerShell } from "./container-shell.ts";
import type { FilePaths } from "./file-copy.ts";
import { leadsOut } from "./place.ts";

const REQUIRE_TAR = `command -v tar > /dev/null || { echo 'there is no tar in this image, which copying a directory needs' >&2; exit 1; }`;
const UNPACK = `${REQUIRE_TAR}
mkdir -p "$1" && exec tar -x -p -o -f - -C "$1"`;
const PACK = `${REQUIRE_TAR}
exec tar -c -f - -C "$1" .`;

const KEPT = new Set<string>(["File", "OldFile", "ContiguousFile", "Directory"]);
const LINKS = new Set<string>(["SymbolicLink", "Link"]);

/** Receives how many bytes were copied. */
export async function uploadDirectory(
  shell: ContainerShell,
  { local, remote }: FilePaths,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const pack = new Pack({ cwd: local });
  pack.add(".");
  pack.end();
  await shell.run(UNPACK, [remote], { input: counted(pack, onBytes) });
}

async function* counted(
  archive: AsyncIterable<Buffer>,
  onBytes: (bytes: number) => void,
): AsyncIterable<Uint8Array> {
  let bytes = 0;
  for await (const chunk of archive) {
    yield chunk;
    onBytes((bytes += chunk.length));
  }
}

/** Returns the names of what was left out. */
export async function downloadDirectory(
  shell: ContainerShell,
  { local, remote }: FilePaths,
  onBytes: (bytes: number) => void,
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
  const output = writableOf(unpack, onBytes);
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

function writableOf(unpack: Unpack, onBytes: (bytes: number) => void): Writable {
  let bytes = 0;
  const closed = new Promise<void>((resolve) => unpack.once("close", resolve));
  const output: Writable = new Writable({
    write(chunk: Buffer, _, next) {
      onBytes((bytes += chunk.length));
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
