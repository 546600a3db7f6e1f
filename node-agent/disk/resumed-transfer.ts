/** Puts bytes from a server into a file; goes on where an earlier transfer has ended. */
import type { Hash } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";

/** Bytes from an offset on: the requested one, or 0 where the server sends all of them. */
export type SentBytes = { readonly from: number; readonly bytes: AsyncIterable<Uint8Array> };

export type TransferOptions = {
  readonly path: string;
  readonly sizeBytes: number;
  /** Of the bytes from the first on. */
  readonly createHash: () => Hash;
  /** Requests the bytes from an offset on. An error says why there are none. */
  readonly call: (from: number, signal: AbortSignal) => Promise<SentBytes | Error>;
  /** Time without a byte after which another call is made. */
  readonly stallMs: number;
  /** How many bytes there are now. */
  readonly onBytes: (bytes: number) => void;
  /** A call brought not all; it throws unless another one shall be made. */
  readonly onBroken: (error: Error, hasBroughtBytes: boolean) => void | Promise<void>;
  /** What a connection that ends early means. */
  readonly brokenOff: () => Error;
  /** What to throw for more bytes than were announced. */
  readonly excess: () => Error;
  readonly signal: AbortSignal;
};

/** Afterwards, the path has as many bytes as were announced. Resolves to their digest in hex. */
export async function transfer(options: TransferOptions): Promise<string> {
  const { path, sizeBytes, createHash } = options;
  let bytes = await sizeOf(path);
  if (bytes > sizeBytes) bytes = 0;
  options.onBytes(bytes);
  const file = await open(path, "a+", 0o600);
  try {
    await file.truncate(bytes);
    const hash = createHash();
    if (bytes > 0)
      for await (const chunk of createReadStream(path, { end: bytes - 1 })) hash.update(chunk as Buffer);
    return await new Transfer(file, options, { hash, bytes }).run();
  } finally {
    await file.close();
  }
}

/** One transfer: calls, each for the rest that the previous call has left. */
class Transfer {
  readonly #file: FileHandle;
  readonly #options: TransferOptions;
  #hash: Hash;
  #bytes: number;

  constructor(
    file: FileHandle,
    options: TransferOptions,
    start: { readonly hash: Hash; readonly bytes: number },
  ) {
    this.#file = file;
    this.#options = options;
    this.#hash = start.hash;
    this.#bytes = start.bytes;
  }

  async run(): Promise<string> {
    const { sizeBytes, signal, onBroken } = this.#options;
    while (this.#bytes < sizeBytes) {
      const before = this.#bytes;
      const error = await this.#call();
      signal.throwIfAborted();
      if (error !== null) await onBroken(error, this.#bytes > before);
    }
    return this.#hash.digest("hex");
  }

  /** Why the call brought not all; null when it did. */
  async #call(): Promise<Error | null> {
    const { call, stallMs, signal, sizeBytes, brokenOff } = this.#options;
    const stalled = new AbortController();
    const sent = await call(this.#bytes, AbortSignal.any([signal, stalled.signal]));
    if (sent instanceof Error) return sent;
    if (sent.from !== this.#bytes) await this.#restart();
    const timer = setTimeout(() => stalled.abort(new Error("nothing came any more")), stallMs);
    try {
      for await (const chunk of pieces(sent.bytes)) {
        timer.refresh();
        await this.#take(chunk);
      }
    } finally {
      clearTimeout(timer);
      stalled.abort(); // closes a connection with more to read
    }
    return this.#bytes < sizeBytes ? brokenOff() : null;
  }

  async #take(chunk: Uint8Array): Promise<void> {
    if (this.#bytes + chunk.length > this.#options.sizeBytes) {
      await this.#restart(); // whatever that was
      throw this.#options.excess();
    }
    await this.#file.write(chunk);
    this.#hash.update(chunk);
    this.#bytes += chunk.length;
    this.#options.onBytes(this.#bytes);
  }

  async #restart(): Promise<void> {
    await this.#file.truncate(0);
    this.#hash = this.#options.createHash();
    this.#bytes = 0;
  }
}

/** The bytes that arrive until the connection ends, in whatever way: only their count matters. */
async function* pieces(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const iterator = bytes[Symbol.asyncIterator]();
  for (;;) {
    const next = await iterator.next().catch(() => null);
    if (next === null || next.done) return;
    yield next.value;
  }
}

/** Size of a file; 0 where there is none. */
export async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => null))?.size ?? 0;
}
