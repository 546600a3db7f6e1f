/**
 * The requests that go straight to workers, in memory: how many each worker has, how many wait for one, and how they
 * end. No row is written for a request.
 */
import type { FinalState } from "../../domain/job-machine.ts";
import { coldStartBy } from "../../domain/timeline.ts";
import type { ActivityBook } from "../activity-book.ts";
import type { EndpointFacts } from "../endpoint-facts.ts";

/**
 * How a request ended; times are epoch ms.
 * completed: the worker's answer went through to its end, whatever its status; a WebSocket was closed.
 * failed: the worker or its host refused it or broke off, or a body was too large.
 * timed_out: no worker came, or the worker did not answer, in time. cancelled: the client is gone.
 */
export type DirectEnd = {
  readonly outcome: FinalState;
  readonly receivedAt: number;
  /** When a worker got it; null when none did. */
  readonly startedAt: number | null;
  readonly endedAt: number;
};

export type DirectBookParts = {
  readonly activity: Pick<ActivityBook, "requested" | "answered">;
  readonly facts: Pick<EndpointFacts, "report">;
};

export class DirectBook {
  readonly #parts: DirectBookParts;
  readonly #inFlight = new Map<string, number>();
  #running = 0;
  #freed: string[] = [];
  #waiting = 0;
  #moves = 0;

  constructor(parts: DirectBookParts) {
    this.#parts = parts;
  }

  /** Workers that have requests, and how many. */
  get busy(): ReadonlyMap<string, number> {
    return this.#inFlight;
  }

  get running(): number {
    return this.#running;
  }

  /** Requests that no worker has. */
  get waiting(): number {
    return this.#waiting;
  }

  set waiting(count: number) {
    if (count !== this.#waiting) this.#moves += 1;
    this.#waiting = count;
  }

  /** Differs after any request came, began or ended, as long as the object remembers. */
  get moves(): number {
    return this.#moves;
  }

  /** Workers whose last request has ended since this was asked before; some may have a new one. */
  takeFreed(): readonly string[] {
    if (this.#freed.length === 0) return NOBODY;
    const freed = this.#freed;
    this.#freed = [];
    return freed;
  }

  /** A worker gets a request. */
  began(workerId: string): void {
    this.#parts.activity.requested();
    this.kept(workerId);
  }

  /** A worker has a request that it had before a loss of memory: an open WebSocket. */
  kept(workerId: string): void {
    this.#moves += 1;
    this.#running += 1;
    this.#inFlight.set(workerId, (this.#inFlight.get(workerId) ?? 0) + 1);
  }

  /** A worker has not taken its request, which goes to another one. */
  gaveBack(workerId: string): void {
    this.#moves += 1;
    this.#letGo(workerId);
  }

  /** A request is over; `workerId` is null when no worker had it. To be called once for each, in a turn. */
  ended(workerId: string | null, end: DirectEnd): void {
    this.#moves += 1;
    if (workerId === null) this.#parts.activity.requested();
    else this.#letGo(workerId);
    this.#parts.activity.answered(end, this.#coldStartOf(workerId, end));
  }

  #letGo(workerId: string): void {
    const left = (this.#inFlight.get(workerId) ?? 0) - 1;
    this.#running -= 1;
    if (left > 0) {
      this.#inFlight.set(workerId, left);
      return;
    }
    this.#inFlight.delete(workerId);
    this.#freed.push(workerId);
  }

  #coldStartOf(workerId: string | null, { receivedAt, startedAt }: DirectEnd): number | null {
    if (workerId === null || startedAt === null) return null;
    const worker = this.#parts.facts.report.workers.find((one) => one.workerId === workerId);
    return coldStartBy(worker?.start ?? null, receivedAt, startedAt);
  }
}

const NOBODY: readonly string[] = [];
