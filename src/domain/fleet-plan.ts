/**
 * What must change so that an endpoint has the workers that it wants. Pure: placement of the missing ones
 * comes after.
 */

export type PlannedWorker = { readonly workerId: string; readonly version: number };

export type EndpointPlan = {
  /** Workers to retire: those of other releases. */
  readonly retire: readonly string[];
  /** How many workers of the current version to add. */
  readonly add: number;
};

/**
 * Outdated workers go, missing ones come. Of too many none is chosen here: only the endpoint knows which are
 * free, and names them.
 */
export function planWorkers(
  workers: readonly PlannedWorker[],
  wanted: number,
  version: number,
): EndpointPlan {
  const outdated = workers.filter((worker) => worker.version !== version);
  return {
    retire: outdated.map((worker) => worker.workerId),
    add: Math.max(0, wanted - (workers.length - outdated.length)),
  };
}
