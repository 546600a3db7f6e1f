/**
 * The WebSocket messages that the agent buffers: a worker may send large ones that no client reads, or that never
 * end. All of them together are bounded; a WebSocket that stays within its share is never the one that is ended.
 */
import { LINK_WINDOW_MAX_BYTES } from "../../src/link/link-window.ts";

/** Buffered messages of all WebSockets of this host. */
const AGENT_WEBSOCKETS_BUFFER_MAX_BYTES = 64 * 1_000_000;

/** Shared by all WebSockets of an agent. */
export class BufferedMessages {
  bytes = 0;
}

export class BufferShare {
  readonly #all: BufferedMessages;
  #bytes = 0;

  constructor(all: BufferedMessages) {
    this.#all = all;
  }

  /** Adds to the number of buffered bytes; negative when bytes leave. */
  add(bytes: number): void {
    this.#bytes += bytes;
    this.#all.bytes += bytes;
  }

  get isTooLarge(): boolean {
    return this.#bytes > LINK_WINDOW_MAX_BYTES / 4 && this.#all.bytes > AGENT_WEBSOCKETS_BUFFER_MAX_BYTES;
  }
}
