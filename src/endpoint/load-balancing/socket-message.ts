/** Puts messages of a WebSocket together again that came in pieces. */
import { FLAG_FIN, FRAME, type Frame } from "../../link/link-frame.ts";
import type { WindowBudget } from "../../link/link-window.ts";
import { WEBSOCKET_MESSAGE_MAX_BYTES } from "../../link/link-messages.ts";

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

  /** `held` is what all WebSockets together may hold of messages that are not whole. */
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
