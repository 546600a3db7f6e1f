/** The operations of the queue API on jobs, limits included. */
import { QUEUE_DEPTH_MAX } from "../contract/limits.ts";
import type { EndpointConfig } from "../contract/endpoint.ts";
import type { JobView } from "../contract/job.ts";
import type { WebhookLogBody } from "../contract/webhook.ts";
import {
  isFinal,
  newExpiry,
  retentionOf,
  storedBytesOf,
  type JobEvent,
  type Payload,
} from "../domain/jobs/job-machine.ts";
import { stateOf, viewJob, wireStatusOf } from "../domain/jobs/job-view.ts";
import { priorityOf } from "../domain/jobs/priorities.ts";
import { explainWait } from "../domain/jobs/queue-reason.ts";
import { timelineOf } from "../domain/jobs/timeline.ts";
import type { GroupCommit } from "../durable/group-commit.ts";
import type { AgentHandlers } from "./dispatch/agent-handlers.ts";
import type { Dispatch } from "./dispatch/dispatch.ts";
import type { EndpointNotifier } from "./dispatch/notifier.ts";
import type { EndpointFacts } from "./facts/endpoint-facts.ts";
import { isUnderway, publicId, type QueueEntry } from "./queue/job-store.ts";
import type {
  CancelOutcome,
  ExpireOutcome,
  Limited,
  ListCall,
  ListOutcome,
  PurgeOutcome,
  RateLimited,
  RetryOutcome,
  SlotRef,
  ShardSpread,
  SlottedView,
  StatusOutcome,
  SubmitOutcome,
  SubmitCall,
  TimelineReply,
  Unconfigured,
} from "./messages.ts";
import { listJobs } from "./queue/job-lists.ts";
import type { JobStorage } from "./queue/job-storage.ts";
import type { QueueLedger } from "./queue/queue-ledger.ts";
import type { Queue } from "./queue/queue.ts";
import type { RunningTimes } from "./queue/running-times.ts";
import { queueFull, type RequestLimits, type RequestSlot } from "./limits/request-limits.ts";
import type { ShardSums } from "./shards/shard-sums.ts";

export type JobHandlersParts = {
  readonly facts: EndpointFacts;
  readonly queue: Queue;
  readonly ledger: QueueLedger;
  readonly times: RunningTimes;
  readonly webhooks: { readonly logOf: (stored: QueueEntry) => Pick<WebhookLogBody, "attempts"> };
  readonly dispatch: Dispatch;
  readonly agents: AgentHandlers;
  readonly limits: RequestLimits;
  readonly storage: JobStorage;
  readonly commit: GroupCommit;
  readonly notifier: EndpointNotifier;
  readonly sums: ShardSums;
  /** How many objects of the endpoint take new jobs. */
  readonly spread: { readonly active: number };
};

export class JobHandlers {
  readonly #parts: JobHandlersParts;

  constructor(parts: JobHandlersParts) {
    this.#parts = parts;
  }

  /** Queues a job; waits up to `holdMs` for its result while the object is busy anyway. */
  submit(request: SubmitCall): Promise<Limited<SubmitOutcome>> {
    const { limits, commit, queue } = this.#parts;
    return limits.admit<SubmitOutcome>(operationOf(request), Date.now(), async (slot) => {
      const submitted = await commit.run(() => this.#submitOnce(request, Date.now()));
      if (submitted.kind !== "stored") return submitted;
      const { stored, isNew } = submitted;
      const about = { isNew, ...this.#spreadFor(request) };
      if (request.holdMs === 0 && !request.keepsSlot)
        return { kind: "submitted", ...about, ...brief(stored) };
      if (request.holdMs > 0 && !isFinal(stored.job.state)) await this.#hold(stored.seq, request.holdMs);
      const latest = queue.get(stored.seq) ?? stored;
      return { kind: "submitted", ...about, ...this.#show(latest, slot, request.keepsSlot) };
    });
  }

  /** What the caller needs to spread jobs over the objects of the endpoint. */
  #spreadFor({ shards = 1 }: SubmitCall): { readonly spread?: ShardSpread } {
    const { active } = this.#parts.spread;
    return active === 1 && shards === 1
      ? {}
      : { spread: { shards: active, queued: this.#parts.ledger.queued } };
  }

  /**
   * A job as it is now; with `holdMs`, after a moment in which it may have ended. A caller that has waited before
   * brings back the slot that it got.
   */
  status(jobId: string, holdMs: number, continuedSlot: SlotRef | null): Promise<Limited<StatusOutcome>> {
    const { limits } = this.#parts;
    const read = async (slot: RequestSlot) => this.#read(jobId, holdMs, slot);
    if (continuedSlot) return limits.resume<StatusOutcome>(continuedSlot, read);
    return limits.admit<StatusOutcome>("status", Date.now(), read);
  }

  /** Lets a job expire so many ms from now; the request continues with a status call. */
  expireIn(jobId: string, ttlMs: number): Promise<Limited<ExpireOutcome>> {
    const { limits, commit, queue } = this.#parts;
    const work = (slot: RequestSlot): ExpireOutcome => {
      const now = Date.now();
      const stored = queue.find(jobId, now);
      if (!stored) return NOT_FOUND;
      queue.setExpiry(stored.seq, newExpiry(stored.job, ttlMs, now));
      return { kind: "done", slot: slot.keep(now) };
    };
    return limits.admit<ExpireOutcome>("status", Date.now(), (slot) => commit.run(() => work(slot)));
  }

  cancel(jobId: string): Promise<Limited<CancelOutcome>> {
    const { limits, commit } = this.#parts;
    return limits.admit("cancel", Date.now(), () => commit.run(() => this.#cancelNow(jobId)));
  }

  /** Cancels a job whose only client is gone; part of the request that queued it. */
  abandon(jobId: string): Promise<CancelOutcome> {
    return this.#parts.commit.run(() => this.#cancelNow(jobId));
  }

  #cancelNow(jobId: string): CancelOutcome {
    const { queue } = this.#parts;
    const now = Date.now();
    const stored = queue.find(jobId, now);
    if (!stored) return NOT_FOUND;
    const applied = queue.apply(stored, CANCEL, now);
    const { state } = applied.kind === "moved" ? applied.job : stored.job;
    return { kind: "done", id: jobId, status: wireStatusOf(state) };
  }

  retry(jobId: string): Promise<Limited<RetryOutcome>> {
    const { limits, commit, queue } = this.#parts;
    const work = (): RetryOutcome => {
      const now = Date.now();
      const stored = queue.find(jobId, now);
      if (!stored) return NOT_FOUND;
      const applied = queue.apply(stored, RETRY, now);
      if (applied.kind === "moved") return { kind: "done", id: jobId };
      return { kind: "not_retryable", status: wireStatusOf(stored.job.state) };
    };
    return limits.admit("retry", Date.now(), () => commit.run(work));
  }

  /** Cancels all queued jobs; `onPurged` notifies what waits for them. */
  purge(onPurged: (now: number) => void): Promise<Limited<PurgeOutcome>> {
    const { limits, commit, queue, sums } = this.#parts;
    const work = (): number => {
      const now = Date.now();
      const removed = queue.purge(now);
      onPurged(now);
      return removed;
    };
    return limits.admit<PurgeOutcome>("purge-queue", Date.now(), async () => {
      const removed = await commit.run(work);
      return { kind: "purged", removed: removed + (await sums.purge()) };
    });
  }

  /** A page of the jobs that are retained, the newest first. */
  list({ status, offset, limit }: ListCall): Promise<Limited<ListOutcome>> {
    const { limits, sums } = this.#parts;
    return limits.admit<ListOutcome>("requests", Date.now(), async () => {
      const query = { state: status && stateOf(status), offset, limit: limit + 1 };
      const found = sums.isNeeded
        ? await sums.listJobs((part) => listJobs(this.#parts, part, Date.now()), query)
        : listJobs(this.#parts, query, Date.now());
      const hasMore = found.requests.length > limit;
      // Expired jobs count until they are swept, so the last page counts exactly.
      const isLast = !hasMore && (offset === 0 || found.requests.length > 0);
      const total = isLast ? offset + found.requests.length : found.total;
      const requests = found.requests.slice(0, limit);
      return { kind: "jobs", page: { requests, total, offset, limit, hasMore } };
    });
  }

  /** The events of a job in their order. */
  timeline(jobId: string): TimelineReply {
    const { queue, times, webhooks } = this.#parts;
    const stored = queue.find(jobId, Date.now());
    if (!stored) return NOT_FOUND;
    const { seq, job } = stored;
    const attempts = webhooks.logOf(stored).attempts.map(({ at, statusCode, error }) => ({
      event: "webhook_attempted" as const,
      at,
      ...(statusCode !== undefined && { statusCode }),
      ...(error !== undefined && { reason: error }),
    }));
    const events = timelineOf(job, times.of(seq, job.attempt, job.workerId), attempts);
    return { kind: "timeline", events, queuedAt: job.queuedAt };
  }

  /** A job as clients see it. */
  view(stored: QueueEntry): JobView<Payload | null> {
    const queue = stored.job.state === "queued" ? this.#explain(stored.seq) : null;
    return viewJob(publicId(stored), stored.job, {
      progress: this.#parts.agents.progressOf(stored.seq),
      queue,
      now: Date.now(),
    });
  }

  // Submitting, inside a turn

  #submitOnce(
    request: SubmitCall,
    now: number,
  ):
    | { readonly kind: "stored"; readonly stored: QueueEntry; readonly isNew: boolean }
    | Unconfigured
    | RateLimited {
    const { facts, queue, ledger, storage } = this.#parts;
    const { config } = facts;
    if (!config || (request.hasWebhook && !facts.canSign)) return { kind: "unconfigured" };
    const known = request.idempotencyKey ? queue.findByKey(request.idempotencyKey, now) : undefined;
    if (known) return { kind: "stored", stored: known, isNew: false };
    const depthMax = Math.ceil((config.queueDepthMax ?? QUEUE_DEPTH_MAX) / this.#parts.spread.active);
    if (ledger.queued >= depthMax) return queueFull(operationOf(request), depthMax);
    const limited = storage.refuse(operationOf(request), sizeOfRequest(request));
    if (limited) return limited;
    return { kind: "stored", stored: this.#submitNow(request, config, now), isNew: true };
  }

  #submitNow(request: SubmitCall, config: EndpointConfig, now: number): QueueEntry {
    const { facts, queue, ledger, dispatch, agents, storage } = this.#parts;
    facts.recordWork(now);
    const slot = ledger.queued === 0 && !storage.isHoldingBack ? dispatch.takeSlot() : undefined;
    const order = { input: request.input, optionsJson: request.optionsJson };
    const stored = queue.submit(
      {
        isSync: request.isSync,
        priority: request.isLowPriority ? "low" : "normal",
        ttlMs: request.ttlMs,
        executionTimeoutMs: request.executionTimeoutMs ?? config.executionTimeoutMs,
        retentionMs: retentionOf(request.isSync, request.waitMs ?? null),
        request: order,
        idempotencyKey: request.idempotencyKey ?? null,
        hasWebhook: request.hasWebhook ?? false,
      },
      slot && { workerId: slot.workerId, hostId: slot.hostId },
      now,
    );
    slot?.give(agents.claimOf(stored, order), stored.seq);
    return stored;
  }

  /** Opens the wake-up channel of `?job=…`, on which a client waits for the end of a job. */
  openChannel(query: URLSearchParams, now: number): Response {
    const { queue, notifier } = this.#parts;
    const stored = queue.find(query.get("job") ?? "", now);
    return notifier.open("job", query, stored?.seq, isUnderway(stored), now);
  }

  // Reading

  async #read(jobId: string, holdMs: number, slot: RequestSlot): Promise<StatusOutcome> {
    const { queue } = this.#parts;
    const stored = queue.find(jobId, Date.now());
    if (!stored) return NOT_FOUND;
    if (holdMs === 0 || isFinal(stored.job.state)) return { kind: "found", ...this.#show(stored, null) };

    await this.#hold(stored.seq, holdMs);
    const latest = queue.find(jobId, Date.now());
    return latest ? { kind: "found", ...this.#show(latest, slot) } : NOT_FOUND;
  }

  /** Waits for the job's end while the object is hot. */
  async #hold(seq: number, requestedMs: number): Promise<void> {
    const holdMs = this.#parts.facts.holdMs(requestedMs, Date.now());
    if (holdMs > 0) await this.#parts.notifier.wait("job", seq, holdMs);
  }

  /** The job for its caller, which keeps its slot while there is something to wait for, or to read. */
  #show(stored: QueueEntry, slot: RequestSlot | null, readsOn = false) {
    const isEnded = isFinal(stored.job.state);
    const continuedSlot = slot && (!isEnded || readsOn) ? slot.keep(Date.now()) : null;
    return { view: this.view(stored), isFinal: isEnded, slot: continuedSlot };
  }

  #explain(seq: number) {
    const { facts, queue, storage } = this.#parts;
    const why = explainWait({
      isLowPriority: priorityOf(seq) === "low",
      isStorageFull: storage.isHoldingBack,
      workersMax: facts.config?.workersMax ?? 0,
      report: facts.report,
    });
    return { position: queue.positionOf(seq), ...why };
  }
}

/** For a caller that does not wait, and reads only the id and the status. */
function brief(stored: QueueEntry): SlottedView {
  const { job } = stored;
  const view = viewJob(publicId(stored), job, { progress: null, queue: null, now: Date.now() });
  return { view, isFinal: isFinal(job.state), slot: null };
}

const NOT_FOUND = { kind: "not_found" } as const;
const CANCEL: JobEvent = { kind: "cancel" };
const RETRY: JobEvent = { kind: "retry" };

function sizeOfRequest({ input, optionsJson }: SubmitCall): number {
  return (input.kind === "inline" ? input.json.length : storedBytesOf(input)) + optionsJson.length;
}

function operationOf({ operation, isSync }: SubmitCall): "run" | "runsync" | "openai" {
  return operation ?? (isSync ? "runsync" : "run");
}
