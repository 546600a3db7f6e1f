/** Sends the body of a request as its source yields it and the agent gives credit. */
import { DIRECT_BODY_MAX_BYTES } from "../../contract/limits.ts";
import { NO_PAYLOAD, LINK_FRAME_MAX_BYTES } from "../../link/link-frame.ts";
import { SendWindow, LINK_WINDOW_MAX_BYTES } from "../../link/link-window.ts";
import type { RequestSource } from "./request-source.ts";

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

  /** False when nobody gives so much credit. */
  credited(bytes: number): boolean {
    this.#window.credited(bytes);
    return this.#window.open <= LINK_WINDOW_MAX_BYTES;
  }

  /** The answer is complete: no credit is waited for any more. */
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
      if (this.#bytes > DIRECT_BODY_MAX_BYTES) return "too_large";
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
