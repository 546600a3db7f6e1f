/**
 * Rolling releases: how the workers of an older release give way to those of a new one.
 *
 * R1  A worker of an older release goes when one of the new release is ready to stand in for it: those without
 *     jobs first, then whoever is the next without. One that was never ready goes at once.
 * R2  When the new release has no place for its next worker, one older worker makes room, and no other before
 *     the new one has come.
 * R3  Nobody who has a job is sent away: who shall go gets no more jobs, and goes after those it has.
 * R4  A change that meets an endpoint without any job is seen by the next one: the older workers get none until
 *     new ones are ready, but wait for these no longer than RELEASE_HOLD_MS, and not for one that fails.
 */
import type { WorkerSample } from "../scaling/scaling-plan.ts";

export type RolloutWorker = WorkerSample & {
  /** Release of the endpoint that it runs. */
  readonly version: number;
  /** It keeps failing. */
  readonly isBroken: boolean;
};

export type RolloutSnapshot = {
  /** The workers that nobody has sent away, of all releases. */
  readonly workers: readonly RolloutWorker[];
  readonly version: number;
  readonly desired: number;
  readonly workersMax: number;
  /** Of these sets of older workers, each makes room for a new one; empty when none would or none is needed. */
  readonly evictionSets: readonly (readonly string[])[];
  /** No room that was made before is still on its way. */
  readonly canEvict: boolean;
  readonly isOnHold: boolean;
};

export type RolloutPlan = {
  /** They have no job and go now. */
  readonly leaving: readonly string[];
  /** They get no more jobs, and go after those they have. */
  readonly draining: readonly string[];
  /** So many of these may go in the place of draining ones, should they end their last job first. */
  readonly either: { readonly count: number; readonly among: ReadonlySet<string> };
  /** They get no jobs for now, and stay. */
  readonly onHold: readonly string[];
  /** Some worker goes to make room. */
  readonly evicts: boolean;
  /** The workers that the scaler counts: who stays and serves, or will once there is no older worker. */
  readonly rest: readonly RolloutWorker[];
};

/** One step of a roll; without older workers there is nothing to do. */
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
  // Room is made by all of a set or by none.
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

/** Only while the new release has nobody on the way: who is late shall not cost another worker. */
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

/** New workers that are not ready and that nobody wants any more, or that are above workersMax and one. */
function excessOf(
  { desired, workersMax }: RolloutSnapshot,
  newer: readonly RolloutWorker[],
  olderCount: number,
): readonly RolloutWorker[] {
  const excess = Math.max(0, newer.length - desired, newer.length + olderCount - workersMax - 1);
  const idle = newer.filter((worker) => !worker.isReady && isFree(worker));
  return idle.toSorted((a, b) => Number(b.isBroken) - Number(a.isBroken)).slice(0, excess);
}

/** Who will be without a job first, as far as can be told; who was chosen before is chosen again. */
function soonestFirst(a: RolloutWorker, b: RolloutWorker): number {
  return (
    Number(!isFree(a)) - Number(!isFree(b)) ||
    Number(b.isDraining) - Number(a.isDraining) ||
    a.version - b.version ||
    a.jobs - b.jobs ||
    a.freeSinceAt - b.freeSinceAt
  );
}

/** Of sets as large, the one whose last member is free soonest. */
function compareLast(a: readonly RolloutWorker[], b: readonly RolloutWorker[]): number {
  const [lastOfA] = a.slice(-1);
  const [lastOfB] = b.slice(-1);
  return lastOfA && lastOfB ? soonestFirst(lastOfA, lastOfB) : 0;
}

function onlyOne(group: readonly RolloutWorker[]): readonly RolloutWorker[] {
  return group.length === 1 ? group : [];
}

function isFree({ jobs }: RolloutWorker): boolean {
  return jobs === 0;
}

function idsOf(workers: readonly RolloutWorker[]): readonly string[] {
  return workers.map(({ workerId }) => workerId);
}
