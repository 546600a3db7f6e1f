/** The links of agents, the streams on them, and the workers that they report. */
import {
  decodeJson,
  linkWorkersSchema,
  type ResetReason,
  type Reset,
  LINK_SUSPECT_MS,
  LINK_SILENCE_MS,
} from "../link/link-messages.ts";
import { decodeFrames, encodeFrames, FRAME, type Frame } from "../link/link-frame.ts";
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

  /** Workers that take requests, as the agent reports. */
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

  /** It gets a request: from now on its silence counts. */
  willAnswer(now: number): void {
    if (!this.isAwaited) this.#heardAt = now;
  }

  send(stream: number, frames: readonly StreamFrame[]): void {
    if (!this.isOpen) return;
    try {
      this.#socket.send(encodeFrames(frames.map((frame) => ({ ...frame, stream }))));
    } catch {
      // It has just closed, which ends its streams.
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

  /** Takes a message; returns what is wrong with it. `isKnown`: whether a stream was ever opened. */
  take(message: ArrayBuffer | string, isKnown: (stream: number) => boolean, now: number): string | undefined {
    this.#heardAt = now;
    const frames = typeof message === "string" ? undefined : decodeFrames(new Uint8Array(message));
    if (!frames) return "The message is not a message of a link.";
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

  /** The worker takes no requests until the agent reports it again. */
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

/**
 * The links of an endpoint: which agents are there, and the numbers of their streams.
 *
 * A host has at most one link: an agent that opens another has lost the one before, and the streams on it.
 */

const TAG = "link";
const NORMAL = 1000;
const PROTOCOL_ERROR = 1002;
const STREAMS = 2 ** 32;

export class Links {
  readonly #context: DurableObjectState;
  readonly #links = new Map<WebSocket, Link>();
  /** Streams got the numbers from here on, so many of them. A loss of memory begins elsewhere. */
  readonly #firstStream = Math.floor(Math.random() * STREAMS);
  #streams = 0;

  readonly #noun: ContainerNoun;

  /** `noun`: what its workers are to clients. */
  constructor(context: DurableObjectState, noun: ContainerNoun = "Worker") {
    this.#context = context;
    this.#noun = noun;
  }

  recover(now: number): void {
    for (const socket of this.#context.getWebSockets(TAG)) {
      const attachment = socket.deserializeAttachment() as LinkAttachment;
      if (socket.readyState === WebSocket.OPEN) this.#links.set(socket, new Link(socket, attachment, now));
    }
  }

  /** All that are open. */
  get all(): readonly Link[] {
    return [...this.#links.values()];
  }

  of(hostId: string): Link | undefined {
    return this.#links.values().find((link) => link.hostId === hostId);
  }

  with(workerId: string): Link | undefined {
    return this.#links.values().find((link) => link.workers.includes(workerId));
  }

  /** What the object serves is on this host alone. */
  dropOthers(hostId: string): void {
    for (const [socket, link] of [...this.#links]) {
      if (link.hostId !== hostId) this.#drop(socket, link, NORMAL, "Another host has taken its place.");
    }
  }

  accept(hostId: string, now: number): Response {
    for (const [socket, link] of [...this.#links]) {
      if (link.hostId === hostId) this.#drop(socket, link, NORMAL, "Another link has taken its place.");
    }
    const { 0: client, 1: server } = new WebSocketPair();
    const attachment: LinkAttachment = { hostId, workers: [] };
    this.#context.acceptWebSocket(server, [TAG, `link:${hostId}`]);
    server.serializeAttachment(attachment);
    this.#links.set(server, new Link(server, attachment, now));
    return new Response(null, { status: 101, webSocket: client });
  }

  /** A number for a stream that the link has never had. */
  nextStream(link: Link): number {
    for (;;) {
      const id = (this.#firstStream + this.#streams) % STREAMS;
      this.#streams += 1;
      if (id !== 0 && !link.streams.has(id)) return id;
    }
  }

  /** False for a socket that is not a link. Calls `onChange` when the workers that may take requests have changed. */
  take(socket: WebSocket, message: ArrayBuffer | string, now: number, onChange: () => void): boolean {
    const link = this.#links.get(socket);
    if (!link) return false;
    const { workers } = link;
    const error = link.take(message, (stream) => this.#isKnown(stream), now);
    if (error !== undefined) this.#drop(socket, link, PROTOCOL_ERROR, error);
    if (error !== undefined || link.workers !== workers) onChange();
    return true;
  }

  /** A socket has closed. False when it was no link. */
  closed(socket: WebSocket): boolean {
    const link = this.#links.get(socket);
    if (!link) return false;
    this.#drop(socket, link, NORMAL, "Its connection was closed.");
    return true;
  }

  /** Drops the links that are silent although a client waits for an answer; returns whether there were any. */
  dropLost(now: number): boolean {
    const lost = [...this.#links].filter(([, link]) => link.isLost(now));
    for (const [socket, link] of lost) this.#drop(socket, link, NORMAL, "It has been silent for too long.");
    return lost.length > 0;
  }

  /** Ends requests for which nobody waits any more. */
  endOverdue(now: number): void {
    for (const { streams } of this.#links.values())
      for (const stream of [...streams.values()]) if (stream.isOverdue(now)) stream.break(OVERDUE);
  }

  #drop(socket: WebSocket, link: Link, code: number, why: string): void {
    this.#links.delete(socket);
    link.breakStreams(({ workerId }) =>
      lossOf(workerId, link.hostId, `the link of its host is gone. ${why}`, this.#noun),
    );
    link.close(code, why);
  }

  #isKnown(stream: number): boolean {
    return (stream - this.#firstStream + STREAMS) % STREAMS < this.#streams;
  }
}

const OVERDUE: Reset = { reason: "timeout", detail: "The worker took too long." };

/** What takes requests, as messages call it. */
export type ContainerNoun = "Worker" | "Pod" | "Container";

/** The end of requests that their worker can no longer answer. */
export function lossOf(workerId: string, hostId: string, why: string, noun: ContainerNoun = "Worker") {
  const detail = `${noun} ${workerId} on host ${hostId} did not finish the request: ${why}`;
  return { reason: "worker_failed" satisfies ResetReason as ResetReason, detail };
}
