/** One open connection of a link: its streams, from the frame that opens each until it is over. */
import {
  decodeCredit,
  decodeFrames,
  decodeOpen,
  FLAG_END,
  FRAME,
  type Frame,
  NO_PAYLOAD,
} from "../../src/link/link-frame.ts";
import { type ResetReason, decodeJson, encodeJson } from "../../src/link/link-messages.ts";
import type { WindowBudget } from "../../src/link/link-window.ts";
import { Channel } from "./channel.ts";
import type { LinkStream, StreamOpener } from "./link-stream.ts";
import { type MessageSocket, SendScheduler } from "./send-scheduler.ts";
import type { Timing } from "../core/timing.ts";

export type LinkSessionOptions = {
  readonly socket: MessageSocket;
  readonly opener: StreamOpener;
  readonly budget: WindowBudget;
  readonly timing: Pick<Timing, "linkBeatMs">;
  /** The last stream is over. */
  readonly onQuiet: () => void;
};

type Open = { readonly channel: Channel; stream: LinkStream | null };

export class LinkSession {
  readonly #options: LinkSessionOptions;
  readonly #scheduler: SendScheduler;
  readonly #streams = new Map<number, Open>();
  /** The highest number of a stream so far. */
  #newest = 0;
  #beat: NodeJS.Timeout | null = null;

  constructor(options: LinkSessionOptions) {
    this.#options = options;
    this.#scheduler = new SendScheduler(options.socket);
  }

  get isQuiet(): boolean {
    return this.#streams.size === 0;
  }

  announceWorkers(workers: readonly string[]): void {
    this.#scheduler.sendFirst({ type: FRAME.WORKERS, flags: 0, stream: 0, payload: encodeJson({ workers }) });
  }

  /** False when the message is not part of the protocol. */
  receive(message: Uint8Array): boolean {
    const frames = decodeFrames(message);
    if (!frames) return false;
    for (const frame of frames) {
      if (frame.type === FRAME.OPEN) this.#open(frame);
      else this.#receive(frame);
    }
    return true;
  }

  /** Ends all streams with the reason, a message for users. */
  fail(detail: string): void {
    for (const opened of this.#streams.values()) end(opened, "worker_failed", detail);
  }

  /** Called when the connection has closed. */
  close(): void {
    if (this.#beat) clearTimeout(this.#beat);
    for (const { channel, stream } of this.#streams.values()) {
      channel.drop();
      stream?.abort();
    }
  }

  // Frames

  #open({ stream, flags, payload }: Frame): void {
    if (this.#streams.has(stream) || stream === 0) return;
    this.#newest = Math.max(this.#newest, stream);
    const channel = new Channel({
      stream,
      scheduler: this.#scheduler,
      budget: this.#options.budget,
      onOver: () => this.#over(stream),
    });
    const opened: Open = { channel, stream: null };
    this.#streams.set(stream, opened);
    const open = decodeOpen(payload);
    if (!open) return channel.fail("protocol", "The target is invalid.");
    const { head, ...target } = open;
    opened.stream = this.#options.opener.open({
      target,
      head: decodeJson(head),
      hasBody: (flags & FLAG_END) === 0,
      channel,
      end: (reason, detail) => end(opened, reason, detail),
    });
    this.#beatSoon();
  }

  #receive({ type, stream, payload, flags }: Frame): void {
    const opened = this.#streams.get(stream);
    if (!opened) return this.#receivedOfNone(type, stream);
    if (type === FRAME.RESET) {
      opened.channel.drop();
      opened.stream?.abort();
    } else if (type === FRAME.CREDIT) {
      opened.channel.credited(decodeCredit(payload) ?? 0);
    } else if (!opened.channel.hasReceivedLast) {
      opened.stream?.receive({ type, stream, payload, flags });
    }
  }

  /** A frame for a stream that is over is ignored; the edge is told of one for a stream that never was. */
  #receivedOfNone(type: Frame["type"], stream: number): void {
    if (stream <= this.#newest || type === FRAME.RESET || type === FRAME.CREDIT) return;
    const payload = encodeJson({ reason: "protocol", detail: "There is no such stream." });
    this.#scheduler.sendFirst({ type: FRAME.RESET, flags: 0, stream, payload });
  }

  #over(stream: number): void {
    this.#streams.delete(stream);
    if (this.isQuiet) this.#options.onQuiet();
  }

  // Beats

  #beatSoon(): void {
    this.#beat ??= setTimeout(() => {
      this.#beat = null;
      if (![...this.#streams.values()].some(({ stream }) => stream?.isAwaited)) return;
      this.#scheduler.sendFirst({ type: FRAME.BEAT, flags: 0, stream: 0, payload: NO_PAYLOAD });
      this.#beatSoon();
    }, this.#options.timing.linkBeatMs);
  }
}

function end({ channel, stream }: Open, reason: ResetReason, detail: string): void {
  channel.fail(reason, detail);
  stream?.abort();
}
