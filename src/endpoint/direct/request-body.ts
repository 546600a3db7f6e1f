/** Sends the body of a request as its source yields it and the agent gives credit. */
import { DIRECT_BODY_MAX_BYTES, LINK_FRAME_MAX_BYTES, LINK_WINDOW_MAX_BYTES } from "../../contract/limits.ts";
import { NO_PAYLOAD } from "../../contract/link-frame.ts";
import { SendWindow } from "../../contract/link-window.ts";
import type { BodySource } from "./messages.ts";

/** unwanted: the answer was over before the body. aborted: the source failed. stopped: by `stop`. */
export type BodyEnd = "sent" | "too_large" | "unwanted" | "aborted" | "stopped";

type Reader = ReadableStreamDefaultReader<Uint8Array>;

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

  async sendFrom(source: BodySource): Promise<BodyEnd> {
    try {
      const reader = (await source.open()).getReader();
      this.#stop = () => void reader.cancel().catch(() => {});
      const end = this.#isStopped ? "stopped" : await this.#sendFrom(reader);
      if (end !== "sent") this.#stop();
      return end;
    } catch {
      return this.#isStopped ? "stopped" : "aborted";
    }
  }

  async #sendFrom(reader: Reader): Promise<BodyEnd> {
    for (;;) {
      const { done, value } = await reader.read();
      if (this.#isStopped) return "stopped";
      if (done) break;
      this.#bytes += value.byteLength;
      if (this.#bytes > DIRECT_BODY_MAX_BYTES) return "too_large";
      const end = await this.#sendPiece(value);
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
