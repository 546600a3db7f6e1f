/** A request for a WebSocket until its worker has answered; then it is a WebSocket, or a request like others. */
import { FRAME, type Frame } from "../link/link-frame.ts";
import { responseHeadSchema, type Reset, decodeJson } from "../link/link-messages.ts";
import type { HttpReply, HttpStream } from "./http-stream.ts";
import { END_OF_STREAM, type Stream, type StreamPort } from "./stream.ts";

export type Opened = {
  readonly kind: "opened";
  readonly workerId: string;
  readonly head: Uint8Array;
  readonly socket: WebSocket;
};

export class UpgradeStream implements Stream {
  readonly isAwaited = true;
  readonly reply: Promise<HttpReply | Opened>;
  readonly #request: HttpStream;
  readonly #port: Pick<StreamPort, "send">;
  readonly #open: () => WebSocket;
  readonly #opened: (opened: Opened) => void;

  /** `open` puts the WebSocket in the place of this stream, and returns the client's side of it. */
  constructor(request: HttpStream, port: Pick<StreamPort, "send">, open: () => WebSocket) {
    this.#request = request;
    this.#port = port;
    this.#open = open;
    const { promise, resolve } = Promise.withResolvers<Opened>();
    this.#opened = resolve;
    this.reply = Promise.race([promise, request.reply]);
  }

  get requestId(): string {
    return this.#request.requestId;
  }

  get workerId(): string {
    return this.#request.workerId;
  }

  send(head: Uint8Array): void {
    this.#request.sendUpgrade(head);
  }

  take(frame: Frame): string | undefined {
    if (frame.type !== FRAME.HEAD) return this.#request.take(frame);
    const head = responseHeadSchema.safeParse(decodeJson(frame.payload));
    if (!head.success) return "That is no head of an answer.";
    if (head.data.status === 101) {
      this.#opened({
        kind: "opened",
        workerId: this.workerId,
        head: frame.payload.slice(),
        socket: this.#open(),
      });
      return undefined;
    }
    this.#port.send(END_OF_STREAM);
    this.#request.hasNoBody();
    return this.#request.take(frame);
  }

  settle(): void {
    this.#request.settle();
  }

  isOverdue(now: number): boolean {
    return this.#request.isOverdue(now);
  }

  break(reset: Reset): void {
    this.#request.break(reset);
  }
}
