/**
 * The body of a request that is not at hand, read once, piece by piece. As long as no worker has taken of it, what was
 * read is kept, so that another worker may get it from the beginning.
 */
import type { BodySource } from "./messages.ts";
import { LINK_FRAME_MAX_BYTES } from "../../link/link-frame.ts";

export class RequestSource {
  readonly #source: BodySource;
  readonly #leastBytes: number;
  #reader: ReadableStreamBYOBReader | undefined;
  #buffer = new Uint8Array(LINK_FRAME_MAX_BYTES);
  #reading: Promise<void> | undefined;
  /** Pieces from the first that may be asked for again; those before `#at` were sent. */
  #kept: Uint8Array[] = [];
  #at = 0;
  #isTaken = false;
  #isEnded = false;

  /** Small pieces wait for more only when the length is known: whoever streams may wait for an answer to each. */
  constructor(source: BodySource, isLengthKnown: boolean) {
    this.#source = source;
    this.#leastBytes = isLengthKnown ? LINK_FRAME_MAX_BYTES / 2 : 1;
  }

  /** A worker has some of it, so no other one may get it. */
  get isTaken(): boolean {
    return this.#isTaken;
  }

  taken(): void {
    this.#isTaken = true;
    this.#kept.splice(0, this.#at);
    this.#at = 0;
  }

  rewind(): void {
    this.#at = 0;
  }

  /** The next piece, good until `next` was called and another one is asked for; undefined at the end. */
  async piece(): Promise<Uint8Array | undefined> {
    while (this.#at >= this.#kept.length && !this.#isEnded) {
      this.#reading ??= this.#read().finally(() => (this.#reading = undefined));
      await this.#reading;
    }
    return this.#kept[this.#at];
  }

  /** The piece is dealt with. */
  next(): void {
    if (this.#isTaken) this.#kept.shift();
    else this.#at += 1;
  }

  /** Nobody wants the rest. */
  cancel(): void {
    this.#isEnded = true;
    void this.#reader?.cancel().catch(() => {});
  }

  /** The runtime itself would hand out pieces of 4 KB. */
  async #read(): Promise<void> {
    this.#reader ??= (await this.#source.open()).getReader({ mode: "byob" });
    if (this.#isEnded) return this.cancel(); // while it was being opened
    const { value } = await this.#reader.readAtLeast(this.#leastBytes, this.#buffer);
    if (!value || value.byteLength === 0) {
      this.#isEnded = true;
      return;
    }
    this.#kept.push(this.#isTaken ? value : value.slice());
    this.#buffer = new Uint8Array(value.buffer);
  }
}
