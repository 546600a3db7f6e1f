/**
 * What must change so that an endpoint has the workers that it wants. Pure: placement of the missing ones
 * comes after.
 */

export type PlannedWorker = {
  readonly workerId: string;
  readonly version: number;
  /** Its host is to be emptied. */
  readonly isDrained: boolean;
};

export type EndpointPlan = {
  /** Workers to retire: those of other releases, and those on a drained host. */
  readonly retire: readonly string[];
  /** How many workers of the current version to add. */
  readonly add: number;
};

/**
 * Outdated workers and those on drained hosts go, missing ones come. Of too many none is chosen here: only the
 * endpoint knows which are free, and names them.
 */
export function planWorkers(
  workers: readonly PlannedWorker[],
  wanted: number,
  version: number,
): EndpointPlan {
  const leaving = workers.filter((worker) => worker.version !== version || worker.isDrained);
  return {
    retire: leaving.map((worker) => worker.workerId),
    add: Math.max(0, wanted - (workers.length - leaving.length)),
  };
}
