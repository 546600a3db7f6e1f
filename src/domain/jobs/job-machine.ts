/**
 * The job machine: every change of a job goes through `transition`.
 *
 *              claim                    complete, fail, timeOut
 *   queued ------------> running -------------------------------> completed, failed, timed_out
 *     ^  ^                | | |  rescue, used up                        |
 *     |  +----------------+ | +-------------------> failed              |
 *     |   undeliver, rescue | cancel                                    |
 *     |                     v                                           |
 *     |  cancel ------> cancelled                                       |
 *     +------------------------------ retry (failed, timed_out) --------+
 *
 * M1  Only the current attempt of a running job can end it.
 * M2  A final state is left by retry alone, and only from failed and timed_out.
 * M3  Attempts only grow. Every claim is a new attempt.
 * M4  `finishedAt` and `removeAt` are set in final states and nowhere else.
 *
 * Expiry is no transition: when ttl or retention ends, the job is deleted, whatever its state.
 */
import { trimEndOf } from "../../net/trimming.ts";
import { TTL_MAX_MS } from "../../contract/limits.ts";
import type { StopReason } from "../../contract/agent/agent.ts";

/** How long results are stored, of `run` and of `runsync`. */
export const RUN_RETENTION_MS = 30 * 60_000;
export const RUNSYNC_RETENTION_MS = 60_000;
/** The result of a runsync that may wait longer is stored longer, up to this. */
export const RUNSYNC_RETENTION_MAX_MS = 5 * 60_000;
/** Dispatches after the first that a job gets when its worker is lost. */
export const RESCUE_LIMIT = 1;

export const JOB_STATES = ["queued", "running", "completed", "failed", "cancelled", "timed_out"] as const;
export type JobState = (typeof JOB_STATES)[number];
export type FinalState = Exclude<JobState, "queued" | "running">;

/** A value of the user: its JSON, or a reference to where that is stored. */
export type Payload =
  | { readonly kind: "inline"; readonly json: string }
  | {
      readonly kind: "stored";
      readonly key: string;
      readonly sizeBytes: number;
      /** Size of the stored object with trailing spaces; absent where there are none. */
      readonly objectBytes?: number;
    };

/** Size in bytes, of inline payloads in characters. */
export function sizeOf(payload: Payload): number {
  return payload.kind === "inline" ? payload.json.length : payload.sizeBytes;
}

/** Bytes that the payload takes beside the database. */
export function storedBytesOf(payload: Payload | null): number {
  return payload?.kind === "stored" ? (payload.objectBytes ?? payload.sizeBytes) : 0;
}

export type StoredJob = {
  readonly state: JobState;
  readonly isSync: boolean;
  readonly attempt: number;
  /** How often the job was queued again after its worker was lost or by retry. */
  readonly retries: number;
  /** Dispatches lost since the submission or the last retry. */
  readonly rescues: number;
  readonly createdAt: number;
  /** Start of the wait that delayTime measures: submission or last retry. */
  readonly queuedAt: number;
  readonly expiresAt: number;
  readonly executionTimeoutMs: number;
  /** How long the job is stored after it ended. */
  readonly retentionMs: number;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
  readonly removeAt: number | null;
  readonly workerId: string | null;
  readonly hostId: string | null;
  readonly output: Payload | null;
  readonly error: string | null;
  /** The parts of its timeline beyond the members above (see timeline.ts), as JSON; null without any. */
  readonly trace: string | null;
};

export type JobEvent =
  | { readonly kind: "claim"; readonly workerId: string; readonly hostId: string }
  | { readonly kind: "undeliver"; readonly attempt: number }
  | { readonly kind: "rescue"; readonly attempt: number; readonly reason: string }
  | { readonly kind: "complete"; readonly attempt: number; readonly output: Payload | null }
  | {
      readonly kind: "fail";
      readonly attempt: number;
      readonly error: string;
      readonly output: Payload | null;
    }
  | { readonly kind: "timeOut"; readonly attempt: number }
  | { readonly kind: "cancel" }
  | { readonly kind: "retry" };

/** Effects of a transition, which the object executes after the write. */
export type Effect =
  | { readonly kind: "settled" }
  | { readonly kind: "requeued" }
  | {
      readonly kind: "stopHandler";
      readonly hostId: string;
      readonly attempt: number;
      readonly reason: StopReason;
    };

export type RejectionReason =
  | "already_final"
  | "attempt_replaced"
  | "not_queued"
  | "not_running"
  | "not_retryable";

export type Transition =
  | { readonly kind: "moved"; readonly job: StoredJob; readonly effects: readonly Effect[] }
  | { readonly kind: "refused"; readonly reason: RejectionReason };

/** A submitted job. */
export function queuedJob(
  submitted: Pick<StoredJob, "isSync" | "executionTimeoutMs" | "retentionMs"> & { readonly ttlMs: number },
  now: number,
): StoredJob {
  return {
    state: "queued",
    isSync: submitted.isSync,
    attempt: 0,
    retries: 0,
    rescues: 0,
    createdAt: now,
    queuedAt: now,
    expiresAt: now + submitted.ttlMs,
    executionTimeoutMs: submitted.executionTimeoutMs,
    retentionMs: submitted.retentionMs,
    trace: null,
    ...NOTHING_YET,
  };
}

/** The members that a queued job lacks. */
const NOTHING_YET = {
  startedAt: null,
  finishedAt: null,
  removeAt: null,
  workerId: null,
  hostId: null,
  output: null,
  error: null,
} as const;

/** The job after `event` at `now`, or why the event is rejected. */
export function transition(job: StoredJob, event: JobEvent, now: number): Transition {
  switch (event.kind) {
    case "claim":
      return job.state === "queued" ? claimed(job, event.workerId, event.hostId, now) : refused("not_queued");
    case "cancel":
      return isFinal(job.state) ? refused("already_final") : cancelled(job, now);
    case "retry":
      return job.state === "failed" || job.state === "timed_out"
        ? retried(job, now)
        : refused("not_retryable");
    case "undeliver":
    case "rescue":
    case "complete":
    case "fail":
    case "timeOut":
      return checkAttempt(job, event.attempt) ?? endAttempt(job, event, now);
  }
}

export function isFinal(state: JobState): state is FinalState {
  return state !== "queued" && state !== "running";
}

/**
 * How long a job is stored after it ended: a runsync for as long as its client may wait for it (null: not given),
 * within bounds.
 */
export function retentionOf(isSync: boolean, waitMs: number | null): number {
  if (!isSync) return RUN_RETENTION_MS;
  return Math.min(Math.max(waitMs ?? 0, RUNSYNC_RETENTION_MS), RUNSYNC_RETENTION_MAX_MS);
}

/** The expiry of a job that gets a new ttl now; never later than the longest ttl after its creation. */
export function newExpiry(job: Pick<StoredJob, "createdAt">, ttlMs: number, now: number): number {
  return Math.min(now + ttlMs, job.createdAt + TTL_MAX_MS);
}

/** An expired job no longer exists for any reader, removed or not. */
export function isExpired(job: Pick<StoredJob, "expiresAt" | "removeAt">, now: number): boolean {
  return now >= job.expiresAt || (job.removeAt !== null && now >= job.removeAt);
}

// Guards

function checkAttempt(job: StoredJob, attempt: number): Transition | undefined {
  if (isFinal(job.state)) return refused("already_final");
  if (job.state !== "running") return refused("not_running");
  if (job.attempt !== attempt) return refused("attempt_replaced"); // M1
  return undefined;
}

function refused(reason: RejectionReason): Transition {
  return { kind: "refused", reason };
}

// Moves

function claimed(job: StoredJob, workerId: string, hostId: string, now: number): Transition {
  const next: StoredJob = {
    ...job,
    state: "running",
    attempt: job.attempt + 1,
    startedAt: Math.max(now, job.queuedAt), // the object may have moved to a server whose clock is behind
    workerId,
    hostId,
  };
  return { kind: "moved", job: next, effects: [] };
}

type AttemptEvent = Extract<JobEvent, { readonly attempt: number }>;

function endAttempt(job: StoredJob, event: AttemptEvent, now: number): Transition {
  switch (event.kind) {
    case "undeliver":
      return requeued(job, { rescues: job.rescues, retries: job.retries });
    case "rescue":
      return rescued(job, job.rescues + 1, event.reason, now);
    case "complete":
      return settled(job, "completed", now, { error: null, output: event.output });
    case "fail":
      return settled(job, "failed", now, { error: event.error, output: event.output });
    case "timeOut":
      return withStop(
        job,
        "timed_out",
        settled(job, "timed_out", now, { error: "executionTimeout exceeded", output: null }),
      );
  }
}

/** `rescues`: with the one that is lost now. */
function rescued(job: StoredJob, rescues: number, reason: string, now: number): Transition {
  if (rescues <= RESCUE_LIMIT) return requeued(job, { rescues, retries: job.retries + 1 });
  return settled({ ...job, rescues }, "failed", now, {
    error: lostTooOften(rescues, reason),
    output: null,
  });
}

/** Whether its last attempt was lost, which says nothing of the handler: its host may only have been silent. */
export function isLost({ rescues }: Pick<StoredJob, "rescues">): boolean {
  return rescues > RESCUE_LIMIT;
}

function requeued(job: StoredJob, counts: Pick<StoredJob, "rescues" | "retries">): Transition {
  const next: StoredJob = {
    ...job,
    ...counts,
    state: "queued",
    startedAt: null,
    workerId: null,
    hostId: null,
  };
  return { kind: "moved", job: next, effects: [{ kind: "requeued" }] };
}

function settled(
  job: StoredJob,
  state: JobState,
  now: number,
  result: Pick<StoredJob, "output" | "error">,
): Extract<Transition, { kind: "moved" }> {
  const finishedAt = Math.max(now, job.startedAt ?? job.queuedAt);
  const next: StoredJob = { ...job, ...result, state, finishedAt, removeAt: finishedAt + job.retentionMs };
  return { kind: "moved", job: next, effects: [{ kind: "settled" }] };
}

function cancelled(job: StoredJob, now: number): Transition {
  return withStop(job, "cancelled", settled(job, "cancelled", now, { error: null, output: null }));
}

function withStop(
  before: StoredJob,
  reason: StopReason,
  move: Extract<Transition, { kind: "moved" }>,
): Transition {
  if (before.hostId === null) return move;
  const stop: Effect = { kind: "stopHandler", hostId: before.hostId, attempt: before.attempt, reason };
  return { ...move, effects: [...move.effects, stop] };
}

function retried(job: StoredJob, now: number): Transition {
  const next: StoredJob = {
    ...job,
    ...NOTHING_YET,
    state: "queued",
    retries: job.retries + 1,
    rescues: 0,
    queuedAt: now,
  };
  return { kind: "moved", job: next, effects: [{ kind: "requeued" }] };
}

function lostTooOften(times: number, reason: string): string {
  return (
    `The worker was lost ${times} times while it ran this job; the last time: ${trimEndOf(reason, ".")}. ` +
    `The job was not tried again. See the endpoint's worker logs, then retry it.`
  );
}
