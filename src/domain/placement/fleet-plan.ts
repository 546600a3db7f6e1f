/**
 * What must change so that an endpoint has its desired workers, and in which order endpoints are served. Placement of
 * the missing workers comes after.
 */
import type { Canary, EndpointConfig } from "../../contract/endpoint.ts";
import { canaryGoal } from "../rollouts/canary-plan.ts";
import { comparePrecedence, type Contender } from "./shares.ts";

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
export type Goal = Pick<EndpointConfig, "workersMin" | "workersMax" | "version" | "canary"> & {
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
 * allows. So a version that never starts costs one place, and a rollout of one that does ends soon. While a share of
 * the workers tries a version, both versions get what they lack of theirs, the earlier one first.
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
  const lacking = goal.canary
    ? lackOf(goal.canary, {
        desired,
        older: staying.length - current.length,
        newer: current.length,
        isProven,
      })
    : desired - current.length;
  const add = Math.max(0, Math.min(lacking, goal.canary ? desired + 1 - staying.length : headroom));
  // An endpoint that gave up a worker for its new version comes first: the capacity was its own.
  const isRolling = hasOlder || workers.some((worker) => worker.isRetired && worker.version < version);
  const least = isRolling ? Math.max(workersMin, desired - add + 1) : workersMin;
  return { retire, add, rank: { least, canWait: hasOlder && staying.length >= desired } };
}

type Sides = {
  readonly desired: number;
  readonly older: number;
  readonly newer: number;
  /** A worker of the new version is ready. */
  readonly isProven: boolean;
};

/** One worker of the new version until it is proven. */
function lackOf({ percent }: Canary, { desired, older, newer, isProven }: Sides): number {
  const goal = canaryGoal(desired, percent);
  const lackingNew = (isProven ? goal.canary : Math.min(1, goal.canary)) - newer;
  return Math.max(0, goal.base - older) + Math.max(0, lackingNew);
}

/** The version of the next worker of an endpoint that has these. */
export function nextVersion(
  workers: readonly Pick<PlannedWorker, "version">[],
  { version, desired, canary }: Pick<Goal, "version" | "desired" | "canary">,
): number {
  if (!canary) return version;
  const older = workers.filter((worker) => worker.version < version).length;
  return older < canaryGoal(desired, canary.percent).base ? canary.from : version;
}

/** Who gets the next worker when several endpoints want more than there is. */

export type Need = Contender & { readonly desired: number };

/**
 * Calls `place` for one worker after another until all have what they want or nothing fits, each for the endpoint
 * that comes first: workers up to the minimum of every endpoint, then the others. An endpoint for which nothing fits is
 * not tried again.
 */
export function serveFairly(needs: readonly Need[], now: number, place: (need: Need) => boolean): void {
  const stuck = new Set<string>();
  const served = new Map(needs.map((need) => [need, 0]));
  const placedFor = (need: Need) => served.get(need) ?? 0;
  const compare = (a: Need, b: Need) => comparePrecedence(a, b, { a: placedFor(a), b: placedFor(b) }, now);
  for (const goalOf of [leastOf, desiredOf]) {
    const isShort = (need: Need) => need.has + placedFor(need) < goalOf(need) && !stuck.has(need.endpointId);
    const waiting = needs.filter(isShort).toSorted(compare);
    for (;;) {
      const need = waiting.shift();
      if (!need) break;
      if (place(need)) served.set(need, placedFor(need) + 1);
      else stuck.add(need.endpointId);
      if (!isShort(need)) continue;
      const before = waiting.findIndex((other) => compare(need, other) < 0);
      waiting.splice(before < 0 ? waiting.length : before, 0, need);
    }
  }
}

function leastOf({ least, desired }: Need): number {
  return Math.min(least, desired);
}

function desiredOf({ desired }: Need): number {
  return desired;
}
