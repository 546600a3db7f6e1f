/** The rollout in progress: since when, what it waits for, and whether it may evict workers. */
import type { EndpointConfig } from "../../contract/endpoint.ts";
import type { RolloutBody } from "../../contract/job.ts";
import type { FleetReport } from "../../domain/jobs/queue-reason.ts";
import { planCanary } from "../../domain/rollouts/canary-plan.ts";
import { planRollout, type RolloutWorker, type RolloutPlan } from "../../domain/rollouts/rollout-plan.ts";
import { describeRollout, obstacleOf } from "../../domain/rollouts/rollout-progress.ts";
import { earliest } from "../../std/earliest.ts";
import type { Fact } from "../facts/fact-store.ts";
import type { Stall } from "./canary-watch.ts";

/**
 * How long idle workers of an older version get no job, so that the next job runs on the new one: longer than most
 * containers take to start, and short enough to wait for when they do not.
 */
export const ROLLOUT_HOLD_MS = 30_000;

/** Time after which a rollout evicts another worker although no new one has come for the last. */
export const EVICTION_RETRY_MS = 60_000;

export type RolloutState = {
  readonly since: number;
  /** Idle workers of the older version get no jobs until then (R4). */
  readonly heldUntil: number;
  /** When the number of ready new workers last grew, and to how many. */
  readonly progressAt: number;
  readonly ready: number;
  readonly stalledSince: number | null;
  /** When a worker was last evicted, and how many new workers there were. */
  readonly eviction: { readonly at: number; readonly placed: number } | null;
};

export type RolloutInput = {
  readonly workers: readonly RolloutWorker[];
  readonly report: FleetReport;
  readonly desired: number;
  /** A worker that was instructed to leave is still there. */
  readonly isCapacityComing: boolean;
  /** A version on trial has had more than its share of the jobs. */
  readonly isAhead: boolean;
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
  readonly #stored: Fact<RolloutState>;
  #state: RolloutState = UNKNOWN;
  #obstacle: string | undefined;

  constructor(stored: Fact<RolloutState>) {
    this.#stored = stored;
  }

  recover(): void {
    this.#state = { ...UNKNOWN, ...this.#stored.read() };
  }

  /** The endpoint has a new version; `isQuiet`: it has no work. */
  begin(isQuiet: boolean, now: number): void {
    const heldUntil = isQuiet ? now + ROLLOUT_HOLD_MS : 0;
    this.#save({ ...UNKNOWN, since: now, progressAt: now, heldUntil });
  }

  /** Plans the next step while there are older workers; `reviewAt`: when to plan again although nothing happens. */
  step(
    { workers, report, desired, isCapacityComing, isAhead }: RolloutInput,
    { version, workersMax, canary }: EndpointConfig,
    now: number,
  ): RolloutPlan & { readonly reviewAt: number | null } {
    const newer = workers.filter((worker) => worker.version >= version);
    this.#obstacle = obstacleOf(report, version);
    this.#recordProgress(newer, this.#obstacle, now);
    if (canary) {
      const plan = planCanary({ workers, version, desired, percent: canary.percent, isAhead });
      return { ...plan, reviewAt: null };
    }
    const { heldUntil, stalledSince, eviction } = this.#state;
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
    if (plan.evicts) this.#save({ ...this.#state, eviction: { at: now, placed: newer.length } });
    const reviewAt = earliest([isHeld ? heldUntil : null, now < evictionAgainAt ? evictionAgainAt : null]);
    return { ...plan, reviewAt };
  }

  /** Why workers of the new version do not start, as of the last step. */
  get stall(): Stall | null {
    const { stalledSince: since } = this.#state;
    return since === null ? null : { since, reason: this.#obstacle ?? "they keep failing" };
  }

  /** Null while all workers have the endpoint's version. */
  describe(report: FleetReport, version: number, now: number): RolloutBody | null {
    return describeRollout(report, version, this.#state, now);
  }

  #recordProgress(newer: readonly RolloutWorker[], obstacle: string | undefined, now: number): void {
    const ready = newer.filter(({ isReady }) => isReady).length;
    const { stalledSince } = this.#state;
    const stalled = obstacle === undefined ? null : (stalledSince ?? now);
    if (stalled === stalledSince && ready <= this.#state.ready) return;
    const progress = ready > this.#state.ready ? { ready, progressAt: now } : {};
    this.#save({ ...this.#state, ...progress, stalledSince: stalled });
  }

  #save(state: RolloutState): void {
    this.#state = state;
    this.#stored.write(state);
  }
}
