/**
 * The work of an endpoint, whichever kind it is of: the jobs of its queue, or the requests that go straight to its
 * workers. Whoever scales, counts or releases workers asks here and need not know which.
 */
import type { ActivityCounters } from "../metrics/activity-counters.ts";
import type { RequestTracker } from "../load-balancing/request-tracker.ts";
import type { EndpointFacts } from "../endpoint-facts.ts";
import type { QueueLedger } from "../queue/queue-ledger.ts";

export type WorkloadParts = {
  readonly ledger: QueueLedger;
  readonly requests: RequestTracker;
  readonly activity: Pick<ActivityCounters, "total">;
  readonly facts: Pick<EndpointFacts, "config">;
};

export class Workload {
  readonly #parts: WorkloadParts;

  constructor(parts: WorkloadParts) {
    this.#parts = parts;
  }

  /** Jobs that are queued, or requests that no worker has. */
  get waiting(): number {
    return this.#parts.ledger.queued + this.#parts.requests.waiting;
  }

  /** Attempts that run, or requests that workers have. */
  get running(): number {
    return this.#parts.ledger.running.size + this.#parts.requests.running;
  }

  /** Those that add workers: no jobs of low priority, all requests. */
  get normal(): { readonly waiting: number; readonly running: number } {
    const { ledger, requests } = this.#parts;
    return {
      waiting: ledger.counts.queued.normal + requests.waiting,
      running: ledger.runningIn.normal + requests.running,
    };
  }

  get isNone(): boolean {
    return this.running === 0 && this.waiting === 0;
  }

  /** Workers that have work, and how much. */
  get busy(): ReadonlyMap<string, number> {
    const { ledger, requests } = this.#parts;
    return requests.busy.size > 0 ? requests.busy : ledger.busy;
  }

  /** Workers whose last work has ended since this was asked before; some may have new work. */
  takeFreed(): readonly string[] {
    const { ledger, requests } = this.#parts;
    const freed = requests.takeFreed();
    return freed.length > 0 ? freed : ledger.takeFreed();
  }

  /** Differs after jobs were begun or ended, also after a loss of memory. Requests leave no mark. */
  get fingerprint(): string {
    return this.#parts.ledger.fingerprint;
  }

  /** How requests moved, as long as the object remembers. */
  get requests(): Pick<RequestTracker, "moves" | "movedAt" | "checkpointDueAt"> {
    return this.#parts.requests;
  }

  /** What has ended since the endpoint exists, and how many jobs were queued once more. */
  get ended(): { readonly completed: number; readonly failed: number; readonly retried: number } {
    if (this.#parts.facts.config?.type !== "LB") return this.#parts.ledger.counts;
    const { completed, failed, timed_out: timedOut, retried } = this.#parts.activity.total.counts;
    return { completed, failed: failed + timedOut, retried };
  }
}
