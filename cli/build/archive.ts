/** Packs a directory so that the same files always give the same bytes. */
import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Pack } from "tar";

export type Archive = { readonly sha256: string; readonly sizeBytes: number };

export type PackingOptions = {
  readonly signal: AbortSignal;
  /** Told how much of the files is packed. */
  readonly onProgress: (doneBytes: number, totalBytes: number) => void;
};

/** Writes a gzipped tar archive of all files in a directory. */
export async function packDirectory(
  directory: string,
  archive: string,
  { signal, onProgress }: PackingOptions,
): Promise<Archive> {
  const paths = await filesOf(directory);
  const totalBytes = await sizeOf(directory, paths);
  let doneBytes = 0;
  const pack = new Pack({
    cwd: directory,
    // Neither owners nor times of this computer, in the archive as in the gzip around it.
    gzip: true,
    portable: true,
    mtime: new Date(0),
    onWriteEntry: (entry) => {
      if (!entry.stat) return;
      const isExecutable = (entry.stat.mode & 0o100) !== 0;
      entry.stat.mode = isExecutable ? 0o755 : 0o644;
      doneBytes += entry.stat.size;
      onProgress(doneBytes, totalBytes);
    },
  });
  const hash = createHash("sha256");
  let sizeBytes = 0;
  const measure = new Transform({
    transform(chunk: Buffer, _, next) {
      hash.update(chunk);
      sizeBytes += chunk.length;
      next(null, chunk);
    },
  });
  for (const path of paths) pack.add(path);
  pack.end();
  await pipeline(pack, measure, createWriteStream(archive), { signal });
  return { sha256: hash.digest("hex"), sizeBytes };
}

/** Paths of all files within, with forward slashes, sorted. */
export async function filesOf(directory: string): Promise<string[]> {
  const found: string[] = [];
  const enter = async (path: string): Promise<void> => {
    for (const entry of await readdir(join(directory, path), { withFileTypes: true })) {
      const inner = path === "" ? entry.name : `${path}/${entry.name}`;
      if (entry.isDirectory()) await enter(inner);
      else found.push(inner);
    }
  };
  await enter("");
  return found.sort();
}

async function sizeOf(directory: string, paths: readonly string[]): Promise<number> {
  let bytes = 0;
  for (const path of paths) bytes += (await stat(join(directory, path))).size;
  return bytes;
}
