/**
 * Load-balanced requests in memory: how many each worker has, how many wait for one, and how they end. No row is written
 * for a request.
 */
import { IDLE_STORE_AFTER_MS } from "../scaling/idle-tracker.ts";
import type { RequestLoad } from "../scaling/workload.ts";
import { BusyWorkers } from "../../domain/scaling/busy-workers.ts";
import type { ColdStart } from "../../domain/jobs/cold-start.ts";
import { coldStartBy } from "../../domain/jobs/timeline.ts";
import type { ActivityCounters, RequestEnd } from "../metrics/activity-counters.ts";
import type { EndpointFacts } from "../facts/endpoint-facts.ts";

export type RequestTrackerParts = {
  readonly activity: Pick<ActivityCounters, "requested" | "answered">;
  readonly facts: Pick<EndpointFacts, "report">;
};

export class RequestTracker implements RequestLoad {
  readonly #parts: RequestTrackerParts;
  readonly workers = new BusyWorkers();
  #waiting = 0;
  #moves = 0;
  /** Requests with a waiting client: they keep the object awake. */
  awaited = 0;
  /** As the last turn saw it. */
  #seen = { moves: 0, movedAt: 0, isNone: true };
  /** The latest requests began after a quiet time. */
  #isLone = true;

  constructor(parts: RequestTrackerParts) {
    this.#parts = parts;
  }

  get waiting(): number {
    return this.#waiting;
  }

  set waiting(count: number) {
    if (count !== this.#waiting) this.#moves += 1;
    this.#waiting = count;
  }

  get moves(): number {
    return this.#moves;
  }

  get movedAt(): number {
    return this.#seen.movedAt;
  }

  /** At once after a lone request, else when there was none for a while. */
  get checkpointDueAt(): number | null {
    if (this.awaited > 0) return null;
    return this.movedAt + (this.#isLone && this.#seen.isNone ? 0 : IDLE_STORE_AFTER_MS);
  }

  /** After a loss of memory, when open requests have been counted again. */
  recovered(): void {
    this.#seen = { moves: this.#moves, movedAt: 0, isNone: this.#isNone };
  }

  /** To be called at the end of each turn. */
  endTurn(now: number): void {
    const { moves, movedAt, isNone } = this.#seen;
    if (moves === this.#moves) return;
    if (isNone) this.#isLone = now >= movedAt + IDLE_STORE_AFTER_MS;
    this.#seen = { moves: this.#moves, movedAt: now, isNone: this.#isNone };
  }

  get #isNone(): boolean {
    return this.workers.total + this.#waiting === 0;
  }

  /** A worker gets a request. */
  began(workerId: string): void {
    this.#parts.activity.requested();
    this.resumed(workerId);
  }

  /** A worker has a request that it had before a loss of memory: an open WebSocket. */
  resumed(workerId: string): void {
    this.#moves += 1;
    this.workers.add(workerId);
  }

  /** A worker has refused its request, which goes to another one. */
  gaveBack(workerId: string): void {
    this.#moves += 1;
    this.workers.remove(workerId);
  }

  /** A request is over; `workerId` is null when no worker had it. To be called once for each. */
  ended(workerId: string | null, end: RequestEnd): void {
    this.#moves += 1;
    if (workerId === null) this.#parts.activity.requested();
    else this.workers.remove(workerId);
    this.#parts.activity.answered(end, this.#coldStartOf(workerId, end));
  }

  #coldStartOf(workerId: string | null, { receivedAt, startedAt }: RequestEnd): ColdStart | null {
    if (workerId === null || startedAt === null) return null;
    const worker = this.#parts.facts.report.workers.find((one) => one.workerId === workerId);
    const { start: workerStart = null, placedAt } = worker ?? {};
    return coldStartBy({ workerStart, placedAt }, receivedAt, startedAt);
  }
}
