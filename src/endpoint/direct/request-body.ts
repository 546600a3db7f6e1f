/** Sends the body of a request as its source yields it and the agent gives credit. */
import { DIRECT_BODY_MAX_BYTES, LINK_FRAME_MAX_BYTES, LINK_WINDOW_MAX_BYTES } from "../../contract/limits.ts";
import { NO_PAYLOAD } from "../../contract/link-frame.ts";
import { SendWindow } from "../../contract/link-window.ts";
import type { BodySource } from "./messages.ts";

/** unwanted: the answer was over before the body. aborted: the source failed. stopped: by `stop`. */
export type BodyEnd = "sent" | "too_large" | "unwanted" | "aborted" | "stopped";

/** The next piece, good until the next is read; undefined at the end. */
type Read = () => Promise<Uint8Array | undefined>;

export class RequestBody {
  readonly #send: (payload: Uint8Array, isLast: boolean) => void;
  readonly #window = new SendWindow();
  #bytes = 0;
  #isSent = false;
  #isUnwanted = false;
  #isStopped = false;
  #stop: () => void = () => {};

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

  /** Sends what is within the first credit. */
  sendAtOnce(bytes: Uint8Array): void {
    this.#window.sent(bytes.byteLength);
    this.#isSent = true;
    this.#send(bytes, true);
  }

  /** False when nobody gives so much credit. */
  credited(bytes: number): boolean {
    this.#window.credited(bytes);
    return this.#window.open <= LINK_WINDOW_MAX_BYTES;
  }

  /** The answer is complete: no credit is waited for any more. */
  answerIsOver(): void {
    this.#isUnwanted = true;
    this.#window.release();
  }

  stop(): void {
    this.#isStopped = true;
    this.#window.release();
    this.#stop();
  }

  /** Small pieces wait for more only when the length is known: whoever streams may wait for an answer to each. */
  async sendFrom(source: BodySource, isLengthKnown: boolean): Promise<BodyEnd> {
    try {
      const reader = (await source.open()).getReader({ mode: "byob" });
      this.#stop = () => void reader.cancel().catch(() => {});
      const read = piecesOf(reader, isLengthKnown ? LINK_FRAME_MAX_BYTES / 2 : 1);
      const end = this.#isStopped ? "stopped" : await this.#sendFrom(read);
      if (end !== "sent") this.#stop();
      return end;
    } catch {
      return this.#isStopped ? "stopped" : "aborted";
    }
  }

  async #sendFrom(read: Read): Promise<BodyEnd> {
    for (;;) {
      const piece = await read();
      if (this.#isStopped) return "stopped";
      if (!piece) break;
      this.#bytes += piece.byteLength;
      if (this.#bytes > DIRECT_BODY_MAX_BYTES) return "too_large";
      const end = await this.#sendPiece(piece);
      if (end) return end;
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

/** The runtime itself would hand out pieces of 4 KB. */
function piecesOf(reader: ReadableStreamBYOBReader, leastBytes: number): Read {
  let buffer = new Uint8Array(LINK_FRAME_MAX_BYTES);
  return async () => {
    const { value } = await reader.readAtLeast(leastBytes, buffer);
    if (!value || value.byteLength === 0) return undefined;
    buffer = new Uint8Array(value.buffer);
    return value;
  };
}
