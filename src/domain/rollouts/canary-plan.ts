/**
 * Workers of two versions side by side, while a share of them tries the newer one.
 *
 * CA1  Of the desired workers a share belongs to the new version, rounded up, and the rest to earlier ones, rounded up:
 *      at most one worker more than desired, so that the earlier version never lacks what its jobs need.
 * CA2  A worker of an earlier version leaves only when one of the new version is ready in its place.
 * CA3  The new version gets the next job until it has had its share, and then none while an earlier one can take them.
 * CA4  No worker leaves with a job.
 */
import {
  idsOf,
  isFree,
  soonestFirst,
  type RolloutPlan,
  type RolloutSnapshot,
  type RolloutWorker,
} from "./rollout-plan.ts";

export type CanaryGoal = { readonly base: number; readonly canary: number };

/** `percent` 0: the new version was sent back. */
export function canaryGoal(desired: number, percent: number): CanaryGoal {
  const share = (desired * percent) / 100;
  return { base: desired - Math.floor(share), canary: Math.ceil(share) };
}

export type CanarySnapshot = Pick<RolloutSnapshot, "workers" | "version" | "desired"> & {
  readonly percent: number;
  /** The new version has had more than its share of the jobs. */
  readonly isAhead: boolean;
};

export function planCanary({ workers, version, desired, percent, isAhead }: CanarySnapshot): RolloutPlan {
  const older = workers.filter((worker) => worker.version < version);
  const newer = workers.filter((worker) => worker.version >= version);
  const goal = canaryGoal(desired, percent);
  const ready = newer.filter(({ isReady }) => isReady).length;
  const leastOlder = percent === 0 ? goal.base : Math.max(goal.base, desired - ready);
  const goingOlder = surplusOf(older, leastOlder);
  const goingNewer = surplusOf(newer, goal.canary);
  const going = [...goingOlder, ...goingNewer];
  const stayingOlder = older.filter((worker) => !goingOlder.includes(worker));
  const stayingNewer = newer.filter((worker) => !goingNewer.includes(worker));
  const canServe = stayingOlder.some(({ isReady }) => isReady);
  return {
    leaving: idsOf(going.filter(isFree)),
    draining: idsOf(going.filter((worker) => !isFree(worker))),
    either: { count: 0, among: new Set() },
    onHold: isAhead && canServe ? idsOf(stayingNewer) : [],
    evicts: false,
    rest: [...stayingOlder, ...stayingNewer.slice(0, Math.max(0, desired - stayingOlder.length))],
  };
}

/** Those that are not ready go first. */
function surplusOf(workers: readonly RolloutWorker[], most: number): readonly RolloutWorker[] {
  const count = Math.max(0, workers.length - most);
  return workers
    .toSorted((a, b) => Number(a.isReady) - Number(b.isReady) || soonestFirst(a, b))
    .slice(0, count);
}
