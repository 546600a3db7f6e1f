/** Messages of a client on their way to the agent: sent in pieces, within the credit that the agent gives. */
import { FLAG_FIN, type FRAME, LINK_FRAME_MAX_BYTES } from "../../link/link-frame.ts";
import {
  SendWindow,
  type WindowBudget,
  LINK_WINDOW_BYTES,
  LINK_WINDOW_MAX_BYTES,
} from "../../link/link-window.ts";
import { WEBSOCKET_BACKLOG_MAX_BYTES } from "../../contract/limits.ts";
import type { StreamFrame } from "./stream.ts";

type Message = { readonly type: typeof FRAME.TEXT | typeof FRAME.BINARY; readonly bytes: Uint8Array };

export class SocketBacklog {
  readonly #send: (...frames: readonly StreamFrame[]) => void;
  readonly #budget: WindowBudget;
  readonly #window = new SendWindow();
  #waiting: Message[] = [];
  #bytes = 0;

  /** `open` is the credit that was left; `held` is what all WebSockets together may let wait. */
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

  /** False when nobody gives so much credit. */
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
