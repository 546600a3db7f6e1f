/** Events of the links of an endpoint, passed on to streams and waiting requests. */
import { LINK_BEAT_MS } from "../link/link-messages.ts";
import type { WorkerSnapshot } from "../domain/jobs/queue-reason.ts";
import { lossOf, type Links } from "./links.ts";
import type { Sockets } from "./sockets.ts";
import type { Streams } from "./streams.ts";

export type LinkHandlersParts = {
  readonly links: Links;
  readonly sockets: Sockets;
  readonly streams: Streams;
  /** Other workers than before take requests. */
  readonly onChange: () => void;
};

export class LinkHandlers {
  readonly #parts: LinkHandlersParts;
  readonly #watch: LinkWatch;

  constructor(parts: LinkHandlersParts) {
    this.#parts = parts;
    const { links, sockets, onChange } = parts;
    this.#watch = new LinkWatch(
      () => sockets.areUnderway || links.all.some(({ isAwaited }) => isAwaited),
      () => {
        links.endOverdue(Date.now());
        if (links.dropLost(Date.now())) onChange();
      },
    );
  }

  /** After a loss of memory: puts the WebSockets that are open on their links. */
  recover(now: number): void {
    const { links, sockets, streams } = this.#parts;
    links.recover(now);
    sockets.recover((attachment, make) => {
      const link = links.of(attachment.hostId);
      return link && streams.keep(link, attachment.stream, attachment, make);
    });
  }

  accept(hostId: string, now: number): Response {
    const response = this.#parts.links.accept(hostId, now);
    this.#parts.onChange();
    return response;
  }

  /** A request, or part of one, was sent. */
  watch(): void {
    this.#watch.start();
  }

  /** A request is over. */
  rest(): void {
    this.#watch.rest();
  }

  /** False for other sockets. */
  take(socket: WebSocket, message: string | ArrayBuffer, now: number): boolean {
    const { links, sockets, onChange } = this.#parts;
    const isTaken = sockets.take(socket, message) || links.take(socket, message, now, onChange);
    if (sockets.areUnderway) this.#watch.start();
    return isTaken;
  }

  closed(socket: WebSocket, code: number, reason: string): boolean {
    const { links, sockets, onChange } = this.#parts;
    if (sockets.closed(socket, code, reason)) return true;
    if (!links.closed(socket)) return false;
    onChange();
    return true;
  }

  /** Fails the requests of workers that Fleet removed. */
  lost(workers: readonly WorkerSnapshot[]): void {
    for (const { workerId, hostId } of workers) {
      for (const link of this.#parts.links.all) {
        link.breakStreams(() => lossOf(workerId, hostId, WORKER_GONE), workerId);
      }
    }
  }
}

const WORKER_GONE = "the worker is gone, or its host is unreachable.";

/** Checks the links while something would be lost with them; else no timer runs, so that the object may hibernate. */

export class LinkWatch {
  readonly #isNeeded: () => boolean;
  readonly #check: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(isNeeded: () => boolean, check: () => void) {
    this.#isNeeded = isNeeded;
    this.#check = check;
  }

  start(): void {
    this.#timer ??= setTimeout(() => this.#tick(), LINK_BEAT_MS);
  }

  /** Ends the timer at once when nothing is left to watch. */
  rest(): void {
    if (this.#timer === undefined || this.#isNeeded()) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #tick(): void {
    this.#timer = undefined;
    this.#check();
    if (this.#isNeeded()) this.start();
  }
}
