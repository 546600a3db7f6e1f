/** The one place where job states become the words of the wire. */
import type { JobReply, QueueView, RequestRow, WireStatus } from "../contract/job.ts";
import { JOB_STATES, type Job, type JobState, type Payload } from "./job-machine.ts";

const WIRE_STATUS: Record<JobState, WireStatus> = {
  queued: "IN_QUEUE",
  running: "IN_PROGRESS",
  completed: "COMPLETED",
  failed: "FAILED",
  cancelled: "CANCELLED",
  timed_out: "TIMED_OUT",
};

/** A job as its reader sees it; `output` is a payload whose JSON text is spliced in at the rim. */
export type JobView = JobReply & { readonly output: Payload | null };

export type ViewExtras = { readonly progress: Payload | null; readonly queue: QueueView | null };

/**
 * Encodes a job. Strict clients want integer times and a worker id on every reply but a waiting one,
 * so a job that no worker ever had says "" and 0.
 */
export function viewJob(id: string, job: Job, extras: ViewExtras): JobView {
  const status = WIRE_STATUS[job.state];
  if (job.state === "queued") {
    return { id, status, ...(extras.queue && { queue: extras.queue }), ...retriesOf(job), output: null };
  }
  const startedAt = job.startedAt ?? job.finishedAt ?? job.queuedAt;
  const base = { id, status, delayTime: startedAt - job.queuedAt, workerId: job.workerId ?? "" };
  if (job.state === "running") return { ...base, ...retriesOf(job), output: extras.progress };
  return {
    ...base,
    executionTime: (job.finishedAt ?? startedAt) - startedAt,
    ...(job.error !== null && { error: job.error }),
    ...retriesOf(job),
    output: job.output,
  };
}

/** A job as a row of `requests`. */
export function listJob(id: string, job: Job): RequestRow {
  const { queue: _, retries: __, output: ___, ...view } = viewJob(id, job, { progress: null, queue: null });
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

function retriesOf(job: Job): { retries?: number } {
  return job.retries > 0 ? { retries: job.retries } : {};
}
