/** The body of a request: read from its source, and sent as the agent gives credit. */
import { ignoreFailure } from "../std/errors.ts";
import { LOAD_BALANCED_BODY_MAX_BYTES } from "../contract/limits.ts";
import { LINK_FRAME_MAX_BYTES, NO_PAYLOAD } from "../link/link-frame.ts";
import { LINK_WINDOW_MAX_BYTES, SendWindow } from "../link/link-window.ts";
import type { BodySource } from "./messages.ts";

/** unwanted: the answer was over before the body. aborted: the source failed. stopped: by `stop`. */
export type BodyEnd = "sent" | "too_large" | "unwanted" | "aborted" | "stopped";

export class RequestBody {
  readonly #send: (payload: Uint8Array, isLast: boolean) => void;
  readonly #window = new SendWindow();
  #bytes = 0;
  #isSent = false;
  #isUnwanted = false;
  #isStopped = false;
  #source: RequestSource | undefined;

  constructor(send: (payload: Uint8Array, isLast: boolean) => void) {
    this.#send = send;
  }

  /** Its last byte was sent. */
  get isSent(): boolean {
    return this.#isSent;
  }

  sendNothing(): void {
    this.#isSent = true;
  }

  /** False when that is more credit than an agent may give. */
  credited(bytes: number): boolean {
    this.#window.credited(bytes);
    return this.#window.open <= LINK_WINDOW_MAX_BYTES;
  }

  /** The answer is complete: the rest needs no credit. */
  answerIsOver(): void {
    this.#isUnwanted = true;
    this.#window.close();
  }

  stop(): void {
    this.leave();
    this.#source?.cancel();
  }

  /** Stops, and leaves the source to another sender. */
  leave(): void {
    this.#isStopped = true;
    this.#window.close();
  }

  async sendFrom(source: RequestSource): Promise<BodyEnd> {
    this.#source = source;
    source.rewind();
    try {
      const end = await this.#sendFrom(source);
      if (end !== "sent" && end !== "stopped") source.cancel();
      return end;
    } catch {
      return this.#isStopped ? "stopped" : "aborted";
    }
  }

  async #sendFrom(source: RequestSource): Promise<BodyEnd> {
    for (;;) {
      const piece = await source.piece();
      if (this.#isStopped) return "stopped";
      if (!piece) break;
      this.#bytes += piece.byteLength;
      if (this.#bytes > LOAD_BALANCED_BODY_MAX_BYTES) return "too_large";
      const end = await this.#sendPiece(piece);
      if (end) return end;
      source.next();
    }
    this.#isSent = true;
    this.#send(NO_PAYLOAD, true);
    return "sent";
  }

  async #sendPiece(piece: Uint8Array): Promise<BodyEnd | undefined> {
    for (let at = 0; at < piece.byteLength;) {
      if (this.#isStopped) return "stopped";
      if (this.#window.open <= 0) {
        if (this.#isUnwanted) return "unwanted";
        await this.#window.untilOpen();
        continue;
      }
      const part = piece.subarray(at, at + Math.min(this.#window.open, LINK_FRAME_MAX_BYTES));
      this.#window.sent(part.byteLength);
      this.#send(part, false);
      at += part.byteLength;
    }
    return undefined;
  }
}

/**
 * The body of a request that is not at hand, read once, piece by piece. As long as no worker has taken of it, what was
 * read is kept, so that another worker may get it from the beginning.
 */

export class RequestSource {
  readonly #source: BodySource;
  readonly #leastBytes: number;
  #reader: ReadableStreamBYOBReader | undefined;
  #buffer = new Uint8Array(LINK_FRAME_MAX_BYTES);
  #reading: Promise<void> | undefined;
  /** Pieces from the first that may be needed again; those before `#at` were sent. */
  #kept: Uint8Array[] = [];
  #at = 0;
  #isTaken = false;
  #isEnded = false;

  /** Small pieces wait for more only when the length is known: a client that streams may wait for an answer to each. */
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

  /** The next piece, valid until `next` and another call; undefined at the end. */
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

  /** The rest is not needed. */
  cancel(): void {
    this.#isEnded = true;
    void this.#reader?.cancel().catch(ignoreFailure);
  }

  /** Reads large pieces; those of the runtime itself have 4 KB. */
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
