/** Unpacks an archive whose digest was verified, but whose content is not trusted. */
import { createReadStream } from "node:fs";
import { mkdir } from "node:fs/promises";
import { Transform, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { ReadEntry, Unpack } from "tar";
import { ArchiveGuard, ARTIFACT_UNPACKED_MAX_BYTES } from "./archive-guard.ts";

/** Headers, padding, and what follows the end. */
const STREAM_MAX_BYTES = 2 * ARTIFACT_UNPACKED_MAX_BYTES;

/** The archive must not be unpacked; the message is to be read after "it". */
export class ArchiveError extends Error {
  override readonly name = "ArchiveError";
}

/** Unpacks into a new folder; returns the bytes of its files. After a failure, the caller removes the folder. */
export async function unpack(archivePath: string, folder: string, signal?: AbortSignal): Promise<number> {
  await mkdir(folder, { mode: 0o755 });
  const guard = new ArchiveGuard();
  const sink = new UnpackingSink(folder, guard);
  const stages = [
    createReadStream(archivePath),
    createGunzip(),
    boundedBytes(STREAM_MAX_BYTES),
    sink,
  ] as const;
  try {
    await pipeline(...stages, { signal: signal ?? new AbortController().signal });
  } catch (error) {
    throw isUnreadable(error) ? new ArchiveError("is no gzipped tar archive that can be read") : error;
  }
  return guard.bytes;
}

/** The library's parser behind a stream that ends when all is on the disk, and at the first fault. */
class UnpackingSink extends Writable {
  readonly #unpack: Unpack;

  constructor(folder: string, guard: ArchiveGuard) {
    super();
    const refuse = (issue: string): void => void this.destroy(new ArchiveError(issue));
    this.#unpack = new Unpack({
      cwd: folder,
      strict: true,
      brotli: false,
      zstd: false,
      preserveOwner: false,
      chmod: true,
      processUmask: 0,
      maxDepth: Number.POSITIVE_INFINITY, // the guard bounds the whole path
      filter: (_path, entry) => {
        if (this.destroyed || !(entry instanceof ReadEntry)) return false;
        const issue = guard.issueOf(entry);
        if (issue !== null) refuse(issue);
        entry.mode = modeOf(entry);
        return issue === null;
      },
    });
    this.#unpack.on("error", (error: Error) => this.destroy(error));
    this.#unpack.on("ignoredEntry", ({ type }: ReadEntry) =>
      refuse(`has an entry of the unknown kind ${type}`),
    );
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error) => void): void {
    if (this.#unpack.write(chunk)) done();
    else this.#unpack.once("drain", () => done());
  }

  override _final(done: (error?: Error) => void): void {
    this.#unpack.once("close", () => done());
    this.#unpack.end();
  }
}

/** All users may read; the setuid and setgid bits mean nothing here. */
function modeOf({ type, mode = 0 }: ReadEntry): number {
  return type === "Directory" || (mode & 0o100) !== 0 ? 0o755 : 0o644;
}

function boundedBytes(max: number): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes > max) done(new ArchiveError("unpacks to far more than it says"));
      else done(null, chunk);
    },
  });
}

/** An error of zlib or of the tar library: they can not read these bytes. */
function isUnreadable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = "code" in error ? error.code : "tarCode" in error ? error.tarCode : undefined;
  return typeof code === "string" && /^(Z_|TAR_)/.test(code);
}
