/**
 * What must change so that an endpoint has the workers that it wants. Pure: placement of the missing ones
 * comes after.
 */

export type PlannedWorker = {
  readonly workerId: string;
  readonly version: number;
  readonly isReady: boolean;
  /** Its host is to be emptied. */
  readonly isDrained: boolean;
};

/** What an endpoint wants. */
export type Goal = { readonly wanted: number; readonly workersMax: number; readonly version: number };

export type EndpointPlan = {
  /** Workers to retire: those on a drained host, and all when nobody wants any. */
  readonly retire: readonly string[];
  /** How many workers of the current version to add. */
  readonly add: number;
  /** Of these, how many no other worker stands in for. */
  readonly lacking: number;
};

/**
 * Workers on drained hosts go, missing ones come. Of too many, and of those of an older release, none is chosen
 * here: only the endpoint knows which are free, and names them.
 *
 * Beside workers of an older release comes one more than are wanted; when that has become ready, as many as
 * workersMax and one leave room for. So a release that never comes up costs one place, and one that does is
 * through soon.
 */
export function planWorkers(workers: readonly PlannedWorker[], goal: Goal | undefined): EndpointPlan {
  const leaving = goal ? workers.filter(({ isDrained }) => isDrained) : workers;
  const retire = leaving.map(({ workerId }) => workerId);
  if (!goal) return { retire, add: 0, lacking: 0 };

  const { wanted, workersMax, version } = goal;
  const staying = workers.filter((worker) => !leaving.includes(worker));
  const current = staying.filter((worker) => worker.version >= version);
  const hasOlder = current.length < staying.length;
  const isProven = current.some(({ isReady }) => isReady);
  const most = (isProven ? Math.max(wanted, workersMax) : wanted) + 1;
  const room = hasOlder ? most - staying.length : Infinity;
  return {
    retire,
    add: Math.max(0, Math.min(wanted - current.length, room)),
    lacking: Math.max(0, wanted - staying.length),
  };
}
