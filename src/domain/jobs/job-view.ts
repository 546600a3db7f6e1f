/** Jobs as clients see them: the one mapping of job states to wire statuses. */
import type { JobView, QueueView, RequestRow } from "../../contract/job.ts";
import type { WireStatus } from "../../contract/job-status.ts";
import { JOB_STATES, type StoredJob, type JobState, type Payload } from "./job-machine.ts";

const WIRE_STATUS: Record<JobState, WireStatus> = {
  queued: "IN_QUEUE",
  running: "IN_PROGRESS",
  completed: "COMPLETED",
  failed: "FAILED",
  cancelled: "CANCELLED",
  timed_out: "TIMED_OUT",
};

export type ViewExtras = {
  readonly progress: Payload | null;
  readonly queue: QueueView | null;
  /** Times of a job that has not ended are measured up to now. */
  readonly now: number;
};

/**
 * Encodes a job. Both times are integers in every state; strict clients also want a worker id on every reply but a
 * waiting one, so a job without a worker has "".
 */
export function viewJob(
  id: string,
  job: StoredJob,
  { progress, queue, now }: ViewExtras,
): JobView<Payload | null> {
  const view = { id, status: WIRE_STATUS[job.state], ...timesOf(job, now) };
  if (job.state === "queued") return { ...view, ...(queue && { queue }), ...retriesOf(job), output: null };
  const base = { ...view, workerId: job.workerId ?? "" };
  if (job.state === "running") return { ...base, ...retriesOf(job), output: progress };
  return {
    ...base,
    ...(job.error !== null && { error: job.error }),
    ...retriesOf(job),
    output: job.output,
  };
}

/** Milliseconds of waiting and of execution; a job that never had a worker was not executed. */
function timesOf(
  job: StoredJob,
  now: number,
): { readonly delayTime: number; readonly executionTime: number } {
  const endedAt = job.finishedAt ?? Math.max(now, job.startedAt ?? job.queuedAt);
  const startedAt = job.state === "queued" ? endedAt : (job.startedAt ?? endedAt);
  return { delayTime: startedAt - job.queuedAt, executionTime: endedAt - startedAt };
}

/** A job as a row of `requests`. */
export function listJob(id: string, job: StoredJob, now: number): RequestRow {
  const extras = { progress: null, queue: null, now };
  const { queue: _, retries: __, output: ___, ...view } = viewJob(id, job, extras);
  return {
    ...view,
    createdAt: job.createdAt,
    ...(job.startedAt !== null && { startedAt: job.startedAt }),
    ...(job.finishedAt !== null && { completedAt: job.finishedAt }),
  };
}

const STATE_OF = new Map(JOB_STATES.map((state) => [WIRE_STATUS[state], state]));

export function stateOf(status: WireStatus): JobState {
  return STATE_OF.get(status) ?? "queued";
}

export function wireStatusOf(state: JobState): WireStatus {
  return WIRE_STATUS[state];
}

function retriesOf(job: StoredJob): { retries?: number } {
  return job.retries > 0 ? { retries: job.retries } : {};
}
