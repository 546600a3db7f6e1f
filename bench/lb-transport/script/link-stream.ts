/** One request on a link, as the object sees it. */
import {
  decodeCredit,
  encodeCredit,
  FLAG_END,
  FRAME,
  type Frame,
  NO_PAYLOAD,
  LINK_FRAME_MAX_BYTES,
} from "../../../src/link/link-frame.ts";
import { ReceiveWindow, SendWindow, type WindowBudget } from "../../../src/link/link-window.ts";
import type { Answer } from "./answer.ts";

export class LinkStream {
  readonly answer: Promise<Answer>;
  readonly #number: number;
  readonly #send: (frames: readonly Frame[]) => void;
  readonly #over: () => void;
  readonly #receiving: ReceiveWindow;
  readonly #sending = new SendWindow();
  readonly #resolve: (answer: Answer) => void;
  #writer: WritableStreamDefaultWriter<Uint8Array> | undefined;
  #isOver = false;

  constructor(
    number: number,
    budget: WindowBudget,
    send: (frames: readonly Frame[]) => void,
    over: () => void,
  ) {
    this.#number = number;
    this.#send = send;
    this.#over = over;
    this.#receiving = new ReceiveWindow(budget);
    const { promise, resolve } = Promise.withResolvers<Answer>();
    this.answer = promise;
    this.#resolve = resolve;
  }

  /** A frame of the agent; `whole` is the body of the answer when all of it comes behind its head. */
  receive({ type, flags, payload }: Frame, whole: Uint8Array | null): void {
    if (type === FRAME.CREDIT) this.#sending.credited(decodeCredit(payload) ?? 0);
    else if (type === FRAME.HEAD) this.#head(payload.slice(), whole);
    else if (type === FRAME.DATA && this.#writer) void this.#data(this.#writer, payload, flags);
    else if (type === FRAME.RESET) this.#end();
  }

  /** Sends the body of the request as the agent gives credit; in small pieces only when somebody may wait for them. */
  async upload(body: ReadableStream<Uint8Array>, isLengthKnown: boolean): Promise<void> {
    const reader = body.getReader({ mode: "byob" }); // the default reader's pieces have 4 KB
    let buffer = new Uint8Array(LINK_FRAME_MAX_BYTES);
    while (!this.#isOver) {
      await this.#sending.untilOpen();
      const bytes = Math.min(LINK_FRAME_MAX_BYTES, this.#sending.open);
      const atLeast = isLengthKnown ? Math.ceil(bytes / 2) : 1;
      const { value, done } = await reader.readAtLeast(atLeast, buffer.subarray(0, bytes));
      if (done) return this.#frame(FRAME.DATA, NO_PAYLOAD, FLAG_END);
      this.#sending.sent(value.byteLength);
      this.#frame(FRAME.DATA, value);
      buffer = new Uint8Array(value.buffer);
    }
  }

  #head(head: Uint8Array, whole: Uint8Array | null): void {
    if (whole) {
      this.#resolve({ head, body: whole.slice() });
      return this.#end();
    }
    const { readable, writable } = new IdentityTransformStream();
    this.#writer = writable.getWriter();
    this.#resolve({ head, body: readable });
  }

  async #data(writer: WritableStreamDefaultWriter, payload: Uint8Array, flags: number): Promise<void> {
    this.#receiving.received(payload.byteLength);
    try {
      if (payload.byteLength > 0) await writer.write(payload);
      const credit = this.#receiving.consumed(payload.byteLength);
      if (credit > 0 && (flags & FLAG_END) === 0) this.#frame(FRAME.CREDIT, encodeCredit(credit));
      if ((flags & FLAG_END) === 0) return;
      await writer.close();
      this.#end();
    } catch {
      if (!this.#isOver) this.#frame(FRAME.RESET, NO_PAYLOAD); // the client is gone
      this.#end();
    }
  }

  #frame(type: Frame["type"], payload: Uint8Array, flags = 0): void {
    this.#send([{ type, flags, stream: this.#number, payload }]);
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#receiving.close();
    this.#sending.close();
    this.#over();
  }
}
