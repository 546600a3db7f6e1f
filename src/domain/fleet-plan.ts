/**
 * What must change so that an endpoint has the workers that it wants. Pure: placement of the missing ones
 * comes after.
 */

export type PlannedWorker = {
  readonly workerId: string;
  readonly version: number;
  readonly isReady: boolean;
  readonly createdAt: number;
};

export type EndpointPlan = {
  /** Workers to retire: outdated or too many. */
  readonly retire: readonly string[];
  /** How many workers of the current version to add. */
  readonly add: number;
};

/** Outdated workers go; of too many, those that are not ready go first, then the newest. */
export function planWorkers(
  workers: readonly PlannedWorker[],
  wanted: number,
  version: number,
): EndpointPlan {
  const current = workers.filter((worker) => worker.version === version);
  const outdated = workers.filter((worker) => worker.version !== version);
  const byWorth = current.toSorted(
    (a, b) => Number(b.isReady) - Number(a.isReady) || a.createdAt - b.createdAt,
  );
  const surplus = byWorth.slice(wanted);
  return {
    retire: [...outdated, ...surplus].map((worker) => worker.workerId),
    add: Math.max(0, wanted - current.length),
  };
}
