/**
 * What must change so that an endpoint has its desired workers, and in which order endpoints are served. Placement of
 * the missing workers comes after.
 */
import type { EndpointConfig } from "../../contract/endpoint.ts";

export type PlannedWorker = {
  readonly workerId: string;
  readonly version: number;
  readonly isReady: boolean;
  /** It is being removed. */
  readonly isRetired: boolean;
  /** Its host is drained. */
  readonly isDrained: boolean;
};

/** What an endpoint should have. */
export type Goal = Pick<EndpointConfig, "workersMin" | "workersMax" | "version"> & {
  readonly desired: number;
};

/** Which endpoints come before others when capacity is short. */
export type Rank = {
  /** Workers up to this number come first. */
  readonly least: number;
  /** Workers of an older version stand in for all that it lacks: others come first. */
  readonly canWait: boolean;
};

export type EndpointPlan = {
  /** Workers to retire: those on a drained host, and all of a removed endpoint. */
  readonly retire: readonly string[];
  /** How many workers of the current version to add. */
  readonly add: number;
  readonly rank: Rank;
};

/**
 * Workers on drained hosts are retired, missing ones are added. Surplus workers and those of an older version are not
 * chosen here: only the endpoint knows which are free, and names them.
 *
 * Beside workers of an older version, one more than desired is added; once that is ready, as many as workersMax + 1
 * allows. So a version that never starts costs one place, and a rollout of one that does ends soon.
 */
export function planWorkers(workers: readonly PlannedWorker[], goal: Goal | undefined): EndpointPlan {
  const active = workers.filter(({ isRetired }) => !isRetired);
  const leaving = goal ? active.filter(({ isDrained }) => isDrained) : active;
  const retire = leaving.map(({ workerId }) => workerId);
  if (!goal) return { retire, add: 0, rank: { least: 0, canWait: false } };

  const { desired, workersMin, workersMax, version } = goal;
  const staying = active.filter((worker) => !leaving.includes(worker));
  const current = staying.filter((worker) => worker.version >= version);
  const hasOlder = current.length < staying.length;
  const isProven = current.some(({ isReady }) => isReady);
  const most = (isProven ? Math.max(desired, workersMax) : desired) + 1;
  const headroom = hasOlder ? most - staying.length : Infinity;
  const add = Math.max(0, Math.min(desired - current.length, headroom));
  // An endpoint that gave up a worker for its new version comes first: the capacity was its own.
  const isRolling = hasOlder || workers.some((worker) => worker.isRetired && worker.version < version);
  const least = isRolling ? Math.max(workersMin, desired - add + 1) : workersMin;
  return { retire, add, rank: { least, canWait: hasOlder && staying.length >= desired } };
}

/** Who gets the next worker when several endpoints want more than there is. */

export type Need = {
  readonly endpointId: string;
  /** Workers that it has. */
  readonly has: number;
  readonly least: number;
  readonly desired: number;
  /** Since when it has waited for one. */
  readonly since: number;
};

/**
 * Calls `place` for one worker after another until all have what they want or nothing fits. First come workers
 * up to the minimum of every endpoint, then the others; of those, always one for the endpoint that has fewest, and
 * among equals for the one that has waited longest. An endpoint for which nothing fits is not tried again.
 */
export function serveFairly(needs: readonly Need[], place: (need: Need) => boolean): void {
  const counts = new Map(needs.map(({ endpointId, has }) => [endpointId, has]));
  const stuck = new Set<string>();
  for (const goalOf of [leastOf, desiredOf]) {
    let waiting = needs
      .filter(({ endpointId }) => !stuck.has(endpointId))
      .toSorted((a, b) => a.since - b.since || (a.endpointId < b.endpointId ? -1 : 1));
    for (;;) {
      waiting = waiting.filter((need) => countOf(counts, need) < goalOf(need) && !stuck.has(need.endpointId));
      if (waiting.length === 0) break;
      const fewest = waiting.reduce((least, need) => Math.min(least, countOf(counts, need)), Infinity);
      for (const need of waiting) {
        const count = countOf(counts, need);
        if (count > fewest) continue;
        if (place(need)) counts.set(need.endpointId, count + 1);
        else stuck.add(need.endpointId);
      }
    }
  }
}

function countOf(counts: ReadonlyMap<string, number>, { endpointId }: Need): number {
  return counts.get(endpointId) ?? 0;
}

function leastOf({ least, desired }: Need): number {
  return Math.min(least, desired);
}

function desiredOf({ desired }: Need): number {
  return desired;
}
