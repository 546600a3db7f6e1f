/**
 * How many workers an endpoint should have, and which may be removed. Load only raises the desired number; it falls
 * when workers were free for idleTimeout.
 */
import type { EndpointConfig } from "../../contract/endpoint.ts";

/** Least time between two scale-downs of an endpoint. */
export const SCALE_DOWN_INTERVAL_MS = 1_000;
/** When many workers may be removed at once, one in this many is. */
const SCALE_DOWN_SHARE = 8;

export type Load = {
  readonly normalQueued: number;
  readonly normalRunning: number;
  /** Attempts of both priorities. */
  readonly running: number;
  /** Since when the oldest normal job waits; null when none does. */
  readonly oldestQueuedAt: number | null;
  /** Concurrency of a worker, as far as it is known. */
  readonly jobsPerWorker: number;
  /** Workers that have jobs and stay: what waits while they are there is for others. */
  readonly busyWorkers: number;
};

/** A worker of the current version that is not being removed. */
export type WorkerSample = {
  readonly workerId: string;
  readonly isReady: boolean;
  readonly jobs: number;
  /** It gets no more jobs. */
  readonly isDraining: boolean;
  /** When it became ready or its last job ended. */
  readonly freeSinceAt: number;
};

export type ScaleState = {
  readonly desired: number;
  /** When the desired number last grew. */
  readonly grownAt: number;
};

export type ScaleUp = {
  readonly desired: number;
  /** Workers that the load needs: no scale-down goes below. */
  readonly floor: number;
  /** When to decide again if nothing happens; null for never. */
  readonly reviewAt: number | null;
};

export type ScaleUpConfig = Pick<EndpointConfig, "workersMin" | "workersMax" | "scalerType" | "scalerValue">;

/** The desired number under a load: within workersMin and workersMax, and never less than before. */
export function planScaleUp(load: Load, state: ScaleState, config: ScaleUpConfig, now: number): ScaleUp {
  const clamp = (workers: number) => Math.min(Math.max(workers, config.workersMin), config.workersMax);
  const { asked, reviewAt } =
    config.scalerType === "REQUEST_COUNT"
      ? { asked: workersByCount(load, config.scalerValue), reviewAt: null }
      : workersByDelay(load, state, config, now);
  return { desired: clamp(Math.max(state.desired, asked)), floor: clamp(asked), reviewAt };
}

/** Low-priority jobs count only while they occupy workers for which normal ones wait. */
function workersByCount(load: Load, perWorker: number): number {
  const running = load.normalQueued > 0 ? load.running : load.normalRunning;
  return Math.ceil((load.normalQueued + running) / Math.max(1, perWorker));
}

/**
 * The first worker is added at once. When a job has waited for scalerValue seconds the desired number doubles, and
 * again after as many seconds, but never beyond what leaves no job waiting. A busy worker may take no more jobs long
 * before it has as many as others, for example because one of its handlers does not stop.
 */
function workersByDelay(load: Load, { desired, grownAt }: ScaleState, config: ScaleUpConfig, now: number) {
  if (load.oldestQueuedAt === null) return { asked: 0, reviewAt: null };
  const { normalQueued, running, jobsPerWorker, busyWorkers } = load;
  const full = Math.ceil((normalQueued + running) / jobsPerWorker);
  const enough = Math.max(full, busyWorkers + Math.ceil(normalQueued / jobsPerWorker));
  const most = Math.min(enough, config.workersMax);
  const delayMs = scaleUpDelayMs(config);
  const dueAt = Math.max(load.oldestQueuedAt, grownAt) + delayMs;
  const isGrowing = desired === 0 || (desired < most && now >= dueAt);
  const asked = isGrowing ? Math.max(1, Math.min(2 * desired, enough)) : desired;
  if (asked >= most) return { asked, reviewAt: null };
  return { asked, reviewAt: isGrowing ? now + delayMs : dueAt };
}

/** How long a job may wait before workers are added, in ms. */
export function scaleUpDelayMs({ scalerValue }: Pick<ScaleUpConfig, "scalerValue">): number {
  return Math.max(1, scalerValue) * 1_000;
}

export type WorkerSetSample = {
  readonly workers: readonly WorkerSample[];
  readonly desired: number;
  readonly floor: number;
  /** A job of either priority waits. */
  readonly hasWaitingJobs: boolean;
  /** Since when there is no job at all; null while there is one. */
  readonly idleSinceAt: number | null;
  /** When workers were last scaled down. */
  readonly leftAt: number;
  /** Others wait for what these workers take: they leave as soon as they are free and not needed. */
  readonly givingWay?: ReadonlySet<string>;
};

export type ScaleDown = {
  readonly desired: number;
  /** Free workers to remove now. */
  readonly leaving: readonly string[];
  /** Busy workers above workersMax: they get no more jobs and are removed after those they have. */
  readonly draining: readonly string[];
  readonly reviewAt: number | null;
};

export type ScaleDownConfig = Pick<EndpointConfig, "workersMax" | "idleTimeoutSeconds">;

/**
 * Workers above workersMax are removed at once. Others are removed when they were free for idleTimeout and nothing
 * waits: one at a time, or one in SCALE_DOWN_SHARE of many. Desired workers without a place are given up first, then
 * those that are not ready.
 */
export function planScaleDown(sample: WorkerSetSample, config: ScaleDownConfig, now: number): ScaleDown {
  const { workers, desired, floor } = sample;
  const surplus = workers.length - config.workersMax;
  if (surplus > 0) return removeSurplus(workers, surplus, config.workersMax);

  const stay = { desired: Math.max(desired, workers.length), leaving: [], draining: [] };
  if (sample.hasWaitingJobs || stay.desired <= floor) return { ...stay, reviewAt: null };
  const givingWay = workers
    .filter(({ workerId, jobs }) => jobs === 0 && sample.givingWay?.has(workerId))
    .slice(0, Math.max(0, workers.length - floor));
  if (givingWay.length > 0) return without(givingWay, { ...sample, desired: stay.desired }, config);
  const reviewAt = nextScaleDownAt({ ...sample, desired: stay.desired }, config);
  if (reviewAt === null || now < reviewAt) return { ...stay, reviewAt };

  const isDue = (worker: WorkerSample) => !worker.isReady || now >= worker.freeSinceAt + timeoutOf(config);
  const due = workers.filter((worker) => worker.jobs === 0 && isDue(worker)).toSorted(leastUsefulFirst);
  const spare = Math.max(0, workers.length - floor);
  const leaving = due.slice(0, Math.min(Math.ceil(due.length / SCALE_DOWN_SHARE), spare));
  return without(leaving, { ...sample, desired: workers.length, leftAt: now }, config);
}

/** These workers leave, and the desired number falls by them: to the workers that remain, and those without a place. */
function without(
  leaving: readonly WorkerSample[],
  sample: WorkerSetSample,
  config: ScaleDownConfig,
): ScaleDown {
  const workers = sample.workers.filter((worker) => !leaving.includes(worker));
  const desired = Math.max(sample.floor, sample.desired - leaving.length);
  const rest = { ...sample, workers, desired };
  return {
    desired,
    leaving: idsOf(leaving),
    draining: [],
    reviewAt: desired > sample.floor ? nextScaleDownAt(rest, config) : null,
  };
}

/** When the next worker may be removed if nothing happens until then. */
function nextScaleDownAt(
  { workers, desired, idleSinceAt, leftAt }: WorkerSetSample,
  config: ScaleDownConfig,
): number | null {
  const free = workers.filter(({ jobs }) => jobs === 0);
  const since = free.filter(({ isReady }) => isReady).map(({ freeSinceAt }) => freeSinceAt);
  const isShort = desired > workers.length || free.some(({ isReady }) => !isReady);
  if (isShort && idleSinceAt !== null) since.push(idleSinceAt);
  if (since.length === 0) return null;
  return Math.max(Math.min(...since) + timeoutOf(config), leftAt + SCALE_DOWN_INTERVAL_MS);
}

function timeoutOf({ idleTimeoutSeconds }: ScaleDownConfig): number {
  return idleTimeoutSeconds * 1_000;
}

function removeSurplus(workers: readonly WorkerSample[], surplus: number, workersMax: number): ScaleDown {
  const chosen = workers.toSorted(leastUsefulFirst).slice(0, surplus);
  return {
    desired: workersMax,
    leaving: idsOf(chosen.filter(({ jobs }) => jobs === 0)),
    draining: idsOf(chosen.filter(({ jobs }) => jobs > 0)),
    reviewAt: null,
  };
}

/** Free ones before busy ones, draining ones and those not ready before others, then the longest free. */
function leastUsefulFirst(a: WorkerSample, b: WorkerSample): number {
  return (
    Number(a.jobs > 0) - Number(b.jobs > 0) ||
    Number(b.isDraining) - Number(a.isDraining) ||
    Number(a.isReady) - Number(b.isReady) ||
    a.jobs - b.jobs ||
    a.freeSinceAt - b.freeSinceAt
  );
}

function idsOf(workers: readonly WorkerSample[]): readonly string[] {
  return workers.map(({ workerId }) => workerId);
}
