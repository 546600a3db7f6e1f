/** Messages of a client on their way to the agent: sent in pieces, within the credit that the agent gives. */
import { FLAG_FIN, FRAME, type Frame, LINK_FRAME_MAX_BYTES } from "../link/link-frame.ts";
import {
  SendWindow,
  type WindowBudget,
  LINK_WINDOW_BYTES,
  LINK_WINDOW_MAX_BYTES,
} from "../link/link-window.ts";
import type { StreamFrame } from "./stream.ts";
import { WEBSOCKET_MESSAGE_MAX_BYTES } from "../link/link-messages.ts";

/** What one WebSocket may have waiting for its agent. */
export const WEBSOCKET_BACKLOG_MAX_BYTES = 8_000_000;

type Message = { readonly type: typeof FRAME.TEXT | typeof FRAME.BINARY; readonly bytes: Uint8Array };

export class SocketBacklog {
  readonly #send: (...frames: readonly StreamFrame[]) => void;
  readonly #budget: WindowBudget;
  readonly #window = new SendWindow();
  #waiting: Message[] = [];
  #bytes = 0;

  /** `open` is the credit that was left; `budget` bounds what all WebSockets together have waiting. */
  constructor(
    send: (...frames: readonly StreamFrame[]) => void,
    budget: WindowBudget,
    open = LINK_WINDOW_BYTES,
  ) {
    this.#send = send;
    this.#budget = budget;
    this.#window.sent(LINK_WINDOW_BYTES - open);
  }

  /** Credit that is left. */
  get open(): number {
    return this.#window.open;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** False when too much waits already. One message may always wait, whatever its size. */
  add(message: Message): boolean {
    this.#waiting.push(message);
    this.#bytes += message.bytes.byteLength;
    const taken = this.#budget.take(message.bytes.byteLength);
    if (taken < message.bytes.byteLength) {
      this.#bytes -= message.bytes.byteLength - taken;
      return false;
    }
    this.#sendSome();
    return this.#waiting.length <= 1 || this.#bytes <= WEBSOCKET_BACKLOG_MAX_BYTES;
  }

  /** False when that is more credit than an agent may give. */
  credited(bytes: number): boolean {
    this.#window.credited(bytes);
    this.#sendSome();
    return this.#window.open <= LINK_WINDOW_MAX_BYTES;
  }

  drop(): void {
    this.#budget.giveBack(this.#bytes);
    this.#bytes = 0;
    this.#waiting = [];
  }

  #sendSome(): void {
    for (let [message] = this.#waiting; message; [message] = this.#waiting) {
      const size = Math.min(message.bytes.byteLength, this.#window.open, LINK_FRAME_MAX_BYTES);
      if (size <= 0 && message.bytes.byteLength > 0) return;
      const payload = message.bytes.subarray(0, size);
      const rest = message.bytes.subarray(size);
      this.#send({ type: message.type, flags: rest.byteLength === 0 ? FLAG_FIN : 0, payload });
      this.#window.sent(size);
      this.#budget.giveBack(size);
      this.#bytes -= size;
      if (rest.byteLength === 0) this.#waiting.shift();
      else this.#waiting[0] = { type: message.type, bytes: rest };
    }
  }
}

/** Puts messages of a WebSocket together again that came in pieces. */

export type Gathered =
  | { readonly kind: "more" }
  | { readonly kind: "message"; readonly message: string | Uint8Array }
  | { readonly kind: "too_large" }
  | { readonly kind: "wrong"; readonly error: string };

export class SocketMessage {
  readonly #budget: WindowBudget;
  #type: Frame["type"] | undefined;
  #pieces: Uint8Array[] = [];
  #bytes = 0;

  /** `budget` bounds what all WebSockets together have of incomplete messages. */
  constructor(budget: WindowBudget) {
    this.#budget = budget;
  }

  /** A part of a message is here. */
  get isBegun(): boolean {
    return this.#type !== undefined;
  }

  add({ type, flags, payload }: Frame): Gathered {
    if (type !== (this.#type ?? type)) return { kind: "wrong", error: "A message is of one kind." };
    const isLast = (flags & FLAG_FIN) !== 0;
    if (isLast && !this.isBegun) return messageOf(type, payload);
    if (this.#bytes + payload.byteLength > WEBSOCKET_MESSAGE_MAX_BYTES) return { kind: "too_large" };
    const taken = this.#budget.take(payload.byteLength);
    this.#bytes += taken;
    if (taken < payload.byteLength) return { kind: "too_large" };
    this.#type = type;
    this.#pieces.push(payload);
    if (!isLast) return { kind: "more" };
    const whole = this.#joined();
    this.drop();
    return messageOf(type, whole);
  }

  drop(): void {
    this.#budget.giveBack(this.#bytes);
    this.#bytes = 0;
    this.#type = undefined;
    this.#pieces = [];
  }

  #joined(): Uint8Array {
    const whole = new Uint8Array(this.#bytes);
    let at = 0;
    for (const piece of this.#pieces) {
      whole.set(piece, at);
      at += piece.byteLength;
    }
    return whole;
  }
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function messageOf(type: Frame["type"], bytes: Uint8Array): Gathered {
  if (type === FRAME.BINARY) return { kind: "message", message: bytes };
  try {
    return { kind: "message", message: decoder.decode(bytes) };
  } catch {
    return { kind: "wrong", error: "A text message is UTF-8." };
  }
}
