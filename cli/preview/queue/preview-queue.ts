/**
 * The jobs of one endpoint of a preview, in memory: what the service's queue is to a deployed one.
 *
 * L1  An attempt is open from its claim to its report, or until nobody wants it.
 */
import { randomUUID } from "node:crypto";
import type { ReceivedAttempt } from "../../../node-agent/journal/attempt-ledger.ts";
import type { AttemptRecord, AttemptRef } from "../../../node-agent/journal/journal.ts";
import type { AttemptOutcome } from "../../../node-agent/journal/report.ts";
import type { JobLedger } from "../../../node-agent/worker/queue/worker-jobs.ts";
import type { QueueView, RequestsPage, WireStatus } from "../../../src/contract/job.ts";
import { TTL_DEFAULT_MS } from "../../../src/contract/limits.ts";
import {
  isFinal,
  type JobEvent,
  newExpiry,
  type Payload,
  queuedJob,
  retentionOf,
} from "../../../src/domain/jobs/job-machine.ts";
import { type JobView, listJob, viewJob, wireStatusOf } from "../../../src/domain/jobs/job-view.ts";
import { type JobEffects, type PreviewJob, PreviewJobs, type PreviewRequest } from "./preview-jobs.ts";

/** Where a claimed job runs; the domain tells handlers to stop by it. */
const HOST_ID = "preview";

export type PreviewQueueOptions = JobEffects & {
  readonly endpointId: string;
  readonly executionTimeoutMs: number;
  /** Why a job waits that has so many before it. */
  readonly explainWait: (position: number) => QueueView;
  readonly now?: () => number;
};

export type ClaimedJob = { readonly record: AttemptRecord; readonly job: ReceivedAttempt["job"] };

export class PreviewQueue implements JobLedger {
  readonly #options: PreviewQueueOptions;
  readonly #now: () => number;
  readonly #jobs: PreviewJobs;
  readonly #open = new Set<string>();
  #retried = 0;

  constructor(options: PreviewQueueOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#jobs = new PreviewJobs(options, this.#now);
  }

  // For clients

  /** `key`: the same one gives the same job. */
  submit(
    request: PreviewRequest,
    how: { readonly isSync: boolean; readonly waitMs: number | null; readonly key?: string | undefined },
  ): string {
    const { policy } = request;
    const known = this.#jobs.all().find(({ key }) => key !== undefined && key === how.key);
    if (known) return known.id;
    const id = `${how.isSync ? "sync-" : ""}${randomUUID()}-s0`;
    const job = queuedJob(
      {
        isSync: how.isSync,
        executionTimeoutMs: policy?.executionTimeout ?? this.#options.executionTimeoutMs,
        retentionMs: retentionOf(how.isSync, how.waitMs),
        ttlMs: policy?.ttl ?? TTL_DEFAULT_MS,
      },
      this.#now(),
    );
    const isLowPriority = policy?.lowPriority ?? false;
    this.#jobs.add({ id, key: how.key, isLowPriority, request, job });
    return id;
  }

  /** The job as it stands; undefined when there is none. */
  view(id: string): JobView | undefined {
    const entry = this.#jobs.find(id);
    if (!entry) return undefined;
    const isQueued = entry.job.state === "queued";
    const queue = isQueued ? this.#options.explainWait(this.#jobs.waiting().indexOf(entry)) : null;
    return viewJob(id, entry.job, { progress: entry.progress, queue, now: Date.now() });
  }

  hasEnded(id: string): boolean {
    const entry = this.#jobs.find(id);
    return !entry || isFinal(entry.job.state);
  }

  /** Resolves with the next change of the job, at the signal, or after that time. */
  async change(id: string, signal?: AbortSignal, withinMs?: number): Promise<void> {
    await this.#jobs.change(id, signal, withinMs);
  }

  /** What no earlier call got of what the handler has yielded, as JSON texts. */
  drain(id: string): { readonly status: WireStatus; readonly outputs: readonly string[] } | undefined {
    const entry = this.#jobs.find(id);
    if (!entry) return undefined;
    const outputs = entry.chunks.slice(entry.drained);
    entry.drained = entry.chunks.length;
    return { status: wireStatusOf(entry.job.state), outputs };
  }

  /** Ends a job; one that has ended stays as it is. */
  cancel(id: string): WireStatus | undefined {
    const entry = this.#jobs.find(id);
    if (!entry) return undefined;
    this.#jobs.move(entry, { kind: "cancel" });
    return wireStatusOf(entry.job.state);
  }

  /** Queues a failed job again. */
  retry(id: string): { readonly isDone: boolean; readonly status: WireStatus } | undefined {
    const entry = this.#jobs.find(id);
    if (!entry) return undefined;
    const isDone = this.#jobs.move(entry, { kind: "retry" });
    if (isDone) this.#retried += 1;
    return { isDone, status: wireStatusOf(entry.job.state) };
  }

  /** Cancels what waits; says how many. */
  purge(): number {
    const waiting = this.#jobs.waiting();
    for (const entry of waiting) this.#jobs.move(entry, { kind: "cancel" });
    return waiting.length;
  }

  expireIn(id: string, ttlMs: number): void {
    const entry = this.#jobs.find(id);
    if (entry) entry.job = { ...entry.job, expiresAt: newExpiry(entry.job, ttlMs, this.#now()) };
  }

  /** The newest first. */
  list(query: {
    readonly status?: WireStatus | undefined;
    readonly offset: number;
    readonly limit: number;
  }): RequestsPage {
    const { status, offset, limit } = query;
    const found = this.#jobs
      .all()
      .filter(({ job }) => status === undefined || wireStatusOf(job.state) === status)
      .toReversed();
    const page = found.slice(offset, offset + limit);
    return {
      requests: page.map(({ id, job }) => listJob(id, job, Date.now())),
      total: found.length,
      offset,
      limit,
      hasMore: offset + page.length < found.length,
    };
  }

  counts(): Readonly<Record<"completed" | "failed" | "inProgress" | "inQueue" | "retried", number>> {
    return { ...this.#jobs.counts(), retried: this.#retried };
  }

  // For the worker

  /** At most so many of the jobs that wait, normal ones first. */
  claim(workerId: string, count: number): ClaimedJob[] {
    return this.#jobs
      .waiting()
      .slice(0, Math.max(0, count))
      .map((entry) => this.#claim(entry, workerId));
  }

  abandon(jobId: string, attempt: number): boolean {
    return this.#open.delete(keyOf({ jobId, attempt }));
  }

  async report(ref: AttemptRef, outcome: AttemptOutcome): Promise<boolean> {
    if (!this.#open.delete(keyOf(ref))) return false;
    const entry = this.#jobs.find(ref.jobId);
    if (entry) this.#jobs.move(entry, eventOf(ref.attempt, outcome));
    return true;
  }

  recordStart(): void {}

  recordProgress(ref: AttemptRef, progress: string): boolean {
    return this.#note(ref, (entry) => {
      entry.progress = { kind: "inline", json: progress };
    });
  }

  recordChunk(ref: AttemptRef, output: string): boolean {
    return this.#note(ref, (entry) => void entry.chunks.push(output));
  }

  isOpen(ref: Pick<AttemptRef, "jobId" | "attempt">): boolean {
    return this.#open.has(keyOf(ref));
  }

  writeErrorOf(): undefined {
    return undefined;
  }

  // How

  #claim(entry: PreviewJob, workerId: string): ClaimedJob {
    const { id, request } = entry;
    this.#jobs.move(entry, { kind: "claim", workerId, hostId: HOST_ID });
    Object.assign(entry, { progress: null, chunks: [], drained: 0 });
    const { attempt, executionTimeoutMs } = entry.job;
    const { endpointId } = this.#options;
    this.#open.add(keyOf({ jobId: id, attempt }));
    return {
      record: { jobId: id, attempt, workerId, endpointId, receivedAt: this.#now(), executionTimeoutMs },
      job: {
        ...{ id, attempt, workerId, executionTimeoutMs, input: request.input },
        ...optionsOf(request),
      },
    };
  }

  #note(ref: AttemptRef, change: (entry: PreviewJob) => void): boolean {
    const entry = this.isOpen(ref) ? this.#jobs.find(ref.jobId) : undefined;
    if (!entry) return false;
    change(entry);
    this.#jobs.changed(entry.id);
    return true;
  }
}

/** What the handler sees of a job beside its input; what is not there is left out. */
function optionsOf({
  webhook,
  policy,
  s3Config,
}: PreviewRequest): Pick<ReceivedAttempt["job"], "webhook" | "policy" | "s3Config"> {
  const options = {
    webhook: webhook ?? undefined,
    policy: policy ?? undefined,
    s3Config: s3Config?.json,
  };
  return JSON.parse(JSON.stringify(options)) as ReturnType<typeof optionsOf>;
}

function eventOf(attempt: number, outcome: AttemptOutcome): JobEvent {
  switch (outcome.kind) {
    case "completed":
      return { kind: "complete", attempt, output: payloadOf(outcome.output) };
    case "failed":
      return { kind: "fail", attempt, error: outcome.error, output: payloadOf(outcome.output) };
    case "timed_out":
      return { kind: "timeOut", attempt };
    case "lost":
      return { kind: "rescue", attempt, reason: outcome.reason };
  }
}

function payloadOf(output: string | undefined): Payload | null {
  return output === undefined ? null : { kind: "inline", json: output };
}

function keyOf({ jobId, attempt }: Pick<AttemptRef, "jobId" | "attempt">): string {
  return `${jobId} ${attempt}`;
}
