/**
 * The queue of one Endpoint object: jobs in their order, their transitions, their deadlines.
 * Everything here is synchronous, so what one call does is one step; `now` comes from the caller.
 */
import {
  isExpired,
  isFinal,
  queuedJob,
  sizeOf,
  storedBytesOf,
  transition,
  type Effect,
  type Job,
  type JobEvent,
  type JobState,
  type RejectionReason,
  RUN_RETENTION_MS,
  RUNSYNC_RETENTION_MS,
} from "../../domain/jobs/job-machine.ts";
import {
  countAhead,
  PRIORITY_END,
  PRIORITY_START,
  priorityOf,
  PRIORITIES,
  prioritiesToClaim,
  type Priority,
} from "../../domain/jobs/priorities.ts";
import { extendTrace } from "../../domain/jobs/timeline.ts";
import type { ChunkStore } from "../streams/chunk-store.ts";
import type { JobStore, JobWebhook, QueuedJob, StoredJob, JobRequest } from "./job-store.ts";
import type { ClaimKind, Lease, QueueLedger } from "./queue-ledger.ts";
import type { RunningTimes } from "./running-times.ts";
import { SegmentDeadlines } from "./segment-deadlines.ts";
import type { WebhookOutbox } from "../webhooks/webhook-outbox.ts";

/** A lease that no exchange has extended for this long is lost. */
export const LEASE_MS = 120_000;

const SWEEP_SEGMENTS = 16;
const REBUILD_ROWS = 20_000;
const LIST_BATCH = 200;

export type Submission = {
  readonly nonce: string;
  readonly isSync: boolean;
  readonly priority: Priority;
  readonly ttlMs: number;
  readonly executionTimeoutMs: number;
  readonly retentionMs: number;
  readonly order: JobRequest;
  readonly idempotencyKey: string | null;
  readonly hasWebhook: boolean;
};

export type QueueParts = {
  readonly store: JobStore;
  readonly chunks: ChunkStore;
  readonly ledger: QueueLedger;
  readonly times: RunningTimes;
  readonly outbox: WebhookOutbox;
  readonly counter: JobCounter;
};

export type QueueEffect = Effect & { readonly seq: number };

export type Applied =
  | { readonly kind: "moved"; readonly job: Job }
  | { readonly kind: "refused"; readonly reason: RejectionReason };

export class Queue {
  readonly #store: JobStore;
  readonly #chunks: ChunkStore;
  readonly #ledger: QueueLedger;
  readonly #times: RunningTimes;
  readonly #outbox: WebhookOutbox;
  readonly #counter: JobCounter;
  readonly #segments = new SegmentDeadlines();
  readonly #leaseUntil = new Map<number, number>();
  /** Earliest time at which a running attempt may be due; never too late. */
  #leasesDueAt: number | null = null;
  /** Claims of normal jobs since the last of a low-priority one that had waited. */
  #normalsInARow = 0;
  #effects: QueueEffect[] = [];
  /** Keys of payloads, and jobs as they were when an attempt ended that may have uploaded a result. */
  #orphans: (string | StoredJob)[] = [];
  /** Rows of jobs that were queued again: nearly always none, and then nobody looks for them. */
  #requeued = 0;
  /** Where the rebuild of the segments goes on; null when they are complete. */
  #rebuildFrom: number | null = PRIORITY_START.normal;

  constructor(parts: QueueParts) {
    this.#store = parts.store;
    this.#chunks = parts.chunks;
    this.#ledger = parts.ledger;
    this.#times = parts.times;
    this.#outbox = parts.outbox;
    this.#counter = parts.counter;
  }

  /** After a restart every lease gets its full time again: the agents may well be there. */
  recover(now: number): void {
    this.#requeued = this.#store.countRequeued();
    this.#ledger.recover();
    for (const lease of this.#ledger.running.values()) this.#holdLease(lease, now);
  }

  // Jobs

  /** Adds a job. With a taker, who must only be given when nothing waits, it is claimed in the same write. */
  submit(submission: Submission, taker: Taker | undefined, now: number): StoredJob {
    const { nonce, order, idempotencyKey, hasWebhook } = submission;
    const { seq, storedTotal } = this.#ledger.add(submission.priority, storedBytesOf(order.input));
    const queued = queuedJob(submission, now);
    const job = taker ? claimedBy(queued, taker, now) : queued;
    this.#store.insert({ seq, nonce, job }, order, { idempotencyKey, hasWebhook, storedTotal });
    this.#segments.record(seq, job.expiresAt);
    if (taker) this.#startLease(seq, job, "insert", now);
    return { seq, nonce, job };
  }

  /** The job of an id, unless there is none or it has expired. */
  find(seq: number, nonce: string, now: number): StoredJob | undefined {
    const stored = this.get(seq);
    return stored?.nonce === nonce && !isExpired(stored.job, now) ? stored : undefined;
  }

  /** The job that was submitted with this key, as long as it lives. */
  findByKey(idempotencyKey: string, now: number): StoredJob | undefined {
    const seq = this.#store.seqOfKey(idempotencyKey);
    const stored = seq === undefined ? undefined : this.get(seq);
    return stored && !isExpired(stored.job, now) ? stored : undefined;
  }

  /** The job of a sequence number that the ledger knows. */
  get(seq: number): StoredJob | undefined {
    const stored = this.#store.find(seq);
    return stored && this.#asItStands(stored);
  }

  /** Jobs that are not expired, in one state or in all, the newest first. */
  *newestFirst(state: JobState | null, now: number): Generator<StoredJob> {
    const priorities = PRIORITIES.map((priority) => this.#priorityNewestFirst(priority, state, now));
    const heads = priorities.map((priority) => priority.next().value);
    for (;;) {
      const newest = heads.reduce(
        (a, b) => (b && (!a || b.job.createdAt > a.job.createdAt) ? b : a),
        undefined,
      );
      if (!newest) return;
      yield newest;
      const index = heads.indexOf(newest);
      heads[index] = priorities[index]?.next().value;
    }
  }

  /** Where a job's end is told to. */
  webhookOf(seq: number): JobWebhook {
    return this.#store.webhookOf(seq);
  }

  /** What the worker was given. */
  orderOf(seq: number): JobRequest | undefined {
    return this.#store.workOrder(seq);
  }

  /** Carries out one transition, if the machine allows it. The end of a purged job is told to nobody. */
  apply(stored: StoredJob, event: JobEvent, now: number, isPurge = false): Applied {
    const verdict = transition(stored.job, event, now);
    if (verdict.kind === "refused") return verdict;
    const { seq } = stored;
    const times = this.#times.of(seq, stored.job.attempt, stored.job.workerId);
    const job: Job = { ...verdict.job, trace: extendTrace(stored.job, event, times, now) };
    this.#save(stored, job, isPurge, now);
    this.#ledger.moved(seq, stored.job, job);
    this.#leaseUntil.delete(seq);
    this.#times.forget(seq);
    if (stored.job.output?.kind === "stored" && !job.output) {
      this.orphan(stored.job.output.key); // a retry forgets the old output
    }
    if (mayLeaveUpload(event)) this.#orphanUpload(stored);
    if (job.removeAt !== null) this.#segments.record(seq, job.removeAt);
    if (event.kind === "retry") this.#chunks.remove(seq);
    if (job.state === "queued") this.#requeued += this.#store.addRequeued(seq);
    else if (stored.job.state === "queued") this.#requeued -= this.#store.removeRequeued(seq);
    for (const effect of verdict.effects) this.#effects.push({ ...effect, seq });
    return { kind: "moved", job };
  }

  /** Gives a job another end of its life, whatever its state. */
  setExpiry(seq: number, expiresAt: number): void {
    this.#store.saveExpiry(seq, expiresAt);
    this.#segments.record(seq, expiresAt);
    if (this.#ledger.setExpiry(seq, expiresAt)) this.#leasesDueAt = earliest(this.#leasesDueAt, expiresAt);
  }

  /** Writes a job, and with its end the webhook that tells of it. */
  #save({ seq, job: before }: StoredJob, after: Job, isPurge: boolean, now: number): void {
    const hasWebhook = isFinal(after.state) && !isPurge;
    const isWritten = this.#ledger.running.get(seq)?.isWritten ?? true;
    const page = hasWebhook ? this.#outbox.pageFor(now) : 0;
    const saved = this.#store.save(seq, isWritten ? before : NEVER_CLAIMED, after, page);
    if (!saved) throw new Error("A guarded write met a changed row.");
    if (!hasWebhook || saved.webhook === null) return;
    const goneAt = Math.min(after.expiresAt, after.removeAt ?? after.expiresAt);
    this.#outbox.add({ seq, end: after.retries, webhook: saved.webhook, goneAt }, now);
  }

  /** Cancels all jobs that wait, without touching the rows of those never claimed. Returns how many. */
  purge(now: number): number {
    const count = this.#ledger.queued;
    for (const priority of PRIORITIES) {
      const requeued = this.#store.requeuedWithPriority(
        PRIORITY_START[priority],
        PRIORITY_END[priority],
        count,
      );
      for (const stored of requeued) this.apply(stored, { kind: "cancel" }, now, true);
    }
    this.#ledger.purge(now, now - RUN_RETENTION_MS);
    this.#recordPurges();
    return count;
  }

  /**
   * Leases the next jobs in order, one to each taker, until there are no more of either or their inputs have
   * reached `maxInputBytes`.
   */
  claim(takers: readonly Taker[], now: number, maxInputBytes = Infinity): QueuedJob[] {
    const claimed: QueuedJob[] = [];
    let inputBytes = 0;
    for (;;) {
      const { jobs, kind } = this.#nextQueued(takers.length - claimed.length);
      if (jobs.length === 0) return claimed;
      for (const next of jobs) {
        const taker = takers[claimed.length];
        if (!taker || inputBytes >= maxInputBytes) return claimed;
        if (isExpired(next.job, now)) {
          this.#remove(next);
          continue;
        }
        claimed.push(this.#claimNow(next, kind, taker, now));
        inputBytes += sizeOf(next.order.input);
      }
    }
  }

  /** The agent still has the attempt. */
  extendLease(seq: number, now: number): void {
    this.#leaseUntil.set(seq, now + LEASE_MS);
  }

  /** Since when the next job of a lane waits; null when none does. One or two rows are read. */
  waitingSince(priority: Priority): number | null {
    const requeuedAt =
      this.#requeued > 0 ? this.#store.requeuedSince(PRIORITY_START[priority], PRIORITY_END[priority]) : null;
    const queuedAt = this.#store.queuedSince(this.#ledger.headOf(priority), PRIORITY_END[priority]);
    return earliest(requeuedAt, queuedAt);
  }

  /** How many jobs go first, counted from 1; exact but for jobs cancelled between. */
  positionOf(seq: number): number {
    const priority = priorityOf(seq);
    const { queued } = this.#ledger.counts;
    const place = Math.max(1, Math.min(seq - this.#ledger.headOf(priority) + 1, queued[priority]));
    return countAhead(priority, place, queued, this.#normalsInARow) + 1;
  }

  // Time

  /** Ends what is due, in a bounded batch; what is left is due again at once. */
  sweep(now: number): void {
    this.#sweepLeases(now);
    this.#rebuildSegments();
    for (const segment of this.#segments.takeDue(now, SWEEP_SEGMENTS)) {
      for (const { seq, at } of this.#store.deadlines(
        segment.from,
        segment.end,
        segment.end - segment.from,
      )) {
        if (at > now) this.#keepOrRemove(seq, at, now);
        else this.#removeBySeq(seq);
      }
    }
  }

  /** Only purged rows may be due although they do not say so. */
  #keepOrRemove(seq: number, at: number, now: number): void {
    const removeAt = seq < this.#ledger.headOf(priorityOf(seq)) ? (this.get(seq)?.job.removeAt ?? at) : at;
    if (removeAt > now) this.#segments.record(seq, Math.min(at, removeAt));
    else this.#removeBySeq(seq);
  }

  /** When the next sweep is due; null for never. */
  get nextSweepAt(): number | null {
    return earliest(this.#leasesDueAt, this.#segments.nextAt);
  }

  /** True until the segments are known again after a restart. */
  get isRebuilding(): boolean {
    return this.#rebuildFrom !== null;
  }

  // What the object must do after the write

  takeEffects(): QueueEffect[] {
    const effects = this.#effects;
    this.#effects = [];
    return effects;
  }

  /** The payload under this key belongs to no job. */
  orphan(key: string): void {
    this.#orphans.push(key);
  }

  /** Keys of payloads that nobody wants; under some of them nothing was ever stored. */
  takeOrphanedKeys(uploadKeyOf: (stored: StoredJob) => string): string[] {
    const orphans = this.#orphans;
    this.#orphans = [];
    return orphans.map((orphan) => (typeof orphan === "string" ? orphan : uploadKeyOf(orphan)));
  }

  // What rows do not say

  /** A row behind the head of its lane that says queued: its job was claimed (ledger, L4) or purged (L3). */
  #asItStands(stored: StoredJob): StoredJob {
    const { seq, job } = stored;
    if (job.state !== "queued" || job.attempt > 0 || seq >= this.#ledger.headOf(priorityOf(seq)))
      return stored;
    const lease = this.#ledger.running.get(seq);
    if (lease) return { ...stored, job: claimedBy(job, lease, lease.startedAt) };
    const purgedAt = this.#ledger.purgedAt(seq) ?? job.createdAt - RUN_RETENTION_MS;
    // Who was purged has no result that is kept longer, and purges are not remembered longer.
    const retentionMs = Math.min(job.retentionMs, RUN_RETENTION_MS);
    const verdict = transition({ ...job, retentionMs }, { kind: "cancel" }, purgedAt);
    return verdict.kind === "moved" ? { ...stored, job: verdict.job } : stored;
  }

  /** Purged rows do not say when they are due. */
  #recordPurges(): void {
    for (const { from, end, at } of this.#ledger.purges) {
      this.#segments.recordRange(from, end, at + RUNSYNC_RETENTION_MS);
    }
  }

  /** From the head on jobs only wait, or were cancelled while they did: a million of them are not looked through. */
  *#priorityNewestFirst(
    priority: Priority,
    state: JobState | null,
    now: number,
  ): Generator<StoredJob, undefined> {
    const head = this.#ledger.headOf(priority);
    const isListed = (stored: StoredJob) =>
      (state === null || stored.job.state === state) && !isExpired(stored.job, now);
    if (state === null || state === "queued" || state === "cancelled") {
      yield* this.#rangeNewestFirst(head, this.#ledger.tailOf(priority), state).filter(isListed);
    }
    yield* this.#rangeNewestFirst(PRIORITY_START[priority], head, null).filter(isListed);
    return undefined;
  }

  *#rangeNewestFirst(from: number, end: number, written: JobState | null): Generator<StoredJob> {
    for (let before = end; ;) {
      const batch = this.#store.jobsBefore(before, from, LIST_BATCH, written);
      yield* batch.map((row) => this.#asItStands(row));
      const last = batch.at(-1);
      if (!last || batch.length < LIST_BATCH) return;
      before = last.seq;
    }
  }

  // Claiming

  #nextQueued(limit: number): { jobs: readonly QueuedJob[]; kind: ClaimKind } {
    if (limit === 0) return { jobs: [], kind: "head" };
    for (const [priority, most] of prioritiesToClaim(this.#ledger.counts.queued, this.#normalsInARow)) {
      const count = Math.min(limit, most);
      const requeued =
        this.#requeued > 0
          ? this.#store.requeuedWithPriority(PRIORITY_START[priority], PRIORITY_END[priority], count)
          : [];
      if (requeued.length > 0) return { jobs: requeued, kind: "requeued" };
      const jobs = this.#store.queuedWithPriority(
        this.#ledger.headOf(priority),
        PRIORITY_END[priority],
        count,
      );
      if (jobs.length > 0) return { jobs, kind: "head" };
    }
    return { jobs: [], kind: "head" };
  }

  /** The claim of a job at the head is written by the ledger, for all jobs of the turn at once (L4). */
  #claimNow(queued: QueuedJob, kind: ClaimKind, taker: Taker, now: number): QueuedJob {
    const job = claimedBy(queued.job, taker, now);
    const isTurnOver = priorityOf(queued.seq) === "low" || this.#ledger.counts.queued.low === 0;
    this.#normalsInARow = isTurnOver ? 0 : this.#normalsInARow + 1;
    if (kind === "requeued") {
      this.#save(queued, job, false, now);
      this.#requeued -= this.#store.removeRequeued(queued.seq);
    }
    this.#startLease(queued.seq, job, kind, now);
    return { ...queued, job };
  }

  #startLease(seq: number, job: Job, kind: ClaimKind, now: number): void {
    this.#holdLease(this.#ledger.claimed(seq, job, kind), now);
  }

  #holdLease(lease: Lease, now: number): void {
    this.#leaseUntil.set(lease.seq, now + LEASE_MS);
    this.#leasesDueAt = earliest(this.#leasesDueAt, this.#leaseDueAt(lease, now));
  }

  // Sweeping

  #sweepLeases(now: number): void {
    if (this.#leasesDueAt === null || now < this.#leasesDueAt) return;
    for (const lease of [...this.#ledger.running.values()]) {
      if (this.#leaseDueAt(lease, now) <= now) this.#endLease(lease, now);
    }
    const left = [...this.#ledger.running.values()].map((lease) => this.#leaseDueAt(lease, now));
    this.#leasesDueAt = left.length === 0 ? null : Math.min(...left);
  }

  #endLease(lease: Lease, now: number): void {
    const stored = this.get(lease.seq);
    if (!stored) return this.#ledger.forget(lease.seq); // or the alarm would ring for it for ever
    if (lease.expiresAt <= now) this.#expireRunning(stored);
    else if (lease.timeoutAt <= now) this.apply(stored, { kind: "timeOut", attempt: lease.attempt }, now);
    else this.apply(stored, { kind: "rescue", attempt: lease.attempt, reason: SILENT_HOST }, now);
  }

  #leaseDueAt(lease: Lease, now: number): number {
    return Math.min(lease.expiresAt, lease.timeoutAt, this.#leaseUntil.get(lease.seq) ?? now);
  }

  #expireRunning(stored: StoredJob): void {
    const { seq, job } = stored;
    this.#remove(stored);
    if (job.hostId === null) return;
    this.#effects.push({
      kind: "stopHandler",
      seq,
      hostId: job.hostId,
      attempt: job.attempt,
      reason: "expired",
    });
  }

  #removeBySeq(seq: number): void {
    const stored = this.get(seq);
    if (stored?.job.state === "running") this.#expireRunning(stored);
    else if (stored) this.#remove(stored);
  }

  /** The agent may have uploaded the result of the attempt and never reported it. */
  #orphanUpload(stored: StoredJob): void {
    if (stored.job.state === "running") this.#orphans.push(stored);
  }

  #remove(stored: StoredJob): void {
    const { seq, job } = stored;
    if (job.state === "queued" && job.attempt > 0) this.#requeued -= this.#store.removeRequeued(seq);
    const removed = this.#store.remove(seq);
    for (const key of removed.keys) this.orphan(key);
    this.#orphanUpload(stored);
    this.#chunks.remove(seq);
    this.#outbox.withdraw(seq);
    this.#ledger.removed(seq, job, removed.storedBytes);
    this.#counter.jobRemoved(seq, job);
    this.#leaseUntil.delete(seq);
    this.#times.forget(seq);
    this.#effects.push({ kind: "settled", seq });
  }

  #rebuildSegments(): void {
    if (this.#rebuildFrom === null) return;
    const rows = this.#store.deadlines(this.#rebuildFrom, PRIORITY_END.low, REBUILD_ROWS);
    for (const { seq, at } of rows) this.#segments.record(seq, at);
    const last = rows.at(-1);
    this.#rebuildFrom = last && rows.length === REBUILD_ROWS ? last.seq + 1 : null;
    if (this.#rebuildFrom === null) this.#recordPurges();
  }
}

/** Who counts jobs whose rows are removed. */
export type JobCounter = { readonly jobRemoved: (seq: number, job: Job) => void };

/** Who takes a job. */
export type Taker = { readonly workerId: string; readonly hostId: string };

/** What the row of a job says whose claim is not written yet. */
const NEVER_CLAIMED = { state: "queued", attempt: 0 } as const;

/** A report says what became of the result; these events end an attempt without one. */
function mayLeaveUpload({ kind }: JobEvent): boolean {
  return kind === "rescue" || kind === "timeOut" || kind === "cancel";
}

const SILENT_HOST = "its host has been silent for too long.";

function earliest(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b;
  return Math.min(a, b);
}

function claimedBy(queued: Job, taker: Taker, now: number): Job {
  const verdict = transition(queued, { kind: "claim", ...taker }, now);
  if (verdict.kind === "refused") throw new Error("The head of the queue is no queued job.");
  return verdict.job;
}
