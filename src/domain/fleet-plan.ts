/**
 * What must change so that an endpoint has the workers that it wants. Pure: placement of the missing ones
 * comes after.
 */

export type PlannedWorker = {
  readonly workerId: string;
  readonly version: number;
  readonly isReady: boolean;
  readonly createdAt: number;
  /** Its host is to be emptied. */
  readonly isDrained: boolean;
};

export type EndpointPlan = {
  /** Workers to retire: outdated, on a drained host, or too many. */
  readonly retire: readonly string[];
  /** How many workers of the current version to add. */
  readonly add: number;
};

/** Outdated workers and those on drained hosts go; of too many, those that are not ready go first, then the newest. */
export function planWorkers(
  workers: readonly PlannedWorker[],
  wanted: number,
  version: number,
): EndpointPlan {
  const isLasting = (worker: PlannedWorker) => worker.version === version && !worker.isDrained;
  const current = workers.filter(isLasting);
  const leaving = workers.filter((worker) => !isLasting(worker));
  const byWorth = current.toSorted(
    (a, b) => Number(b.isReady) - Number(a.isReady) || a.createdAt - b.createdAt,
  );
  const surplus = byWorth.slice(wanted);
  return {
    retire: [...leaving, ...surplus].map((worker) => worker.workerId),
    add: Math.max(0, wanted - current.length),
  };
}
