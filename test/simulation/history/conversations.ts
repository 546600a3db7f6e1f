/** What holds of the messages of WebSockets between clients and workers. */
import { type SocketMessage, type SocketObserver, WORKER_CODE } from "../host/served-socket.ts";
import type { RequestsParts } from "./requests.ts";

/** With which clients close. */
export const CLIENT_CODE = 4000;

/** Of the edge, at clients: the connection is lost, or was broken off by the worker or its host; too much waits. */
const BROKEN: ReadonlySet<number> = new Set([1006, 1011, 1013]);
/** At workers: the client has vanished. */
const GONE = 1001;

/** One direction: what was sent, and how much of it has come. */
type Way = { readonly sent: SocketMessage[]; gotCount: number };
type Conversation = { readonly toWorker: Way; readonly toClient: Way };

export class Conversations implements SocketObserver {
  readonly #parts: Pick<RequestsParts, "violate">;
  readonly #all = new Map<string, Conversation>();
  /** Nothing breaks this WebSocket. */
  readonly #isSafe: (mark: string) => boolean;

  constructor(parts: Pick<RequestsParts, "violate">, isSafe: (mark: string) => boolean) {
    this.#parts = parts;
    this.#isSafe = isSafe;
  }

  // At the client

  clientSends(mark: string, message: SocketMessage): void {
    this.#of(mark).toWorker.sent.push(message);
  }

  clientGot(mark: string, message: SocketMessage): void {
    this.#got(`the client of ${mark}`, this.#of(mark).toClient, message);
  }

  /** All that the client has sent has come back, as far as it can tell. */
  isAnswered(mark: string): boolean {
    const { toClient, toWorker } = this.#of(mark);
    return toClient.gotCount >= toWorker.sent.length;
  }

  /** `isOwn`: the client has closed it. */
  clientTold(mark: string, code: number, isOwn: boolean): void {
    const { violate } = this.#parts;
    const { toClient } = this.#of(mark);
    if (isOwn) return;
    if (BROKEN.has(code)) {
      if (this.#isSafe(mark)) violate(`the WebSocket ${mark} broke with ${code} for no reason`);
    } else if (code !== WORKER_CODE)
      violate(`the WebSocket ${mark} is closed with ${code}, which nobody gave`);
    else if (toClient.gotCount < toClient.sent.length)
      violate(`the client of ${mark} lacks messages ${toClient.gotCount} of ${toClient.sent.length}`);
  }

  // In the worker

  workerGot = (mark: string, message: SocketMessage): void => {
    this.#got(`the worker of ${mark}`, this.#of(mark).toWorker, message);
  };

  workerSends = (mark: string, message: SocketMessage): void => {
    this.#of(mark).toClient.sent.push(message);
  };

  workerTold = (mark: string, code: number): void => {
    const { violate } = this.#parts;
    const { toWorker } = this.#of(mark);
    if (code === GONE || code === WORKER_CODE) return;
    if (code !== CLIENT_CODE) violate(`the worker of ${mark} is told ${code}, which nobody gave`);
    else if (toWorker.gotCount < toWorker.sent.length)
      violate(`the worker of ${mark} lacks messages ${toWorker.gotCount} of ${toWorker.sent.length}`);
  };

  #got(who: string, way: Way, message: SocketMessage): void {
    const expected = way.sent[way.gotCount];
    way.gotCount += 1;
    if (expected?.text !== message.text || expected.isBinary !== message.isBinary)
      this.#parts.violate(`${who} got ${describe(message)} instead of ${describe(expected)}`);
  }

  #of(mark: string): Conversation {
    const known = this.#all.get(mark);
    if (known) return known;
    const way = (): Way => ({ sent: [], gotCount: 0 });
    const made = { toWorker: way(), toClient: way() };
    this.#all.set(mark, made);
    return made;
  }
}

function describe(message: SocketMessage | undefined): string {
  if (!message) return "nothing";
  return `${message.isBinary ? "the bytes" : "the text"} "${message.text.slice(0, 40)}" of ${message.text.length}`;
}
