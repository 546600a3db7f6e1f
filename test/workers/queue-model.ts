/**
 * A small model of the queue: what its clients must be told, computed from all jobs by plain lists. It knows
 * nothing of rows, lanes of sequence numbers, checkpoints or memory that may be lost.
 */
import { BATCH_RETENTION_MS } from "../../src/endpoint/batches/batch-index.ts";
import { LEASE_MS } from "../../src/endpoint/queue/queue.ts";
import { RESCUE_LIMIT, RUN_RETENTION_MS, RUNSYNC_RETENTION_MS } from "../../src/domain/jobs/job-machine.ts";

export type ModelBatch = { id: string; total: number; completed: number };

export type ModelJob = {
  id: string;
  key: string;
  isSync: boolean;
  isLowPriority: boolean;
  status: "IN_QUEUE" | "IN_PROGRESS" | "COMPLETED" | "FAILED" | "CANCELLED" | "TIMED_OUT";
  attempt: number;
  rescues: number;
  retries: number;
  expiresAt: number;
  executionTimeoutMs: number;
  /** When the running attempt times out. */
  timeoutAt: number;
  leaseUntil: number;
  removeAt: number;
  batch: ModelBatch | null;
  /** It was queued again and goes before those never taken. */
  isRequeued: boolean;
  progress: string | null;
  stream: { position: number; attempt: number; value: string }[];
  /** Position of the last chunk that ever came, and of the last one drained. */
  lastPosition: number;
  drained: number;
  /** Chunks of the newest attempt that yielded. */
  streamAttempt: number;
  received: number;
};

export type NewJob = Pick<
  ModelJob,
  "id" | "key" | "isSync" | "isLowPriority" | "expiresAt" | "executionTimeoutMs"
> & { readonly batch?: ModelBatch };

export class QueueModel {
  readonly jobs: ModelJob[] = [];
  readonly batches: ModelBatch[] = [];
  completed = 0;
  failed = 0;
  retried = 0;
  turn = 0;
  /** Leases get their full time again when the object wakes. */
  isAsleep = false;
  isProgressKnown = true;

  // What there is

  /** Jobs that a client can still ask for. */
  visible(now: number): ModelJob[] {
    return this.jobs.filter((job) => now < job.expiresAt && now < job.removeAt);
  }

  /** Jobs that are gone for clients, but may not be swept yet. */
  unswept(now: number): number {
    return this.jobs.length - this.visible(now).length;
  }

  count(status: ModelJob["status"], now: number): number {
    return this.visible(now).filter((job) => job.status === status).length;
  }

  running(now: number): ModelJob[] {
    return this.visible(now).filter((job) => job.status === "IN_PROGRESS");
  }

  /** Jobs of one priority in the order in which workers get them. */
  queue(isLowPriority: boolean, now: number): ModelJob[] {
    const waiting = this.visible(now).filter(
      (job) => job.status === "IN_QUEUE" && job.isLowPriority === isLowPriority,
    );
    return [...waiting.filter((job) => job.isRequeued), ...waiting.filter((job) => !job.isRequeued)];
  }

  // What happens

  add(job: NewJob): ModelJob {
    const added: ModelJob = {
      ...job,
      batch: job.batch ?? null,
      status: "IN_QUEUE",
      attempt: 0,
      rescues: 0,
      retries: 0,
      timeoutAt: 0,
      leaseUntil: 0,
      removeAt: Number.POSITIVE_INFINITY,
      isRequeued: false,
      progress: null,
      stream: [],
      lastPosition: 0,
      drained: 0,
      streamAttempt: 0,
      received: 0,
    };
    this.jobs.push(added);
    return added;
  }

  /** Every call wakes the object, if it slept. */
  wake(now: number): void {
    if (!this.isAsleep) return;
    this.isAsleep = false;
    for (const job of this.jobs) job.leaseUntil = now + LEASE_MS;
  }

  claim(job: ModelJob, now: number): void {
    job.status = "IN_PROGRESS";
    job.attempt += 1;
    job.isRequeued = false;
    job.timeoutAt = now + job.executionTimeoutMs;
    job.leaseUntil = now + LEASE_MS;
  }

  end(job: ModelJob, status: "COMPLETED" | "FAILED" | "CANCELLED" | "TIMED_OUT", now: number): void {
    job.status = status;
    job.progress = null;
    job.removeAt = now + retentionOf(job);
    if (job.batch && status === "COMPLETED") job.batch.completed += 1;
    if (status === "COMPLETED") this.completed += 1;
    if (status === "FAILED" || status === "TIMED_OUT") this.failed += 1;
  }

  /** What waits is cancelled all at once; what was never taken is not kept longer for its batch. */
  purge(now: number): void {
    for (const job of [...this.queue(false, now), ...this.queue(true, now)]) {
      this.end(job, "CANCELLED", now);
      if (!job.isRequeued) job.removeAt = Math.min(job.removeAt, now + RUN_RETENTION_MS);
    }
  }

  /** The attempt is over without a result; `isBlamed` when its worker was lost. */
  requeue(job: ModelJob, isBlamed: boolean, now: number): void {
    if (isBlamed && job.rescues === RESCUE_LIMIT) return this.end(job, "FAILED", now);
    job.status = "IN_QUEUE";
    job.isRequeued = true;
    job.progress = null;
    if (!isBlamed) return;
    job.rescues += 1;
    job.retries += 1;
    this.retried += 1;
  }

  retry(job: ModelJob): void {
    job.status = "IN_QUEUE";
    job.isRequeued = true;
    job.rescues = 0;
    job.retries += 1;
    job.removeAt = Number.POSITIVE_INFINITY;
    this.retried += 1;
    Object.assign(job, { stream: [], lastPosition: 0, drained: 0, streamAttempt: 0, received: 0 });
  }

  /** Takes chunks numbered from `from`; returns the number up to which all are there. */
  yieldChunks(job: ModelJob, from: number, values: readonly string[]): number {
    const received = job.streamAttempt === job.attempt ? job.received : 0;
    const fresh = from > received + 1 ? [] : values.slice(received + 1 - from);
    if (fresh.length === 0) return received;
    if (job.streamAttempt !== job.attempt) job.stream = [];
    job.streamAttempt = job.attempt;
    job.received = received + fresh.length;
    for (const value of fresh) {
      job.lastPosition += 1;
      job.stream.push({ position: job.lastPosition, attempt: job.attempt, value });
    }
    return job.received;
  }

  drain(job: ModelJob): string[] {
    const fresh = job.stream.filter(({ position }) => position > job.drained);
    job.drained = fresh.at(-1)?.position ?? job.drained;
    return fresh.map(({ value }) => value);
  }

  /** What is due ends. */
  sweep(now: number): void {
    for (const job of this.running(now)) {
      if (job.timeoutAt <= now) this.end(job, "TIMED_OUT", now);
      else if (job.leaseUntil <= now) this.requeue(job, true, now);
    }
  }
}

function retentionOf({ isSync, batch }: ModelJob): number {
  if (batch) return BATCH_RETENTION_MS;
  return isSync ? RUNSYNC_RETENTION_MS : RUN_RETENTION_MS;
}
