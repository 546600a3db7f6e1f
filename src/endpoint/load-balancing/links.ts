/**
 * The links of an endpoint: which agents are there, and the numbers of their streams.
 *
 * Of one host at most one link counts: an agent that opens another has lost the one before, and the streams on it.
 */
import type { ResetReason } from "../../link/link-messages.ts";
import { Link, type LinkAttachment } from "./link.ts";

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

  constructor(context: DurableObjectState) {
    this.#context = context;
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

  /** False for a socket that is no link. Says by `onChange` that other workers than before may take requests. */
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

  /** Gives up the links that are silent though somebody waits for an answer on them; says whether there were any. */
  dropLost(now: number): boolean {
    const lost = [...this.#links].filter(([, link]) => link.isLost(now));
    for (const [socket, link] of lost) this.#drop(socket, link, NORMAL, "It has been silent for too long.");
    return lost.length > 0;
  }

  #drop(socket: WebSocket, link: Link, code: number, why: string): void {
    this.#links.delete(socket);
    link.breakStreams(({ workerId }) =>
      lossOf(workerId, link.hostId, `the link of its host is gone. ${why}`),
    );
    link.close(code, why);
  }

  #isKnown(stream: number): boolean {
    return (stream - this.#firstStream + STREAMS) % STREAMS < this.#streams;
  }
}

/** How the requests of a worker end that cannot answer them any more. */
export function lossOf(workerId: string, hostId: string, why: string) {
  const detail = `Worker ${workerId} on host ${hostId} did not finish the request: ${why}`;
  return { reason: "worker_failed" satisfies ResetReason as ResetReason, detail };
}
