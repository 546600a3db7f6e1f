/**
 * The timeline of a job: what happened to it and when, in ms of the edge's clock.
 *
 * Most of it follows from the members of the job. The rest, which is the attempts that are over, is in
 * its trace and is written along with what ends an attempt, so a timeline costs no row.
 */
import type { TimelineEvent } from "../../contract/job.ts";
import { isFinal, type StoredJob, type JobEvent } from "./job-machine.ts";
import { wireStatusOf } from "./job-view.ts";

/** When a worker came up; null for what did not happen or is not known. */
export type WorkerStart = {
  readonly pullStartedAt: number | null;
  readonly pullEndedAt: number | null;
  readonly containerStartedAt: number | null;
  readonly readyAt: number | null;
};

/** What agents report of an attempt; null for unknown times. */
export type AttemptTimes = {
  readonly handlerStartedAt: number | null;
  readonly handlerFinishedAt: number | null;
  readonly workerStart: WorkerStart | null;
  /** Dollars per hour of the worker. */
  readonly perHour?: number | undefined;
  /** How long the worker started; absent when another job has caused that. */
  readonly startingMs?: number | undefined;
};

export const UNKNOWN_TIMES: AttemptTimes = {
  handlerStartedAt: null,
  handlerFinishedAt: null,
  workerStart: null,
};

/** A job that is retried for ever keeps its newest events. */
const TRACE_MAX_EVENTS = 200;

/** Two reports of one moment differ by what their ways took, and a report may come later than what follows it. */
const JITTER_MS = 2_000;

/** The start of a worker after a report of it: a time changes only when its event happened again. */
export function mergeStart(stored: WorkerStart | null, reported: WorkerStart | null): WorkerStart | null {
  if (!stored || !reported) return stored ?? reported;
  const latest = (key: keyof WorkerStart) => {
    const [before, now] = [stored[key], reported[key]];
    return now !== null && (before === null || now > before + JITTER_MS) ? now : before;
  };
  const merged: WorkerStart = {
    pullStartedAt: latest("pullStartedAt"),
    pullEndedAt: latest("pullEndedAt"),
    containerStartedAt: latest("containerStartedAt"),
    readyAt: latest("readyAt"),
  };
  return JSON.stringify(merged) === JSON.stringify(stored) ? stored : merged;
}

/** The trace of a job after a transition of it. */
export function extendTrace(
  before: StoredJob,
  event: JobEvent,
  times: AttemptTimes,
  now: number,
): string | null {
  const events = attemptEndEvents(before, event, times, now);
  if (events.length === 0) return before.trace;
  return JSON.stringify([...readTrace(before), ...events].slice(-TRACE_MAX_EVENTS));
}

/** All events of a job in their order; `beside` are those that others know of. */
export function timelineOf(
  job: StoredJob,
  times: AttemptTimes,
  beside: readonly TimelineEvent[] = [],
): TimelineEvent[] {
  const events: TimelineEvent[] = [{ event: "submitted", at: job.createdAt }, ...readTrace(job)];
  if (job.state === "running") events.push(...attemptEvents(job, times));
  if (isFinal(job.state)) events.push(endOf(job));
  return [...events, ...beside].toSorted((a, b) => a.at - b.at);
}

/**
 * How long the last attempt of a job waited for a worker that came up for it, in ms: from the begin of its start,
 * or from when the job was queued if that was later, until it was ready. Null for a worker that was up already.
 */
export function coldStartOf(job: StoredJob): number | null {
  if (job.trace?.includes(WORKER_READY) !== true) return null; // a look at the text is cheaper than to parse it
  const events = readTrace(job);
  const attempt = events.slice(
    events.findLastIndex(({ event }) => event === "requeued" || event === "retried") + 1,
  );
  const readyAt = attempt.find(({ event }) => event === "worker_ready")?.at;
  if (readyAt === undefined || readyAt <= job.queuedAt) return null;
  const startedAt = attempt.find(({ event }) => STARTING.has(event))?.at ?? job.queuedAt;
  return readyAt - Math.max(job.queuedAt, Math.min(startedAt, readyAt));
}

/** The same of a request that waited since `since` and that the worker got at `takenAt`. */
export function coldStartBy(start: WorkerStart | null, since: number, takenAt: number): number | null {
  const readyAt = start?.readyAt ?? null;
  if (readyAt === null || readyAt <= since || readyAt > takenAt + JITTER_MS) return null;
  const events = startEvents(start, since);
  const startedAt = events.find(({ event }) => STARTING.has(event))?.at ?? since;
  const endedAt = Math.min(readyAt, takenAt);
  return Math.max(0, endedAt - Math.max(since, startedAt));
}

const WORKER_READY: TimelineEvent["event"] = "worker_ready";
const STARTING: ReadonlySet<TimelineEvent["event"]> = new Set(["image_pull_started", "container_started"]);

function attemptEndEvents(
  before: StoredJob,
  event: JobEvent,
  times: AttemptTimes,
  now: number,
): TimelineEvent[] {
  if (event.kind === "retry") return [endOf(before), { event: "retried", at: now }];
  if (before.state !== "running") return [];
  const attempt = attemptEvents(before, times);
  const requeued = { event: "requeued", at: now, attempt: before.attempt } as const;
  if (event.kind === "undeliver") return [...attempt, { ...requeued, reason: UNDELIVERED }];
  if (event.kind === "rescue")
    return [...attempt, { ...requeued, reason: `The worker was lost: ${event.reason}` }];
  return attempt;
}

function attemptEvents(job: StoredJob, times: AttemptTimes): TimelineEvent[] {
  const { attempt } = job;
  const workerId = job.workerId ?? "";
  const taken = {
    event: "taken",
    at: job.startedAt ?? 0,
    attempt,
    workerId,
    hostId: job.hostId ?? "",
    ...costMembers(job, times),
  } as const;
  const handler = [
    ...eventAt("handler_started", times.handlerStartedAt),
    ...eventAt("handler_finished", times.handlerFinishedAt),
  ].map((event) => ({ ...event, attempt }));
  const start = startEvents(times.workerStart, readTrace(job).at(-1)?.at ?? job.createdAt)
    .filter(({ at }) => at <= taken.at + JITTER_MS) // what is later was another start of the worker
    .map((event) => ({ ...event, at: Math.min(event.at, taken.at), workerId }));
  return [...start, taken, ...handler];
}

function costMembers(
  job: StoredJob,
  { perHour, startingMs, workerStart }: AttemptTimes,
): Pick<TimelineEvent, "perHour" | "startingMs"> {
  const hasCaused = startingMs !== undefined && hasWaitedFor(job, workerStart);
  return { ...(perHour !== undefined && { perHour }), ...(hasCaused && { startingMs }) };
}

/** Whether the job was queued before the worker was ready. */
export function hasWaitedFor({ queuedAt }: Pick<StoredJob, "queuedAt">, start: WorkerStart | null): boolean {
  return (start?.readyAt ?? 0) > queuedAt;
}

/** The start of a worker, as far as the job may have waited for it: what ended before `since` is left out. */
function startEvents(start: WorkerStart | null, since: number): TimelineEvent[] {
  if (!start) return [];
  const pull =
    (start.pullEndedAt ?? 0) > since
      ? [
          ...eventAt("image_pull_started", start.pullStartedAt),
          ...eventAt("image_pull_ended", start.pullEndedAt),
        ]
      : [];
  const rest = [
    ...eventAt("container_started", start.containerStartedAt),
    ...eventAt("worker_ready", start.readyAt),
  ];
  return [...pull, ...rest.filter(({ at }) => at > since)];
}

function eventAt(event: TimelineEvent["event"], at: number | null): TimelineEvent[] {
  return at === null ? [] : [{ event, at }];
}

function endOf(job: StoredJob): TimelineEvent {
  const at = job.finishedAt ?? 0;
  if (job.state === "cancelled") return { event: "cancelled", at };
  return { event: "finished", at, status: wireStatusOf(job.state) };
}

function readTrace({ trace }: StoredJob): TimelineEvent[] {
  return trace === null ? [] : (JSON.parse(trace) as TimelineEvent[]);
}

const UNDELIVERED = "The job did not reach its worker.";
