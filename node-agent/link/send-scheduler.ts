/**
 * The order in which the streams of a link send: what is about the link or ends something first, then answers that
 * begin, then all others in turns. Little stands in the socket's own buffer, so a small answer never waits behind
 * megabytes of others; and what is ready in the same turn of the event loop goes as one message, for a message costs
 * its receiver more than its bytes do.
 */
import { encodeFrames, type Frame, LINK_FRAME_MAX_BYTES } from "../../src/link/link-frame.ts";

/** Where messages go. */
export type MessageSocket = {
  readonly bufferedAmount: number;
  send(message: Uint8Array, sent: () => void): void;
};

export type Sender = {
  /** It has not begun its answer. */
  readonly isNew: boolean;
  /** It has something to send, and may. */
  readonly isReady: boolean;
  /** A turn's frames, with LINK_FRAME_MAX_BYTES of body at most. */
  take(): readonly Frame[];
};

/** What may stand in the socket's buffer before more is given to it. */
const BUFFER_MAX_BYTES = 2 * LINK_FRAME_MAX_BYTES;
/** What stands there then at most, but for a part of a frame; and so what one message may have. */
const BUFFERED_MAX_BYTES = 3 * LINK_FRAME_MAX_BYTES;

export class SendScheduler {
  readonly #socket: MessageSocket;
  #urgent: Frame[] = [];
  readonly #beginning = new Set<Sender>();
  readonly #rotation = new Set<Sender>();
  #isFlushDue = false;

  constructor(socket: MessageSocket) {
    this.#socket = socket;
  }

  /** Sends the frame before everything else. */
  sendFirst(frame: Frame): void {
    this.#urgent.push(frame);
    this.#flushSoon();
  }

  /** The sender became ready. */
  ready(sender: Sender): void {
    if (sender.isNew) this.#beginning.add(sender);
    else this.#rotation.add(sender);
    this.#flushSoon();
  }

  /** The sender is over. */
  forget(sender: Sender): void {
    this.#beginning.delete(sender);
    this.#rotation.delete(sender);
  }

  #flushSoon(): void {
    if (this.#isFlushDue) return;
    this.#isFlushDue = true;
    setImmediate(() => {
      this.#isFlushDue = false;
      this.#flush();
    });
  }

  #flush(): void {
    while (this.#socket.bufferedAmount < BUFFER_MAX_BYTES) {
      const frames = this.#gather();
      if (frames.length === 0) return;
      this.#socket.send(encodeFrames(frames), () => this.#flush());
    }
  }

  /** A message: full turns, until there are bytes enough. Answers that begin wait for little else to arrive. */
  #gather(): readonly Frame[] {
    const frames = this.#urgent;
    this.#urgent = [];
    const isUrgent = this.#beginning.size > 0;
    const enough = isUrgent ? LINK_FRAME_MAX_BYTES : BUFFERED_MAX_BYTES - this.#socket.bufferedAmount;
    for (let bytes = 0; bytes < enough;) {
      const sender = this.#next();
      if (!sender) break;
      for (const frame of sender.take()) {
        bytes += frame.payload.byteLength;
        frames.push(frame);
      }
      if (sender.isReady) this.#rotation.add(sender);
    }
    return frames;
  }

  #next(): Sender | undefined {
    const senders = this.#beginning.size > 0 ? this.#beginning : this.#rotation;
    const [sender] = senders;
    if (sender) senders.delete(sender);
    return sender;
  }
}
