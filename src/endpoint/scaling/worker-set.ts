/** The workers of an endpoint that are not leaving, and since when each of them is free; and how many jobs workers take. */
import { acceptsJobs } from "../../domain/scaling/open-slots.ts";
import type { RolloutWorker } from "../../domain/rollouts/rollout-plan.ts";
import { isBroken, type FleetReport, type WorkerSnapshot } from "../../domain/jobs/queue-reason.ts";
import { epochOf } from "../../domain/placement/standby.ts";

export type Terms = {
  readonly version: number;
  /** Epochs of workers that were instructed to leave. */
  readonly leaving: ReadonlySet<string>;
};

export class WorkerSet {
  #members: readonly WorkerSnapshot[] = [];
  readonly #freeSince = new Map<string, number>();
  #version = 0;
  #hasOutdated = false;

  /** Takes over a report of Fleet; a worker is free from when it is ready. */
  learn({ workers }: FleetReport, { version, leaving }: Terms, now: number): void {
    this.#members = workers.filter((worker) => acceptsJobs(worker) && !leaving.has(epochOf(worker)));
    this.#version = version;
    this.#hasOutdated = this.#members.some((worker) => (worker.version ?? version) < version);
    const ready = new Set(this.#members.filter(isReady).map(({ workerId }) => workerId));
    for (const workerId of this.#freeSince.keys()) if (!ready.has(workerId)) this.#freeSince.delete(workerId);
    for (const workerId of ready) if (!this.#freeSince.has(workerId)) this.#freeSince.set(workerId, now);
  }

  /** The last jobs of these workers have ended. */
  freed(workerIds: readonly string[], now: number): void {
    for (const workerId of workerIds) if (this.#freeSince.has(workerId)) this.#freeSince.set(workerId, now);
  }

  has(workerId: string): boolean {
    return this.#members.some((worker) => worker.workerId === workerId);
  }

  get size(): number {
    return this.#members.length;
  }

  /** Some have an older version. */
  get hasOutdated(): boolean {
    return this.#hasOutdated;
  }

  sample(busy: ReadonlyMap<string, number>, draining: ReadonlySet<string>): RolloutWorker[] {
    return this.#members.map((worker) => ({
      workerId: worker.workerId,
      isReady: isReady(worker),
      jobs: busy.get(worker.workerId) ?? 0,
      isDraining: draining.has(worker.workerId),
      freeSinceAt: this.#freeSince.get(worker.workerId) ?? 0,
      version: worker.version ?? this.#version,
      isBroken: isBroken(worker),
    }));
  }

  /** Workers that have work and get more of it; of the newest version alone, unless an earlier one serves beside it. */
  countBusy(busy: ReadonlyMap<string, number>, draining: ReadonlySet<string>, earlierStay: boolean): number {
    const stays = ({ workerId, version = this.#version }: WorkerSnapshot): boolean =>
      (earlierStay || version === this.#version) && !draining.has(workerId);
    return this.#members.filter((worker) => busy.has(worker.workerId) && stays(worker)).length;
  }

  /** Since when each worker is free. */
  get idleTimes(): ReadonlyMap<string, number> {
    return this.#freeSince;
  }

  /** Restores stored times. */
  restore(idleTimes: Iterable<readonly [workerId: string, freeSinceAt: number]>): void {
    for (const [workerId, at] of idleTimes)
      if (this.#freeSince.has(workerId)) this.#freeSince.set(workerId, at);
  }
}

function isReady({ state }: WorkerSnapshot): boolean {
  return state === "ready";
}

/** How many jobs each worker takes at once, as the slots that its agent offers show. */
export class WorkerConcurrency {
  readonly #jobsOf = new Map<string, number>();
  #max = 1;

  /** Restores what was known before a loss of memory. */
  recover(jobsPerWorker: number): void {
    this.#max = jobsPerWorker;
  }

  record(workerId: string, jobs: number): void {
    if (this.#jobsOf.get(workerId) === jobs) return;
    this.#jobsOf.set(workerId, jobs);
    this.#max = Math.max(...this.#jobsOf.values());
  }

  /** Forgets workers that are gone; the next one is expected to take what the last of them took. */
  keepOnly(workerIds: ReadonlySet<string>): void {
    const gone = [...this.#jobsOf.keys()].filter((workerId) => !workerIds.has(workerId));
    for (const workerId of gone) this.#jobsOf.delete(workerId);
    if (this.#jobsOf.size > 0) this.#max = Math.max(...this.#jobsOf.values());
  }

  /** The most jobs that one of the workers takes; a new worker often begins with fewer. */
  get jobsPerWorker(): number {
    return this.#max;
  }
}
