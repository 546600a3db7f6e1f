/** The rolling release that is under way: since when, what it waits for, and whether it may make room. */
import type { EndpointConfig } from "../../contract/endpoint.ts";
import type { RolloutBody } from "../../contract/job.ts";
import type { FleetReport } from "../../domain/jobs/queue-reason.ts";
import { planRollout, type RolloutWorker, type RolloutPlan } from "../../domain/rollouts/rollout-plan.ts";
import { describeRollout, obstacleOf } from "../../domain/rollouts/rollout-progress.ts";
import type { JobStore } from "../queue/job-store.ts";

/**
 * How long idle workers of an older version get no job, so that the next job runs on the new one: longer than most
 * containers take to start, and short enough to wait for when they do not.
 */
export const ROLLOUT_HOLD_MS = 30_000;

/** Time after which a rollout evicts another worker although no new one has come for the last. */
const EVICTION_RETRY_MS = 60_000;

type RolloutState = {
  readonly since: number;
  /** Older workers that are idle get no jobs until then (R4). */
  readonly heldUntil: number;
  /** When more new workers than before were ready, and how many. */
  readonly progressAt: number;
  readonly ready: number;
  readonly stalledSince: number | null;
  /** When room was last made, and how many new workers there were. */
  readonly eviction: { readonly at: number; readonly placed: number } | null;
};

export type RolloutInput = {
  readonly workers: readonly RolloutWorker[];
  readonly report: FleetReport;
  readonly desired: number;
  /** A worker that was sent away is still there. */
  readonly isCapacityComing: boolean;
};

const UNKNOWN: RolloutState = {
  since: 0,
  heldUntil: 0,
  progressAt: 0,
  ready: 0,
  stalledSince: null,
  eviction: null,
};

export class Rollout {
  readonly #store: JobStore;
  #fact: RolloutState = UNKNOWN;

  constructor(store: JobStore) {
    this.#store = store;
  }

  recover(): void {
    this.#fact = { ...UNKNOWN, ...this.#store.readFact<RolloutState>("rollout") };
  }

  /** The endpoint has a new release; `isQuiet`: it has no job. */
  begin(isQuiet: boolean, now: number): void {
    const heldUntil = isQuiet ? now + ROLLOUT_HOLD_MS : 0;
    this.#save({ ...UNKNOWN, since: now, progressAt: now, heldUntil });
  }

  /** Decides anew, to be asked while there are older workers; also when to ask again though nothing happens. */
  step(
    { workers, report, desired, isCapacityComing }: RolloutInput,
    { version, workersMax }: EndpointConfig,
    now: number,
  ): RolloutPlan & { readonly reviewAt: number | null } {
    const newer = workers.filter((worker) => worker.version >= version);
    this.#recordProgress(newer, obstacleOf(report, version), now);
    const { heldUntil, stalledSince, eviction } = this.#fact;
    const evictionAgainAt = eviction && newer.length <= eviction.placed ? eviction.at + EVICTION_RETRY_MS : 0;
    const isHeld = now < heldUntil && stalledSince === null;
    const plan = planRollout({
      workers,
      version,
      desired,
      workersMax,
      evictionSets: report.rollShortage?.roomBy ?? [],
      canEvict: !isCapacityComing && now >= evictionAgainAt,
      isOnHold: isHeld,
    });
    if (plan.evicts) this.#save({ ...this.#fact, eviction: { at: now, placed: newer.length } });
    const dues = [isHeld ? heldUntil : 0, now < evictionAgainAt ? evictionAgainAt : 0].filter((at) => at > 0);
    return { ...plan, reviewAt: dues.length > 0 ? Math.min(...dues) : null };
  }

  /** Null while all workers are of the endpoint's release. */
  describe(report: FleetReport, version: number, now: number): RolloutBody | null {
    return describeRollout(report, version, this.#fact, now);
  }

  #recordProgress(newer: readonly RolloutWorker[], obstacle: string | undefined, now: number): void {
    const ready = newer.filter(({ isReady }) => isReady).length;
    const { stalledSince } = this.#fact;
    const stalled = obstacle === undefined ? null : (stalledSince ?? now);
    if (stalled === stalledSince && ready <= this.#fact.ready) return;
    const progress = ready > this.#fact.ready ? { ready, progressAt: now } : {};
    this.#save({ ...this.#fact, ...progress, stalledSince: stalled });
  }

  #save(fact: RolloutState): void {
    this.#fact = fact;
    this.#store.writeFact("rollout", fact);
  }
}
