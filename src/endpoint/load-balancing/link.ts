/** One agent's link: the streams on it, and what it says of itself. */
import { decodeFrames, encodeFrames, FRAME, type Frame } from "../../link/link-frame.ts";
import { linkWorkersSchema, type Reset } from "../../link/link-messages.ts";
import { LINK_SILENCE_MS, LINK_SUSPECT_MS } from "../../contract/limits.ts";
import { decodeJson } from "../../link/json-bytes.ts";
import { resetFrame, type Stream, type StreamFrame } from "./stream.ts";

/** What the socket remembers while the object does not. */
export type LinkAttachment = { readonly hostId: string; readonly workers: readonly string[] };

/** An attachment may have 16 KB. */
const WORKERS_MAX_CHARACTERS = 14_000;

export class Link {
  readonly hostId: string;
  readonly #socket: WebSocket;
  readonly streams = new Map<number, Stream>();
  #workers: readonly string[];
  #heardAt: number;

  constructor(socket: WebSocket, { hostId, workers }: LinkAttachment, now: number) {
    this.#socket = socket;
    this.hostId = hostId;
    this.#workers = workers;
    this.#heardAt = now;
  }

  /** Workers that take requests, as the agent has said. */
  get workers(): readonly string[] {
    return this.#workers;
  }

  get isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  // Silence

  get isAwaited(): boolean {
    return this.streams.values().some(({ isAwaited }) => isAwaited);
  }

  isSuspect(now: number): boolean {
    return now >= this.#heardAt + LINK_SUSPECT_MS && this.isAwaited;
  }

  isLost(now: number): boolean {
    return now >= this.#heardAt + LINK_SILENCE_MS && this.isAwaited;
  }

  // Streams

  /** It gets a request: from now on its silence matters. */
  willAnswer(now: number): void {
    if (!this.isAwaited) this.#heardAt = now;
  }

  send(stream: number, frames: readonly StreamFrame[]): void {
    if (!this.isOpen) return;
    try {
      this.#socket.send(encodeFrames(frames.map((frame) => ({ ...frame, stream }))));
    } catch {
      // It has just closed; its streams are told of that.
    }
  }

  /** Ends all streams, or those of one worker. */
  breakStreams(reset: (stream: Stream) => Reset, workerId?: string): void {
    for (const stream of [...this.streams.values()]) {
      if (workerId === undefined || stream.workerId === workerId) stream.break(reset(stream));
    }
  }

  close(code: number, reason: string): void {
    try {
      this.#socket.close(code, reason.slice(0, 100));
    } catch {
      // It has just closed.
    }
  }

  // Hearing

  /** Takes a message; returns what is wrong with it. `isKnown` says whether a stream was ever opened. */
  take(message: ArrayBuffer | string, isKnown: (stream: number) => boolean, now: number): string | undefined {
    this.#heardAt = now;
    const frames = typeof message === "string" ? undefined : decodeFrames(new Uint8Array(message));
    if (!frames) return "The message is none of a link.";
    const touched = new Set<Stream>();
    for (const frame of frames) {
      const error = frame.stream === 0 ? this.#takeOwn(frame) : this.#pass(frame, touched, isKnown);
      if (error !== undefined) return error;
    }
    for (const stream of touched) stream.settle();
    return undefined;
  }

  #pass(frame: Frame, touched: Set<Stream>, isKnown: (stream: number) => boolean): string | undefined {
    const stream = this.streams.get(frame.stream);
    if (stream) {
      touched.add(stream);
      return stream.take(frame);
    }
    if (!isKnown(frame.stream) && frame.type !== FRAME.RESET) this.send(frame.stream, [UNKNOWN]);
    return undefined;
  }

  #takeOwn({ type, payload }: Frame): string | undefined {
    if (type === FRAME.BEAT) return undefined;
    if (type !== FRAME.WORKERS) return "The link itself has no such frame.";
    const parsed = linkWorkersSchema.safeParse(decodeJson(payload));
    if (!parsed.success) return "WORKERS names the workers that take requests.";
    this.#attach(parsed.data.workers);
    return undefined;
  }

  /** It takes no requests, until the agent says otherwise. */
  forget(workerId: string): void {
    if (this.#workers.includes(workerId)) this.#attach(this.#workers.filter((other) => other !== workerId));
  }

  #attach(workers: readonly string[]): void {
    let left = WORKERS_MAX_CHARACTERS;
    this.#workers = workers.filter((workerId) => (left -= workerId.length + 8) >= 0);
    this.#socket.serializeAttachment({
      hostId: this.hostId,
      workers: this.#workers,
    } satisfies LinkAttachment);
  }
}

const UNKNOWN = resetFrame({ reason: "protocol", detail: "There is no such stream." });
