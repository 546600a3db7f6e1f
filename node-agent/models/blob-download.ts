/** Downloads the contents of a model's files; resumes where an earlier attempt has ended. */
import { createHash, type Hash } from "node:crypto";
import { chmod, open, readFile, rename, rm, writeFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import type { Model } from "../../src/contract/model.ts";
import { retryDelayMs } from "../../src/std/waiting.ts";
import { sizeOf, transfer } from "../disk/resumed-transfer.ts";
import { type HubClient, nameOf } from "./hub-client.ts";
import { ModelError } from "./model-error.ts";
import type { ModelFile } from "./model-listing.ts";

/** Calls in a row that may bring nothing of a file. */
const FAILURES_MAX = 5;

/** Pauses before another call. */
export type RetryPolicy = { readonly baseMs: number; readonly capMs: number };

export type BlobDownloadOptions = {
  readonly hub: HubClient;
  readonly commit: string;
  /** Time without a byte after which the hub is called again. */
  readonly stallMs: number;
  readonly retry: RetryPolicy;
  /** Bytes of the file that are here now. */
  readonly onBytes: (bytes: number) => void;
  readonly signal: AbortSignal;
};

/** Afterwards, `path` has the content of the file. Throws a ModelError, or the error of the disk. */
export async function downloadBlob(
  model: Model,
  file: ModelFile,
  path: string,
  options: BlobDownloadOptions,
): Promise<void> {
  const { onBytes, signal, stallMs } = options;
  const { sizeBytes } = file;
  const incomplete = `${path}.incomplete`;
  const subject = `File ${file.path} of ${nameOf(model)}`;
  const retries = new Retries(options);
  const part = new Part(path);
  await part.read();
  const found = await transfer({
    path: incomplete,
    sizeBytes,
    createHash: () => hashOf(file),
    call: async (from, ending) => {
      const sent = await options.hub.open(
        model,
        options.commit,
        file.path,
        { from, etag: part.etag },
        ending,
      );
      if (!(sent instanceof Error)) await part.save(sent.etag);
      return sent;
    },
    stallMs,
    onBytes,
    onBroken: (error, hasBroughtBytes) => retries.afterFailure(error, hasBroughtBytes),
    brokenOff: () =>
      new ModelError(`${subject} did not arrive: the connection broke off.`, { isTransient: true }),
    excess: () => new ModelError(`${subject} has more than the ${sizeBytes} bytes that its hub announced.`),
    signal,
  });
  await part.remove();
  if (found !== file.blob) {
    await rm(incomplete, { force: true });
    throw new ModelError(
      `${subject} came damaged and was thrown away: its hash is ${found}, and ${file.blob} was announced.`,
    );
  }
  await settle(incomplete);
  await rename(incomplete, path);
}

/** Git's id of a small file, the SHA-256 of a large one. */
function hashOf({ blob, sizeBytes }: ModelFile): Hash {
  return blob.length === 40 ? createHash("sha1").update(`blob ${sizeBytes}\0`) : createHash("sha256");
}

/** The content is on the disk before it gets its name, and workers that are not root can read it. */
async function settle(path: string): Promise<void> {
  const file = await open(path, "r+");
  try {
    await file.datasync();
  } finally {
    await file.close();
  }
  await chmod(path, 0o644);
}

/** The version of a part of a file, as its server names it. */
class Part {
  readonly #path: string;
  readonly #etagPath: string;
  #etag: string | undefined;

  constructor(path: string) {
    this.#path = path;
    this.#etagPath = `${path}.etag`;
  }

  get etag(): string | undefined {
    return this.#etag;
  }

  async read(): Promise<void> {
    if ((await sizeOf(`${this.#path}.incomplete`)) === 0) return;
    this.#etag = (await readFile(this.#etagPath, "utf8").catch(() => "")) || undefined;
  }

  async save(etag: string | undefined): Promise<void> {
    if (etag === this.#etag) return;
    this.#etag = etag;
    await (etag === undefined ? this.remove() : writeFile(this.#etagPath, etag));
  }

  async remove(): Promise<void> {
    await rm(this.#etagPath, { force: true });
  }
}

/** Lets calls be repeated after growing pauses while there is hope. */
class Retries {
  readonly #options: BlobDownloadOptions;
  #failures = 0;

  constructor(options: BlobDownloadOptions) {
    this.#options = options;
  }

  /** Throws the error where another call would be of no use. */
  async afterFailure(error: Error, hasBroughtBytes: boolean): Promise<void> {
    const { retry, signal } = this.#options;
    this.#failures = hasBroughtBytes ? 0 : this.#failures + 1;
    const isHopeless = error instanceof ModelError && !error.isTransient;
    if (isHopeless || this.#failures >= FAILURES_MAX) throw error;
    if (hasBroughtBytes) return;
    await delay(retryDelayMs(this.#failures, retry, Math.random()), undefined, { signal });
  }
}
