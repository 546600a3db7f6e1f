/**
 * How many workers an endpoint wants, and which of them may go: sample -> decide -> apply, these being the
 * decisions. Load makes the wish grow and never lets it fall; it falls when workers were free for idleTimeout.
 */
import type { EndpointConfig } from "../contract/endpoint.ts";
import { LEAVE_GAP_MS, LEAVE_SHARE } from "../contract/limits.ts";

export type Load = {
  readonly normalQueued: number;
  readonly normalRunning: number;
  /** Attempts of both lanes. */
  readonly running: number;
  /** Since when the first normal job waits; null when none does. */
  readonly oldestQueuedAt: number | null;
  /** Jobs that a worker takes at once, as far as is known. */
  readonly jobsPerWorker: number;
};

/** A worker of the current release that nobody has sent away. */
export type CrewMember = {
  readonly workerId: string;
  readonly isReady: boolean;
  readonly jobs: number;
  /** It gets no more jobs. */
  readonly isDraining: boolean;
  /** When it became ready or its last job ended. */
  readonly freeSinceAt: number;
};

export type Wish = {
  readonly wanted: number;
  /** When it last grew. */
  readonly grownAt: number;
};

export type Growth = {
  readonly wanted: number;
  /** The load asks for so many: fewer than these may not stay. */
  readonly floor: number;
  /** When the decision must be made again though nothing happens; null for never. */
  readonly reviewAt: number | null;
};

export type GrowthConfig = Pick<EndpointConfig, "workersMin" | "workersMax" | "scalerType" | "scalerValue">;

/** The wish under a load: within workersMin and workersMax, and otherwise never less than it was. */
export function growWish(load: Load, wish: Wish, config: GrowthConfig, now: number): Growth {
  const clamp = (workers: number) => Math.min(Math.max(workers, config.workersMin), config.workersMax);
  const { asked, reviewAt } =
    config.scalerType === "REQUEST_COUNT"
      ? { asked: askByCount(load, config.scalerValue), reviewAt: null }
      : askByDelay(load, wish, config, now);
  return { wanted: clamp(Math.max(wish.wanted, asked)), floor: clamp(asked), reviewAt };
}

/** Low-priority jobs count only as what occupies workers while normal ones wait. */
function askByCount(load: Load, perWorker: number): number {
  const running = load.normalQueued > 0 ? load.running : load.normalRunning;
  return Math.ceil((load.normalQueued + running) / Math.max(1, perWorker));
}

/**
 * The first worker comes at once. When a job has waited for scalerValue seconds the wish doubles, and again
 * after as many seconds, but never beyond what would leave no job waiting.
 */
function askByDelay(load: Load, { wanted, grownAt }: Wish, config: GrowthConfig, now: number) {
  if (load.oldestQueuedAt === null) return { asked: 0, reviewAt: null };
  const enough = Math.ceil((load.normalQueued + load.running) / load.jobsPerWorker);
  const most = Math.min(enough, config.workersMax);
  const delayMs = delayOf(config);
  const dueAt = Math.max(load.oldestQueuedAt, grownAt) + delayMs;
  const isGrowing = wanted === 0 || (wanted < most && now >= dueAt);
  const asked = isGrowing ? Math.max(1, Math.min(2 * wanted, enough)) : wanted;
  if (asked >= most) return { asked, reviewAt: null };
  return { asked, reviewAt: isGrowing ? now + delayMs : dueAt };
}

/** How long a job may wait before it asks for workers, in ms. */
export function delayOf({ scalerValue }: Pick<GrowthConfig, "scalerValue">): number {
  return Math.max(1, scalerValue) * 1_000;
}

export type Crew = {
  readonly workers: readonly CrewMember[];
  readonly wanted: number;
  readonly floor: number;
  /** A job of either lane waits. */
  readonly isWaitedFor: boolean;
  /** Since when there is no job at all; null while there is one. */
  readonly idleSinceAt: number | null;
  /** When workers were last let go. */
  readonly leftAt: number;
};

export type Release = {
  readonly wanted: number;
  /** Free workers that go now. */
  readonly leaving: readonly string[];
  /** Busy workers above workersMax: they get no more jobs, and go when those they have are done. */
  readonly draining: readonly string[];
  readonly reviewAt: number | null;
};

export type ReleaseConfig = Pick<EndpointConfig, "workersMax" | "idleTimeoutSeconds">;

/**
 * Who goes. Workers above workersMax go at once. Others go when they were free for idleTimeout and nothing waits:
 * one at a time, of many an eighth; wanted ones that never came are given up first, then those not ready.
 */
export function releaseWorkers(crew: Crew, config: ReleaseConfig, now: number): Release {
  const { workers, wanted, floor } = crew;
  const surplus = workers.length - config.workersMax;
  if (surplus > 0) return releaseSurplus(workers, surplus, config.workersMax);

  const stay = { wanted: Math.max(wanted, workers.length), leaving: [], draining: [] };
  if (crew.isWaitedFor || stay.wanted <= floor) return { ...stay, reviewAt: null };
  const reviewAt = nextLeaveAt({ ...crew, wanted: stay.wanted }, config);
  if (reviewAt === null || now < reviewAt) return { ...stay, reviewAt };

  const isDue = (worker: CrewMember) => !worker.isReady || now >= worker.freeSinceAt + timeoutOf(config);
  const due = workers.filter((worker) => worker.jobs === 0 && isDue(worker)).toSorted(leastUsefulFirst);
  const spare = Math.max(0, workers.length - floor);
  const leaving = due.slice(0, Math.min(Math.ceil(due.length / LEAVE_SHARE), spare));
  const left = workers.filter((worker) => !leaving.includes(worker));
  const rest = { ...crew, workers: left, wanted: Math.max(floor, left.length), leftAt: now };
  return {
    wanted: rest.wanted,
    leaving: idsOf(leaving),
    draining: [],
    reviewAt: rest.wanted > floor ? nextLeaveAt(rest, config) : null,
  };
}

/** When the next worker may go, should nothing happen until then. */
function nextLeaveAt({ workers, wanted, idleSinceAt, leftAt }: Crew, config: ReleaseConfig): number | null {
  const free = workers.filter(({ jobs }) => jobs === 0);
  const since = free.filter(({ isReady }) => isReady).map(({ freeSinceAt }) => freeSinceAt);
  const isShort = wanted > workers.length || free.some(({ isReady }) => !isReady);
  if (isShort && idleSinceAt !== null) since.push(idleSinceAt);
  if (since.length === 0) return null;
  return Math.max(Math.min(...since) + timeoutOf(config), leftAt + LEAVE_GAP_MS);
}

function timeoutOf({ idleTimeoutSeconds }: ReleaseConfig): number {
  return idleTimeoutSeconds * 1_000;
}

function releaseSurplus(workers: readonly CrewMember[], surplus: number, workersMax: number): Release {
  const chosen = workers.toSorted(leastUsefulFirst).slice(0, surplus);
  return {
    wanted: workersMax,
    leaving: idsOf(chosen.filter(({ jobs }) => jobs === 0)),
    draining: idsOf(chosen.filter(({ jobs }) => jobs > 0)),
    reviewAt: null,
  };
}

/** Free ones before busy ones, those not ready or sent home before others, then who was free longest. */
function leastUsefulFirst(a: CrewMember, b: CrewMember): number {
  return (
    Number(a.jobs > 0) - Number(b.jobs > 0) ||
    Number(b.isDraining) - Number(a.isDraining) ||
    Number(a.isReady) - Number(b.isReady) ||
    a.jobs - b.jobs ||
    a.freeSinceAt - b.freeSinceAt
  );
}

function idsOf(workers: readonly CrewMember[]): readonly string[] {
  return workers.map(({ workerId }) => workerId);
}
