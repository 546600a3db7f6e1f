/**
 * The timeline of a job: what happened to it and when, in ms of the edge's clock.
 *
 * Most of it follows from the members of the job. The rest, which is the attempts that are over, is in
 * its trace and is written along with what ends an attempt, so a timeline costs no row.
 */
import type { TimelineEvent } from "../../contract/job.ts";
import { isFinal, type StoredJob, type JobEvent } from "./job-machine.ts";
import { wireStatusOf } from "./job-view.ts";
import { type ColdStart, coldStartOf } from "./cold-start.ts";
import { JITTER_MS, type WorkerStart } from "./worker-start.ts";

/** What agents report of an attempt; null for unknown times. */
export type AttemptTimes = {
  readonly handlerStartedAt: number | null;
  readonly handlerFinishedAt: number | null;
  readonly workerStart: WorkerStart | null;
  /** When the host of the worker was chosen. */
  readonly placedAt?: number | undefined;
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

/** The start of a worker that the last attempt of a job waited for; null where there was none. */
export function coldStartOfJob(job: StoredJob): ColdStart | null {
  if (job.trace?.includes(WORKER_READY) !== true) return null; // a look at the text is cheaper than to parse it
  return coldStartIn(readTrace(job), job.queuedAt);
}

/** The same from the timeline of a job that was queued last at `queuedAt`. */
export function coldStartIn(events: readonly TimelineEvent[], queuedAt: number): ColdStart | null {
  const last = events.findLastIndex(({ event }) => event === "requeued" || event === "retried");
  return coldStartOf(Object.fromEntries(stepsIn(events.slice(last + 1))), queuedAt);
}

/** The same of a request that waited since `since` and that the worker got at `takenAt`. */
export function coldStartBy(
  worker: Pick<AttemptTimes, "workerStart" | "placedAt">,
  since: number,
  takenAt: number,
): ColdStart | null {
  return coldStartOf(Object.fromEntries(stepsIn(startEvents(worker, since))), since, takenAt);
}

function stepsIn(events: readonly TimelineEvent[]): readonly (readonly [string, number])[] {
  return events.flatMap(({ event, at }) => (STEP_OF.has(event) ? [[`${STEP_OF.get(event)}At`, at]] : []));
}

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
  const handler = inOrder([
    ...eventAt("handler_started", times.handlerStartedAt),
    ...eventAt("handler_finished", times.handlerFinishedAt),
  ]).map((event) => ({ ...event, at: Math.max(event.at, taken.at), attempt }));
  const start = startEvents(times, readTrace(job).at(-1)?.at ?? job.createdAt)
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

const WORKER_READY: TimelineEvent["event"] = "worker_ready";

/** What is fetched before a container starts. */
const FETCHED = [
  ["pullStarted", "image_pull_started", "pullEnded", "image_pull_ended"],
  ["filesStarted", "files_download_started", "filesEnded", "files_download_ended"],
  ["modelsStarted", "model_download_started", "modelsEnded", "model_download_ended"],
] as const;
const STEPS = [
  ["containerStarting", "container_starting"],
  ["containerStarted", "container_started"],
  ["runtimeStarted", "runtime_started"],
  ["ready", WORKER_READY],
] as const;
const STEP_OF: ReadonlyMap<TimelineEvent["event"], string> = new Map<TimelineEvent["event"], string>([
  ["worker_placed", "placed"],
  ...FETCHED.flatMap(([started, startEvent, ended, endEvent]) => {
    return [[startEvent, started] as const, [endEvent, ended] as const];
  }),
  ...STEPS.map(([step, event]) => [event, step] as const),
]);

/** The start of a worker, as far as the job may have waited for it: what ended before `since` is left out. */
function startEvents(
  { workerStart: start, placedAt }: Pick<AttemptTimes, "workerStart" | "placedAt">,
  since: number,
): TimelineEvent[] {
  if (!start) return [];
  const fetched = FETCHED.filter(([, , ended]) => (start[`${ended}At`] ?? 0) > since).flatMap(
    ([started, startEvent, ended, endEvent]) => [
      ...eventAt(startEvent, start[`${started}At`]),
      ...eventAt(endEvent, start[`${ended}At`]),
    ],
  );
  const steps = inOrder(STEPS.flatMap(([step, event]) => eventAt(event, start[`${step}At`])));
  const events = [...fetched, ...steps.filter(({ at }) => at > since)];
  const placed = start.assignedAt == null || events.length === 0 ? [] : eventAt("worker_placed", placedAt);
  return [...placed, ...events];
}

/** A step that came with a slow report, or was rounded, may seem later than the next one. */
function inOrder(events: readonly TimelineEvent[]): readonly TimelineEvent[] {
  let next = Number.POSITIVE_INFINITY;
  return events
    .toReversed()
    .map((event) => ({ ...event, at: (next = Math.min(next, event.at)) }))
    .toReversed();
}

function eventAt(event: TimelineEvent["event"], at: number | null | undefined): TimelineEvent[] {
  return at == null ? [] : [{ event, at }];
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
