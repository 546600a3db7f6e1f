/** The body of an answer: bytes until it is read, then a stream whose reader gives the credit. */
import { ignoreFailure } from "../std/errors.ts";
import { LOAD_BALANCED_BODY_MAX_BYTES } from "../contract/limits.ts";
import { ReceiveWindow, type WindowBudget } from "../link/link-window.ts";

export type AnswerPort = {
  /** The agent may send so many more bytes. */
  readonly credit: (bytes: number) => void;
  /** Its reader is gone. */
  readonly abandoned: () => void;
};

export class AnswerBody {
  readonly #port: AnswerPort;
  readonly #window: ReceiveWindow;
  #pieces: Uint8Array[] = [];
  #writer: WritableStreamDefaultWriter<Uint8Array> | undefined;
  #bytes = 0;
  #isEnded = false;
  /** Pieces that its reader has not taken. */
  #unread = 0;

  constructor(budget: WindowBudget, port: AnswerPort) {
    this.#window = new ReceiveWindow(budget);
    this.#port = port;
  }

  /** All of it has come. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Its reader is slow, rather than the worker. */
  get isUnread(): boolean {
    return this.#unread > 0;
  }

  take(piece: Uint8Array): "taken" | "beyond_credit" | "too_large" {
    if (!this.#window.received(piece.byteLength)) return "beyond_credit";
    this.#bytes += piece.byteLength;
    if (this.#bytes > LOAD_BALANCED_BODY_MAX_BYTES) return "too_large";
    if (piece.byteLength === 0) return "taken";
    if (this.#writer) this.#write(this.#writer, piece);
    else this.#pieces.push(piece);
    return "taken";
  }

  end(): void {
    this.#isEnded = true;
    this.#window.close();
    this.#writer?.close().catch(ignoreFailure);
  }

  /** All of the body, or a stream of it that continues as it comes. */
  body(): Uint8Array | ReadableStream<Uint8Array> | null {
    if (this.#isEnded) return this.#bytes === 0 ? null : joined(this.#pieces, this.#bytes);
    const { readable, writable } = new IdentityTransformStream();
    const writer: WritableStreamDefaultWriter<Uint8Array> = writable.getWriter();
    this.#writer = writer;
    writer.closed.catch(() => this.#port.abandoned());
    for (const piece of this.#pieces) this.#write(writer, piece);
    this.#pieces = [];
    return readable;
  }

  /** It will not be complete; the reader sees an error. */
  break(detail: string): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#window.close();
    this.#writer?.abort(new Error(detail)).catch(ignoreFailure);
  }

  #write(writer: WritableStreamDefaultWriter<Uint8Array>, piece: Uint8Array): void {
    this.#unread += 1;
    writer.write(piece).then(
      () => {
        this.#unread -= 1;
        const credit = this.#window.consumed(piece.byteLength);
        if (credit > 0 && !this.#isEnded) this.#port.credit(credit);
      },
      () => this.#port.abandoned(),
    );
  }
}

/** A separate copy: the message may contain frames of other streams. */
function joined(pieces: readonly Uint8Array[], bytes: number): Uint8Array {
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.byteLength;
  }
  return whole;
}
