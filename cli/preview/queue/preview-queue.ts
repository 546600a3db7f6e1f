/**
 * The jobs of one endpoint of a preview, in memory: what the service's queue is to a deployed one. Jobs change as the
 * domain says.
 *
 * L1  An attempt is open from its claim to its report, or until nobody wants it.
 * L2  An expired job is gone for every reader from that moment on.
 */
import { randomUUID } from "node:crypto";
import { EventEmitter } from "node:events";
import type { ArrivedJob } from "../../../node-agent/edge/edge-client.ts";
import type { AttemptRecord, AttemptRef } from "../../../node-agent/journal/journal.ts";
import type { AttemptOutcome } from "../../../node-agent/journal/report.ts";
import type { JobLedger } from "../../../node-agent/worker/worker-jobs.ts";
import type { JobRequest, QueueView, RequestsPage, WireStatus } from "../../../src/contract/job.ts";
import type { JsonValue } from "../../../src/contract/json.ts";
import { TTL_DEFAULT_MS } from "../../../src/contract/limits.ts";
import {
  isExpired,
  isFinal,
  type Job,
  type JobEvent,
  newExpiry,
  type Payload,
  queuedJob,
  retentionOf,
  transition,
} from "../../../src/domain/job-machine.ts";
import { type JobView, listJob, viewJob, wireStatusOf } from "../../../src/domain/job-view.ts";

/** Where a claimed job runs; the domain tells handlers to stop by it. */
const HOST_ID = "preview";

type Entry = {
  readonly id: string;
  /** Of idempotency. */
  readonly key: string | undefined;
  readonly isLowPriority: boolean;
  readonly request: JobRequest;
  job: Job;
  progress: Payload | null;
  /** What the handler has yielded, as JSON texts, and how many of them a reader of the stream has got. */
  chunks: string[];
  drained: number;
};

export type PreviewQueueOptions = {
  readonly endpointId: string;
  readonly executionTimeoutMs: number;
  /** Why a job waits that has so many before it. */
  readonly explainWait: (position: number) => QueueView;
  /** A handler's result is not wanted any more. */
  readonly onStop: (jobId: string, attempt: number, reason: "cancelled" | "timed_out" | "expired") => void;
  /** A job waits for a worker. */
  readonly onQueued: () => void;
  readonly now?: () => number;
};

export type ClaimedJob = { readonly record: AttemptRecord; readonly job: ArrivedJob };

export class PreviewQueue implements JobLedger {
  readonly #options: PreviewQueueOptions;
  readonly #now: () => number;
  /** In the order of their submission. */
  readonly #entries = new Map<string, Entry>();
  readonly #open = new Set<string>();
  readonly #changes = new EventEmitter().setMaxListeners(0);
  readonly #ended = { completed: 0, failed: 0, retried: 0 };

  constructor(options: PreviewQueueOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  // For clients

  /** `key`: the same one gives the same job. */
  submit(
    request: JobRequest,
    how: { readonly isSync: boolean; readonly waitMs: number | null; readonly key?: string | undefined },
  ): string {
    const { policy } = request;
    const known = this.#all().find(({ key }) => key !== undefined && key === how.key);
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
    const nothingYet = { progress: null, chunks: [], drained: 0 };
    this.#entries.set(id, { id, key: how.key, isLowPriority, request, job, ...nothingYet });
    this.#options.onQueued();
    return id;
  }

  /** The job as it stands; undefined when there is none. */
  view(id: string): JobView | undefined {
    const entry = this.#find(id);
    if (!entry) return undefined;
    const isQueued = entry.job.state === "queued";
    const queue = isQueued ? this.#options.explainWait(this.#waiting().indexOf(entry)) : null;
    return viewJob(id, entry.job, { progress: entry.progress, queue });
  }

  hasEnded(id: string): boolean {
    const entry = this.#find(id);
    return !entry || isFinal(entry.job.state);
  }

  /** Resolves with the next change of the job, at the signal, or after that time. */
  change(id: string, signal?: AbortSignal, withinMs?: number): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#changes.off(id, end);
        signal?.removeEventListener("abort", end);
        resolve();
      };
      const timer = withinMs === undefined ? undefined : setTimeout(end, withinMs);
      this.#changes.on(id, end);
      signal?.addEventListener("abort", end);
    });
  }

  /** What no earlier call got of what the handler has yielded, as JSON texts. */
  drain(id: string): { readonly status: WireStatus; readonly outputs: readonly string[] } | undefined {
    const entry = this.#find(id);
    if (!entry) return undefined;
    const outputs = entry.chunks.slice(entry.drained);
    entry.drained = entry.chunks.length;
    return { status: wireStatusOf(entry.job.state), outputs };
  }

  /** Ends a job; one that has ended stays as it is. */
  cancel(id: string): WireStatus | undefined {
    const entry = this.#find(id);
    if (!entry) return undefined;
    this.#move(entry, { kind: "cancel" });
    return wireStatusOf(entry.job.state);
  }

  /** Queues a failed job again. */
  retry(id: string): { readonly isDone: boolean; readonly status: WireStatus } | undefined {
    const entry = this.#find(id);
    if (!entry) return undefined;
    const isDone = this.#move(entry, { kind: "retry" });
    if (isDone) this.#ended.retried += 1;
    return { isDone, status: wireStatusOf(entry.job.state) };
  }

  /** Cancels what waits; says how many. */
  purge(): number {
    const waiting = this.#waiting();
    for (const entry of waiting) this.#move(entry, { kind: "cancel" });
    return waiting.length;
  }

  expireIn(id: string, ttlMs: number): void {
    const entry = this.#find(id);
    if (entry) entry.job = { ...entry.job, expiresAt: newExpiry(entry.job, ttlMs, this.#now()) };
  }

  /** The newest first. */
  list(query: {
    readonly status?: WireStatus | undefined;
    readonly offset: number;
    readonly limit: number;
  }): RequestsPage {
    const { status, offset, limit } = query;
    const found = this.#all()
      .filter(({ job }) => status === undefined || wireStatusOf(job.state) === status)
      .toReversed();
    const page = found.slice(offset, offset + limit);
    return {
      requests: page.map(({ id, job }) => listJob(id, job)),
      total: found.length,
      offset,
      limit,
      hasMore: offset + page.length < found.length,
    };
  }

  counts(): Readonly<Record<"completed" | "failed" | "inProgress" | "inQueue" | "retried", number>> {
    const count = (state: Job["state"]): number =>
      this.#all().filter(({ job }) => job.state === state).length;
    return { ...this.#ended, inProgress: count("running"), inQueue: count("queued") };
  }

  // For the worker

  /** At most so many of the jobs that wait, normal ones first. */
  claim(workerId: string, count: number): ClaimedJob[] {
    return this.#waiting()
      .slice(0, Math.max(0, count))
      .map((entry) => this.#claim(entry, workerId));
  }

  release(jobId: string, attempt: number): boolean {
    return this.#open.delete(keyOf({ jobId, attempt }));
  }

  async report(ref: AttemptRef, outcome: AttemptOutcome): Promise<boolean> {
    if (!this.#open.delete(keyOf(ref))) return false;
    const entry = this.#find(ref.jobId);
    if (entry) this.#move(entry, eventOf(ref.attempt, outcome));
    return true;
  }

  noteStart(): void {}

  noteProgress(ref: AttemptRef, value: JsonValue): boolean {
    return this.#note(ref, (entry) => {
      entry.progress = { kind: "inline", json: JSON.stringify(value) };
    });
  }

  noteChunk(ref: AttemptRef, output: string): boolean {
    return this.#note(ref, (entry) => void entry.chunks.push(output));
  }

  isOpen(ref: Pick<AttemptRef, "jobId" | "attempt">): boolean {
    return this.#open.has(keyOf(ref));
  }

  faultOf(): undefined {
    return undefined;
  }

  // How

  #claim(entry: Entry, workerId: string): ClaimedJob {
    const { id, request } = entry;
    this.#move(entry, { kind: "claim", workerId, hostId: HOST_ID });
    Object.assign(entry, { progress: null, chunks: [], drained: 0 });
    const { attempt, executionTimeoutMs } = entry.job;
    const { endpointId } = this.#options;
    this.#open.add(keyOf({ jobId: id, attempt }));
    return {
      record: { jobId: id, attempt, workerId, endpointId, receivedAt: this.#now(), executionTimeoutMs },
      job: {
        ...{ id, attempt, workerId, executionTimeoutMs, input: JSON.stringify(request.input) },
        ...optionsOf(request),
      },
    };
  }

  #note(ref: AttemptRef, change: (entry: Entry) => void): boolean {
    const entry = this.isOpen(ref) ? this.#find(ref.jobId) : undefined;
    if (!entry) return false;
    change(entry);
    this.#changes.emit(entry.id);
    return true;
  }

  /** False when the job may not change so. */
  #move(entry: Entry, event: JobEvent): boolean {
    const moved = transition(entry.job, event, this.#now());
    if (moved.kind === "refused") return false;
    entry.job = moved.job;
    const { id } = entry;
    for (const effect of moved.effects) {
      if (effect.kind === "stopHandler" && effect.reason !== "lease_lost") {
        this.#options.onStop(id, effect.attempt, effect.reason);
      }
      if (effect.kind === "settled") this.#count(moved.job);
      if (effect.kind === "requeued") this.#options.onQueued();
    }
    this.#changes.emit(id);
    return true;
  }

  #count({ state }: Job): void {
    if (state === "completed") this.#ended.completed += 1;
    else if (state === "failed" || state === "timed_out") this.#ended.failed += 1;
  }

  #waiting(): Entry[] {
    const waiting = this.#all().filter(({ job }) => job.state === "queued");
    return waiting.toSorted((one, other) => Number(one.isLowPriority) - Number(other.isLowPriority));
  }

  #all(): Entry[] {
    const now = this.#now();
    for (const entry of this.#entries.values()) if (isExpired(entry.job, now)) this.#remove(entry);
    return [...this.#entries.values()];
  }

  #find(id: string): Entry | undefined {
    const entry = this.#entries.get(id);
    if (!entry || !isExpired(entry.job, this.#now())) return entry;
    this.#remove(entry);
    return undefined;
  }

  #remove({ id, job }: Entry): void {
    this.#entries.delete(id);
    if (job.state === "running") this.#options.onStop(id, job.attempt, "expired");
    this.#changes.emit(id);
  }
}

/** What the handler sees of a job beside its input; what is not there is left out. */
function optionsOf({
  webhook,
  policy,
  s3Config,
}: JobRequest): Pick<ArrivedJob, "webhook" | "policy" | "s3Config"> {
  const options = {
    webhook: webhook ?? undefined,
    policy: policy ?? undefined,
    s3Config: s3Config ?? undefined,
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
