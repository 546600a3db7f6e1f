/** Downloads the packed files of an app from the edge; resumes where an earlier attempt has ended. */
import { createHash, type Hash } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, open, rm, stat } from "node:fs/promises";
import type { Artifact } from "../../src/contract/agent/artifact.ts";
import type { ArtifactBytes, EdgeClient, EdgeOutcome } from "../edge/edge-client.ts";
import { formatProgress } from "../core/format.ts";

/** The call of the edge that downloads artifacts. */
export type ArtifactSource = Pick<EdgeClient, "artifact">;

/** What a runtime learns only after it was created. */
export type ArtifactSourceOptions = {
  readonly artifacts: ArtifactSource;
  /** SHA-256s of the files of apps of the assigned workers. */
  readonly assignedArtifacts: () => ReadonlySet<string>;
};

export type DownloadOptions = {
  readonly source: ArtifactSource;
  /** Time without a byte after which the edge is called again. */
  readonly stallMs: number;
  readonly onProgress: (detail: string) => void;
  readonly signal: AbortSignal;
};

/** The download failed; the message is a whole sentence for users. */
export class DownloadError extends Error {
  override readonly name = "DownloadError";
}

/** Afterwards, the path has the artifact's bytes. Throws a DownloadError, or the error of the disk. */
export async function download(artifact: Artifact, path: string, options: DownloadOptions): Promise<void> {
  const { sha256, sizeBytes } = artifact;
  let bytes = await sizeOf(path);
  if (bytes > sizeBytes) bytes = 0;
  options.onProgress(progressMessage(bytes, sizeBytes));
  const file = await open(path, "a+", 0o600);
  try {
    await file.truncate(bytes);
    const hash = createHash("sha256");
    if (bytes > 0)
      for await (const chunk of createReadStream(path, { end: bytes - 1 })) hash.update(chunk as Buffer);
    const found = await new Transfer(artifact, file, options, { hash, bytes }).run();
    if (found === sha256) return;
    await rm(path, { force: true });
    throw new DownloadError(
      `The app's files came damaged and were thrown away: their SHA-256 is ${found}, and ${sha256} was announced.`,
    );
  } finally {
    await file.close();
  }
}

/** One download: calls of the edge, each for the rest that the previous call has left. */
class Transfer {
  readonly #artifact: Artifact;
  readonly #file: FileHandle;
  readonly #options: DownloadOptions;
  #hash: Hash;
  #bytes: number;

  constructor(
    artifact: Artifact,
    file: FileHandle,
    options: DownloadOptions,
    start: { readonly hash: Hash; readonly bytes: number },
  ) {
    this.#artifact = artifact;
    this.#file = file;
    this.#options = options;
    this.#hash = start.hash;
    this.#bytes = start.bytes;
  }

  /** The SHA-256 of what was received. */
  async run(): Promise<string> {
    while (this.#bytes < this.#artifact.sizeBytes) {
      const before = this.#bytes;
      const error = await this.#call();
      this.#options.signal.throwIfAborted();
      if (error !== null && this.#bytes <= before) throw new DownloadError(error); // else it is worth another call
    }
    return this.#hash.digest("hex");
  }

  /** Why the call brought not all; null when it did. */
  async #call(): Promise<string | null> {
    const { source, stallMs, signal } = this.#options;
    const stalled = new AbortController();
    const limits = { timeoutMs: stallMs, signal: AbortSignal.any([signal, stalled.signal]) };
    const outcome = await source.artifact(this.#artifact.sha256, this.#bytes, limits);
    if (outcome.kind !== "answered") return callError(outcome);
    if (outcome.reply.from !== this.#bytes) await this.#restart();
    const timer = setTimeout(() => stalled.abort(new Error("nothing came any more")), stallMs);
    try {
      for await (const chunk of pieces(outcome.reply)) {
        timer.refresh();
        await this.#take(chunk);
      }
    } finally {
      clearTimeout(timer);
      stalled.abort(); // closes a connection with more to read
    }
    return this.#bytes < this.#artifact.sizeBytes ? unreachable("the connection broke off") : null;
  }

  async #take(chunk: Uint8Array): Promise<void> {
    const { sizeBytes } = this.#artifact;
    if (this.#bytes + chunk.length > sizeBytes) {
      await this.#restart(); // whatever that was
      throw new DownloadError(
        `The edge sends more than the ${sizeBytes} bytes that it announced of the app's files.`,
      );
    }
    await this.#file.write(chunk);
    this.#hash.update(chunk);
    this.#bytes += chunk.length;
    this.#options.onProgress(progressMessage(this.#bytes, sizeBytes));
  }

  async #restart(): Promise<void> {
    await this.#file.truncate(0);
    this.#hash = createHash("sha256");
    this.#bytes = 0;
  }
}

/** The bytes that arrive until the connection ends, in whatever way: only their count matters. */
async function* pieces({ bytes }: ArtifactBytes): AsyncGenerator<Uint8Array> {
  const iterator = bytes[Symbol.asyncIterator]();
  for (;;) {
    const next = await iterator.next().catch(() => null);
    if (next === null || next.done) return;
    yield next.value;
  }
}

function callError(outcome: Exclude<EdgeOutcome<ArtifactBytes>, { readonly kind: "answered" }>): string {
  if (outcome.kind === "refused") return `The edge does not serve the app's files: ${outcome.detail}`;
  return unreachable(outcome.detail);
}

function unreachable(detail: string): string {
  return `The app's files could not be downloaded from the edge: ${detail}.`;
}

async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => null))?.size ?? 0;
}

function progressMessage(bytes: number, sizeBytes: number): string {
  return `downloading the app's files ${formatProgress(bytes, sizeBytes)}`;
}
