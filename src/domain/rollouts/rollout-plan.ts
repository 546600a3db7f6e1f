/**
 * Rollouts: how workers of an older version are replaced by those of a new one.
 *
 * R1  A worker of an older version is removed when one of the new version is ready in its place: those without jobs
 *     first, then those that become free next. One that was never ready is removed at once.
 * R2  When the next worker of the new version has no place, one older worker is evicted, and no other before the
 *     new one has come.
 * R3  No job is interrupted: a worker that is to be removed gets no more jobs, and is removed after those it has.
 * R4  After a change of an idle endpoint the next job sees it: older workers get no jobs until new ones are ready,
 *     but no longer than ROLLOUT_HOLD_MS, and not while a new one fails.
 */
import type { WorkerSample } from "../scaling/scaling-plan.ts";

export type RolloutWorker = WorkerSample & {
  /** Version of the endpoint that it runs. */
  readonly version: number;
  /** It keeps failing. */
  readonly isBroken: boolean;
};

export type RolloutSnapshot = {
  /** Workers of all versions that are not being removed. */
  readonly workers: readonly RolloutWorker[];
  readonly version: number;
  readonly desired: number;
  readonly workersMax: number;
  /** Sets of older workers, each of which frees a place for a new one; empty when none would or none is needed. */
  readonly evictionSets: readonly (readonly string[])[];
  /** No earlier eviction is still in progress. */
  readonly canEvict: boolean;
  readonly isOnHold: boolean;
};

export type RolloutPlan = {
  /** Removed now: they have no job. */
  readonly leaving: readonly string[];
  /** Get no more jobs, and are removed after those they have. */
  readonly draining: readonly string[];
  /** This many of these may be removed in place of draining ones, should they become free first. */
  readonly either: { readonly count: number; readonly among: ReadonlySet<string> };
  /** Get no jobs for now, and stay. */
  readonly onHold: readonly string[];
  /** A worker is evicted. */
  readonly evicts: boolean;
  /** The workers that the autoscaler counts: those that stay and serve, or will once no older one is left. */
  readonly rest: readonly RolloutWorker[];
};

/** One step of a rollout; without older workers there is nothing to do. */
export function planRollout(snapshot: RolloutSnapshot): RolloutPlan {
  const { workers, version, desired, isOnHold } = snapshot;
  const older = workers.filter((worker) => worker.version < version);
  if (older.length === 0) return { ...NOTHING, rest: workers };

  const newer = workers.filter((worker) => worker.version >= version);
  const ready = newer.filter(({ isReady }) => isReady);
  const serving = older.filter(({ isReady }) => isReady);
  const surplus = Math.max(0, serving.length - Math.max(0, desired - ready.length));
  const { chosen, among } =
    surplus > 0 ? chooseSurplus(serving, surplus) : chooseEviction(snapshot, serving, newer);
  const retained = serving.filter((worker) => !chosen.includes(worker));
  const going = older.filter((worker) => !retained.includes(worker));
  // A set is evicted as a whole or not at all.
  const isWaitedFor = (worker: RolloutWorker) =>
    surplus === 0 && chosen.includes(worker) && !chosen.every(isFree);
  const draining = going.filter((worker) => !isFree(worker) || isWaitedFor(worker));
  const excess = excessOf(snapshot, newer, retained.length + draining.length);
  const staying = newer.filter((worker) => !excess.includes(worker));
  return {
    leaving: idsOf([...going.filter((worker) => !draining.includes(worker)), ...excess]),
    draining: idsOf(draining),
    either: { count: chosen.filter((worker) => !isFree(worker)).length, among: new Set(idsOf(among)) },
    onHold: isOnHold ? idsOf(retained) : [],
    evicts: surplus === 0 && chosen.length > 0 && chosen.every(isFree),
    rest: retained.length > 0 ? [...retained, ...ready] : staying,
  };
}

type Choice = { readonly chosen: readonly RolloutWorker[]; readonly among: readonly RolloutWorker[] };

const NOTHING: Omit<RolloutPlan, "rest"> = {
  leaving: [],
  draining: [],
  either: { count: 0, among: new Set() },
  onHold: [],
  evicts: false,
};
const NO_CHOICE: Choice = { chosen: [], among: [] };

function chooseSurplus(serving: readonly RolloutWorker[], count: number): Choice {
  return { chosen: serving.toSorted(soonestFirst).slice(0, count), among: serving };
}

/** Only while no worker of the new version is starting: a slow start must not cost another worker. */
function chooseEviction(
  { evictionSets, canEvict }: RolloutSnapshot,
  serving: readonly RolloutWorker[],
  newer: readonly RolloutWorker[],
): Choice {
  if (!canEvict || newer.some(({ isReady }) => !isReady)) return NO_CHOICE;
  const sets = evictionSets
    .map((ids) => serving.filter(({ workerId }) => ids.includes(workerId)).toSorted(soonestFirst))
    .filter((set) => set.length > 0)
    .toSorted((a, b) => a.length - b.length || compareLast(a, b));
  const [soonest = []] = sets;
  return { chosen: soonest, among: soonest.length === 1 ? sets.flatMap(onlyOne) : [] };
}

/** New workers that are not ready and above the desired number, or above workersMax + 1. */
function excessOf(
  { desired, workersMax }: RolloutSnapshot,
  newer: readonly RolloutWorker[],
  olderCount: number,
): readonly RolloutWorker[] {
  const excess = Math.max(0, newer.length - desired, newer.length + olderCount - workersMax - 1);
  const idle = newer.filter((worker) => !worker.isReady && isFree(worker));
  return idle.toSorted((a, b) => Number(b.isBroken) - Number(a.isBroken)).slice(0, excess);
}

/** Workers that will be free first come first, as far as can be known; an earlier choice is kept. */
export function soonestFirst(a: RolloutWorker, b: RolloutWorker): number {
  return (
    Number(!isFree(a)) - Number(!isFree(b)) ||
    Number(b.isDraining) - Number(a.isDraining) ||
    a.version - b.version ||
    a.jobs - b.jobs ||
    a.freeSinceAt - b.freeSinceAt
  );
}

/** Orders sets of the same size: first the one whose last member is free soonest. */
function compareLast(a: readonly RolloutWorker[], b: readonly RolloutWorker[]): number {
  const [lastOfA] = a.slice(-1);
  const [lastOfB] = b.slice(-1);
  return lastOfA && lastOfB ? soonestFirst(lastOfA, lastOfB) : 0;
}

function onlyOne(group: readonly RolloutWorker[]): readonly RolloutWorker[] {
  return group.length === 1 ? group : [];
}

export function isFree({ jobs }: RolloutWorker): boolean {
  return jobs === 0;
}

export function idsOf(workers: readonly RolloutWorker[]): readonly string[] {
  return workers.map(({ workerId }) => workerId);
}
