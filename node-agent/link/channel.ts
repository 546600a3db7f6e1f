/**
 * One stream of a link: what the agent has to send on it, within the edge's credit, and the credit that it gives.
 * It knows nothing of the worker; the stream that forwards to one reads and writes here.
 */
import {
  encodeCredit,
  FLAG_END,
  FLAG_FIN,
  FRAME,
  type Frame,
  type FrameType,
  NO_PAYLOAD,
  LINK_FRAME_MAX_BYTES,
} from "../../src/link/link-frame.ts";
import type { Close, ResetReason } from "../../src/link/link-messages.ts";
import { ReceiveWindow, SendWindow, type WindowBudget } from "../../src/link/link-window.ts";
import { encodeJson } from "../../src/link/link-messages.ts";
import type { Sender, SendScheduler } from "./send-scheduler.ts";

export type ChannelOptions = {
  readonly stream: number;
  readonly scheduler: SendScheduler;
  readonly budget: WindowBudget;
  readonly onOver: () => void;
};

/** An answer that is small waits so long for its end, so that the edge gets it whole. */
const WHOLE_ANSWER_MS = 5;

export class Channel implements Sender {
  readonly #options: ChannelOptions;
  readonly #sending = new SendWindow();
  readonly #receiving: ReceiveWindow;
  #head: Frame | null = null;
  #isHeadSent = false;
  #waiting: NodeJS.Timeout | null = null;
  #pieces: Frame[] = [];
  #bufferedBytes = 0;
  #last: Frame | null = null;
  #isLastSent = false;
  #isLastReceived = false;
  /** The edge drops all that comes before the end. */
  #isUnread = false;
  #isOver = false;
  /** Called when there is room again after `isFull`. */
  onDrain: () => void = () => {};
  /** Called with the change of the number of buffered bytes. */
  onBuffered: (bytes: number) => void = () => {};

  constructor(options: ChannelOptions) {
    this.#options = options;
    this.#receiving = new ReceiveWindow(options.budget);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** All that there is to send is here, whether it was sent or not. */
  get hasEnded(): boolean {
    return this.#isOver || this.#last !== null;
  }

  get hasReceivedLast(): boolean {
    return this.#isLastReceived;
  }

  // Sending

  /** Begins the answer with a ResponseHead as JSON. `isSmall`: its end is near, so it waits a little for it. */
  head(head: Uint8Array, isSmall = false): void {
    this.#head = this.#frame(FRAME.HEAD, 0, head);
    if (isSmall) this.#waiting = setTimeout(() => this.#stopWaiting(), WHOLE_ANSWER_MS);
    this.#offer();
  }

  /** Bytes of a body, or a message of a WebSocket. */
  send(type: FrameType, payload: Uint8Array): void {
    if (this.#isOver || this.#isUnread) return;
    this.#pieces.push(this.#frame(type, type === FRAME.DATA ? 0 : FLAG_FIN, payload));
    this.#addBuffered(payload.byteLength);
    this.#offer();
  }

  /** Nothing follows. */
  end(): void {
    this.#finish(this.#frame(FRAME.DATA, FLAG_END, NO_PAYLOAD));
  }

  close(close: Close): void {
    this.#finish(this.#frame(FRAME.CLOSE, 0, encodeJson(close)));
  }

  /** Callers should wait for `onDrain` before they send more. */
  get isFull(): boolean {
    return this.#bufferedBytes >= LINK_FRAME_MAX_BYTES;
  }

  /** The edge gave credit. */
  credited(bytes: number): void {
    this.#sending.credited(bytes);
    this.#offer();
  }

  // Receiving

  /** False when the edge had no credit for so much. */
  received(bytes: number): boolean {
    return this.#receiving.received(bytes);
  }

  consumed(bytes: number): void {
    const credit = this.#receiving.consumed(bytes);
    if (credit > 0 && !this.#isLastReceived) {
      this.#options.scheduler.sendFirst(this.#frame(FRAME.CREDIT, 0, encodeCredit(credit)));
    }
  }

  /** Nothing follows of the edge. */
  receivedLast(): void {
    this.#isLastReceived = true;
    if (this.#isLastSent) this.drop();
  }

  /** The client has closed its WebSocket: the edge reads no more, and gives no more credit. */
  receivedClose(): void {
    this.#isUnread = true;
    this.#forgetPieces();
    this.receivedLast();
    this.#offer();
  }

  // Ending

  /** Ends the stream with a reason, a message for users. */
  fail(reason: ResetReason, detail: string): void {
    if (this.#isOver) return;
    this.#options.scheduler.sendFirst(this.#frame(FRAME.RESET, 0, encodeJson({ reason, detail })));
    this.drop();
  }

  /** Ends the stream without a message. */
  drop(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#stopWaiting();
    this.#options.scheduler.forget(this);
    this.#receiving.close();
    this.#forgetPieces();
    this.#options.onOver();
  }

  #forgetPieces(): void {
    this.#pieces = [];
    this.#addBuffered(-this.#bufferedBytes);
  }

  // As a sender

  get isNew(): boolean {
    return !this.#isHeadSent;
  }

  get isReady(): boolean {
    if (this.#isOver || this.#waiting !== null) return false;
    const [piece] = this.#pieces;
    if (this.#head !== null) return true;
    if (piece) return this.#sending.open > 0 || piece.payload.byteLength === 0;
    return this.#last !== null && !this.#isLastSent;
  }

  take(): readonly Frame[] {
    const frames: Frame[] = [];
    if (this.#head) frames.push(this.#head);
    this.#head = null;
    this.#isHeadSent = true;
    const piece = this.#takePiece();
    const last = this.#takeLast();
    if (piece && last?.type === FRAME.DATA) frames.push({ ...piece, flags: FLAG_END });
    else frames.push(...[piece, last].filter((frame) => frame !== null));
    if (last && this.#isLastReceived) this.drop();
    return frames;
  }

  #takePiece(): Frame | null {
    const [piece] = this.#pieces;
    if (!piece) return null;
    const length = Math.min(piece.payload.byteLength, this.#sending.open, LINK_FRAME_MAX_BYTES);
    if (length <= 0 && piece.payload.byteLength > 0) return null;
    const wasFull = this.isFull;
    this.#sending.sent(length);
    this.#addBuffered(-length);
    if (wasFull && !this.isFull) queueMicrotask(this.onDrain);
    if (length === piece.payload.byteLength) {
      this.#pieces.shift();
      return piece;
    }
    this.#pieces[0] = { ...piece, payload: piece.payload.subarray(length) };
    return { ...piece, flags: 0, payload: piece.payload.subarray(0, length) };
  }

  #takeLast(): Frame | null {
    if (this.#last === null || this.#pieces.length > 0 || this.#isLastSent) return null;
    this.#isLastSent = true;
    return this.#last;
  }

  #finish(frame: Frame): void {
    this.#last ??= frame;
    this.#stopWaiting();
    this.#offer();
  }

  #stopWaiting(): void {
    if (this.#waiting === null) return;
    clearTimeout(this.#waiting);
    this.#waiting = null;
    this.#offer();
  }

  #addBuffered(bytes: number): void {
    this.#bufferedBytes += bytes;
    this.onBuffered(bytes);
  }

  #offer(): void {
    if (this.isReady) this.#options.scheduler.ready(this);
  }

  #frame(type: FrameType, flags: number, payload: Uint8Array): Frame {
    return { type, flags, stream: this.#options.stream, payload };
  }
}
