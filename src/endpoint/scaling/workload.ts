/**
 * The work of an endpoint, of either kind: the jobs of its queue, in all its objects, or load-balanced requests. Scaling
 * and gauges read it here and need not know which.
 */
import { earliest } from "../../std/earliest.ts";
import type { BusyWorkers } from "../../domain/scaling/busy-workers.ts";
import type { Claims } from "../queue/claims.ts";
import type { QueueLedger } from "../queue/queue-ledger.ts";
import type { OtherShards } from "../shards/other-shards.ts";

/** Load-balanced requests, in memory only. */
export type RequestLoad = {
  /** Requests that no worker has. */
  readonly waiting: number;
  /** Workers that have requests. */
  readonly workers: BusyWorkers;
  /** Changes whenever a request comes, begins or ends. */
  readonly moves: number;
  /** When a turn last saw such a change, epoch ms; 0 for never. */
  readonly movedAt: number;
  /** When it is worth a row to store what requests have done; null while they keep the object awake. */
  readonly checkpointDueAt: number | null;
};

export type WorkloadParts = {
  readonly claims: Pick<Claims, "running" | "runningIn" | "waitingSince" | "workers">;
  readonly ledger: Pick<QueueLedger, "queued" | "counts" | "fingerprint">;
  readonly requests: RequestLoad;
  readonly others: OtherShards;
};

export class Workload {
  readonly #parts: WorkloadParts;

  constructor(parts: WorkloadParts) {
    this.#parts = parts;
  }

  /** Jobs that are queued, or requests that no worker has. */
  get waiting(): number {
    const { ledger, requests, others } = this.#parts;
    return ledger.queued + requests.waiting + others.waiting;
  }

  /** Running attempts, or requests that workers have. */
  get running(): number {
    const { claims, requests, others } = this.#parts;
    return claims.running.size + requests.workers.total + others.running;
  }

  /** The work that adds workers: jobs of normal priority, and all requests. */
  get normal(): { readonly waiting: number; readonly running: number } {
    const { ledger, claims, requests, others } = this.#parts;
    return {
      waiting: ledger.counts.queued.normal + requests.waiting + others.normal.waiting,
      running: claims.runningIn.normal + requests.workers.total + others.normal.running,
    };
  }

  /** Since when the oldest normal job is queued; reads rows. */
  normalWaitingSince(): number | null {
    const { claims, others } = this.#parts;
    return earliest([claims.waitingSince("normal"), others.oldestQueuedAt]);
  }

  get isNone(): boolean {
    return this.running === 0 && this.waiting === 0;
  }

  /** Workers that have work or serve another object, and how much they have. */
  get busy(): ReadonlyMap<string, number> {
    const { others } = this.#parts;
    return others.busy.size > 0 ? new Map([...this.#own, ...others.busy]) : this.#own;
  }

  /** Workers that have work. */
  get working(): ReadonlyMap<string, number> {
    const { others } = this.#parts;
    return others.working.size > 0 ? new Map([...this.#own, ...others.working]) : this.#own;
  }

  /** Workers that have come back from another object since the previous call, and since when they have no work. */
  takeReturned(): readonly (readonly [workerId: string, freeSinceAt: number])[] {
    return this.#parts.others.takeReturned();
  }

  get #own(): ReadonlyMap<string, number> {
    const { claims, requests } = this.#parts;
    return (requests.workers.total > 0 ? requests : claims).workers.counts;
  }

  /** Workers whose last work has ended since the previous call; some may have new work. */
  takeFreed(): readonly string[] {
    const { claims, requests } = this.#parts;
    const freed = requests.workers.takeFreed();
    return freed.length > 0 ? freed : claims.workers.takeFreed();
  }

  /** Changes when jobs are claimed or end, also across a loss of memory. Requests do not change it. */
  get fingerprint(): string {
    return this.#parts.ledger.fingerprint;
  }

  get requests(): RequestLoad {
    return this.#parts.requests;
  }
}
