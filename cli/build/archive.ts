/** Packs a directory reproducibly: the same files always give the same bytes. */
import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Pack } from "tar";
import { filesOf } from "../core/files.ts";

const LARGEST_SHOWN = 5;

export type Archive = { readonly sha256: string; readonly sizeBytes: number };

export type PackingResult =
  | ({ readonly kind: "packed" } & Archive)
  /** No archive was written. `largest` are names at the top of the directory. */
  | { readonly kind: "too-large"; readonly largest: readonly Weight[] };

type Weight = { readonly name: string; readonly bytes: number };

export type PackingOptions = {
  /** Limit of the archive. */
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  /** Receives progress in bytes of the files. */
  readonly onProgress: (doneBytes: number, totalBytes: number) => void;
};

/** Writes a gzipped tar archive of all files in a directory, unless it would exceed `maxBytes`. */
export async function packDirectory(
  directory: string,
  archive: string,
  { maxBytes, signal, onProgress }: PackingOptions,
): Promise<PackingResult> {
  const paths = await filesOf(directory);
  const sizes = await sizesOf(directory, paths);
  const totalBytes = sizes.reduce((sum, bytes) => sum + bytes, 0);
  let doneBytes = 0;
  const pack = packOf(directory, (bytes) => onProgress((doneBytes += bytes), totalBytes));
  for (const path of paths) pack.add(path);
  pack.end();
  const hash = createHash("sha256");
  let sizeBytes = 0;
  const tooLarge = new AbortController();
  const measure = new Transform({
    transform(chunk: Buffer, _, next) {
      hash.update(chunk);
      sizeBytes += chunk.length;
      if (sizeBytes > maxBytes) tooLarge.abort();
      next(null, chunk);
    },
  });
  const stop = AbortSignal.any([signal, tooLarge.signal]);
  try {
    await pipeline(pack, measure, createWriteStream(archive), { signal: stop });
    return { kind: "packed", sha256: hash.digest("hex"), sizeBytes };
  } catch (error) {
    await rm(archive, { force: true });
    signal.throwIfAborted();
    if (!tooLarge.signal.aborted) throw error;
    return { kind: "too-large", largest: largestOf(paths, sizes) };
  }
}

/** Stores no owners and no times of this computer, neither in the archive nor in the gzip header. */
function packOf(directory: string, onFile: (bytes: number) => void): Pack {
  return new Pack({
    cwd: directory,
    gzip: true,
    portable: true,
    mtime: new Date(0),
    onWriteEntry: ({ stat }) => {
      if (!stat) return;
      stat.mode = (stat.mode & 0o100) === 0 ? 0o644 : 0o755;
      onFile(stat.size);
    },
  });
}

async function sizesOf(directory: string, paths: readonly string[]): Promise<readonly number[]> {
  const sizes: number[] = [];
  for (const path of paths) sizes.push((await stat(join(directory, path))).size);
  return sizes;
}

function largestOf(paths: readonly string[], sizes: readonly number[]): readonly Weight[] {
  const weights = new Map<string, number>();
  for (const [at, path] of paths.entries()) {
    const name = path.split("/", 1)[0] ?? path;
    weights.set(name, (weights.get(name) ?? 0) + (sizes[at] ?? 0));
  }
  const sorted = [...weights]
    .map(([name, bytes]) => ({ name, bytes }))
    .sort((one, other) => other.bytes - one.bytes);
  return sorted.slice(0, LARGEST_SHOWN);
}
