/**
 * The queue of one Endpoint object: jobs in their order, their transitions, their deadlines. Everything here is
 * synchronous, so what one call does is one step; `now` comes from the caller.
 */
import {
  isExpired,
  isFinal,
  queuedJob,
  sizeOf,
  storedBytesOf,
  transition,
  type Effect,
  type StoredJob,
  type JobEvent,
  type JobState,
  type RejectionReason,
  RUN_RETENTION_MS,
  RUNSYNC_RETENTION_MS,
} from "../../domain/jobs/job-machine.ts";
import { decodeJobId } from "../../domain/jobs/job-id.ts";
import { PRIORITY_START, priorityOf, PRIORITIES, type Priority } from "../../domain/jobs/priorities.ts";
import { extendTrace } from "../../domain/jobs/timeline.ts";
import { earliest } from "../../std/earliest.ts";
import { claimedBy, type ClaimKind, type Claims, type Lease, type Taker } from "./claims.ts";
import type { OrphanedPayloads } from "./job-storage.ts";
import {
  randomNonce,
  type WorkerRequest,
  type JobStore,
  type EntryWithRequest,
  type QueueEntry,
} from "./job-store.ts";
import type { QueueLedger } from "./queue-ledger.ts";
import type { RunningTimes } from "./running-times.ts";
import type { SegmentDeadlines } from "./segment-deadlines.ts";

/** A lease that no exchange has extended for this long is lost. */
export const LEASE_MS = 120_000;
const SWEEP_SEGMENTS = 128;
const REBUILD_ROWS = 20_000;
const LIST_BATCH = 200;

export type NewEntry = {
  readonly isSync: boolean;
  readonly priority: Priority;
  readonly ttlMs: number;
  readonly executionTimeoutMs: number;
  readonly retentionMs: number;
  readonly request: WorkerRequest;
  readonly idempotencyKey: string | null;
  readonly hasWebhook: boolean;
};

/** The end of a job whose webhook is to be called. */
export type JobEnd = {
  readonly seq: number;
  /** Number of the end: a job that was retried ends again. */
  readonly end: number;
  readonly webhook: string;
  /** When the job will be gone, epoch ms. */
  readonly goneAt: number;
};

/** The end of a job as its row has it: on which page of the outbox it is, or will be. */
export type NotedEnd = Omit<JobEnd, "webhook"> & { readonly page: number; readonly webhook: () => string };

/** Where the ends of jobs with a webhook are noted, in the write that ends them. */
export type EndOutbox = {
  /** Memory is empty: these jobs have ended since all pages were written, or shortly before. */
  readonly recover: (ends: readonly NotedEnd[], now: number) => void;
  /** The page on which the next end will be. */
  readonly pageFor: (now: number) => number;
  readonly add: (end: JobEnd, now: number) => void;
  readonly withdraw: (seq: number) => void;
};

export type QueueParts = {
  readonly store: JobStore;
  readonly claims: Claims;
  readonly ledger: QueueLedger;
  readonly times: RunningTimes;
  readonly deadlines: SegmentDeadlines;
  readonly orphans: OrphanedPayloads;
  /** Drops what attempts of a job have streamed: `restart` of one that runs again. */
  readonly chunks: { readonly remove: (seq: number) => void; readonly restart: (seq: number) => void };
  readonly outbox: EndOutbox;
  /** Counts jobs whose rows are removed. */
  readonly canary: { readonly moved: (before: StoredJob, after: StoredJob) => void };
  readonly batches: { readonly jobRemoved: (seq: number, job: StoredJob) => void };
};

export type QueueEffect = Effect & { readonly seq: number };

export type Applied =
  | { readonly kind: "moved"; readonly job: StoredJob }
  | { readonly kind: "refused"; readonly reason: RejectionReason };

export class Queue {
  readonly #parts: QueueParts;
  readonly #leaseUntil = new Map<number, number>();
  /** Earliest time at which a running attempt may be due; may be too early, never too late. */
  #leasesDueAt: number | null = null;
  #effects: QueueEffect[] = [];

  constructor(parts: QueueParts) {
    this.#parts = parts;
  }

  /** After a restart every lease gets its full time again: the agents may well be there. */
  recover(now: number): void {
    const { ledger, outbox, deadlines } = this.#parts;
    const found = ledger.recover();
    for (const { seq, job } of found) deadlines.record(seq, goneAtOf(job));
    const ends = found.flatMap((stored) => this.#endOf(stored));
    outbox.recover(ends, now);
    for (const lease of this.#parts.claims.running.values()) this.#holdLease(lease, now);
  }

  // Jobs

  /** Adds a job. With a taker, allowed only when nothing is queued, it is claimed in the same write. */
  submit(newEntry: NewEntry, taker: Taker | undefined, now: number): QueueEntry {
    const { request, idempotencyKey, hasWebhook } = newEntry;
    const { store, ledger, deadlines } = this.#parts;
    const { seq, storedTotal } = ledger.add(newEntry.priority, storedBytesOf(request.input));
    const queued = queuedJob(newEntry, now);
    const job = taker ? claimedBy(queued, taker, now) : queued;
    const stored = { seq, nonce: randomNonce(), shard: store.shard, job };
    store.insert(stored, request, { idempotencyKey, hasWebhook, storedTotal });
    deadlines.record(seq, stored.job.expiresAt);
    if (taker) this.#startLease(seq, stored.job, "insert", now);
    return stored;
  }

  /** The job of a public id; undefined when there is no such job or it has expired. */
  find(jobId: string, now: number): QueueEntry | undefined {
    const id = decodeJobId(jobId);
    if (id?.shard !== this.#parts.store.shard) return undefined;
    const stored = this.get(id.seq);
    const isSame = stored?.nonce === id.nonce && stored.job.isSync === id.isSync;
    return stored && isSame && !isExpired(stored.job, now) ? stored : undefined;
  }

  /** The job that was submitted with this key, as long as it lives. */
  findByKey(idempotencyKey: string, now: number): QueueEntry | undefined {
    const seq = this.#parts.store.seqOfKey(idempotencyKey);
    const stored = seq === undefined ? undefined : this.get(seq);
    return stored && !isExpired(stored.job, now) ? stored : undefined;
  }

  get(seq: number): QueueEntry | undefined {
    const stored = this.#parts.store.find(seq);
    return stored && this.#parts.claims.asItStands(stored);
  }

  /** Jobs that are not expired, in one state or in all, the newest first. */
  *newestFirst(state: JobState | null, now: number): Generator<QueueEntry> {
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

  /** Carries out one transition, if the machine allows it. The end of a purged job calls no webhook. */
  apply(stored: QueueEntry, event: JobEvent, now: number, isPurge = false): Applied {
    const { ledger, times, orphans, chunks, claims, deadlines, canary } = this.#parts;
    const verdict = transition(stored.job, event, now);
    if (verdict.kind === "refused") return verdict;
    const { seq } = stored;
    const attemptTimes = times.of(seq, stored.job.attempt, stored.job.workerId);
    const job: StoredJob = { ...verdict.job, trace: extendTrace(stored.job, event, attemptTimes, now) };
    this.#save(stored, job, isPurge, now);
    ledger.moved(seq, stored.job, job);
    canary.moved(stored.job, job);
    this.#leaseUntil.delete(seq);
    times.forget(seq);
    times.ended(stored.job);
    if (stored.job.output?.kind === "stored" && !job.output) orphans.add(stored.job.output.key); // by a retry
    if (mayLeaveUpload(event)) orphans.addUploadOf(stored);
    if (job.removeAt !== null) deadlines.record(seq, job.removeAt);
    if (event.kind === "retry") chunks.restart(seq);
    if (job.state === "queued") claims.addRequeued(seq);
    else if (stored.job.state === "queued") claims.removeRequeued(seq);
    for (const effect of verdict.effects) this.#effects.push({ ...effect, seq });
    return { kind: "moved", job };
  }

  /** Updates when a job expires, whatever its state. */
  setExpiry(seq: number, expiresAt: number): void {
    const { store, ledger, claims, deadlines } = this.#parts;
    store.saveExpiry(seq, expiresAt);
    if (deadlines.record(seq, expiresAt)) ledger.demandCheckpoint(); // L9
    if (claims.setExpiry(seq, expiresAt)) this.#leasesDueAt = earliest([this.#leasesDueAt, expiresAt]);
  }

  /** Writes a job, and with its end the call of its webhook. */
  #save(stored: QueueEntry, after: StoredJob, isPurge: boolean, now: number): void {
    const { store, claims, outbox } = this.#parts;
    const { seq } = stored;
    const callsWebhook = isFinal(after.state) && !isPurge;
    const saved = store.save(seq, claims.rowOf(stored), after, callsWebhook ? outbox.pageFor(now) : 0);
    if (!saved) throw new Error("A guarded write met a changed row.");
    if (!callsWebhook || saved.webhook === null) return;
    const goneAt = goneAtOf(after);
    outbox.add({ seq, end: after.retries, webhook: saved.webhook, goneAt }, now);
  }

  /** The end that the row of a job notes for the outbox, if there is one. */
  #endOf({ seq, job, webhookPage: page }: QueueEntry): readonly NotedEnd[] {
    if (!page || !isFinal(job.state)) return [];
    const webhook = () => this.#parts.store.webhookOf(seq).url ?? "";
    return [{ seq, end: job.retries, page, webhook, goneAt: goneAtOf(job) }];
  }

  /** Cancels all queued jobs without touching the rows of never-claimed ones. Returns how many. */
  purge(now: number): number {
    const { ledger, claims } = this.#parts;
    const count = ledger.queued;
    for (const priority of PRIORITIES) {
      for (const stored of claims.requeuedJobs(priority, count)) {
        this.apply(stored, { kind: "cancel" }, now, true);
      }
    }
    ledger.purge(now, now - RUN_RETENTION_MS);
    this.#recordPurges();
    return count;
  }

  /**
   * Leases the next jobs in order, one to each taker, until there are no more of either or their inputs have
   * reached `maxInputBytes`.
   */
  claim(takers: readonly Taker[], now: number, maxInputBytes = Infinity): EntryWithRequest[] {
    const { claims, ledger } = this.#parts;
    const claimed: EntryWithRequest[] = [];
    let inputBytes = 0;
    for (;;) {
      const { jobs, kind } = claims.next(takers.length - claimed.length, ledger.counts.queued);
      if (jobs.length === 0) return claimed;
      for (const next of jobs) {
        const taker = takers[claimed.length];
        if (!taker || inputBytes >= maxInputBytes) return claimed;
        if (isExpired(next.job, now)) {
          this.#remove(next);
          continue;
        }
        const job = claims.claim(next, kind, taker, ledger.counts.queued, now);
        this.#startLease(job.seq, job.job, kind, now);
        claimed.push(job);
        inputBytes += sizeOf(next.request.input);
      }
    }
  }

  /** The agent still has the attempt. */
  extendLease(seq: number, now: number): void {
    this.#leaseUntil.set(seq, now + LEASE_MS);
  }

  /** Position of a queued job in the order of claiming, from 1; exact but for jobs that were cancelled before it. */
  positionOf(seq: number): number {
    return this.#parts.claims.positionOf(seq, this.#parts.ledger.counts.queued);
  }

  // Time

  /** Ends what is due, in a bounded batch; what is left is due again at once. */
  sweep(now: number): void {
    this.#sweepLeases(now);
    this.#readDeadlines();
    const due = this.#parts.deadlines.takeDue(now, SWEEP_SEGMENTS);
    if (due.length > 0) this.#parts.ledger.demandCheckpoint(); // or a wake would find them due again
    for (const { from, end } of due) {
      for (const { seq, at } of this.#parts.store.deadlines(from, end, end - from)) {
        if (at > now) this.#keepOrRemove(seq, at, now);
        else this.#removeBySeq(seq);
      }
    }
  }

  /** Only purged rows may be due although they do not say so. */
  #keepOrRemove(seq: number, at: number, now: number): void {
    const isPassed = seq < this.#parts.claims.headOf(priorityOf(seq));
    const removeAt = isPassed ? (this.get(seq)?.job.removeAt ?? at) : at;
    if (removeAt > now) this.#parts.deadlines.record(seq, Math.min(at, removeAt));
    else this.#removeBySeq(seq);
  }

  /** When the next sweep is due; null for never. */
  get nextSweepAt(): number | null {
    return earliest([this.#leasesDueAt, this.#parts.deadlines.nextAt]);
  }

  /** True until the deadlines of all rows are known again after a restart. */
  get isRebuilding(): boolean {
    return !this.#parts.deadlines.isComplete && this.#parts.claims.hasJobs;
  }

  /** What the transitions of this turn ask for after the write. */
  takeEffects(): readonly QueueEffect[] {
    const effects = this.#effects;
    this.#effects = [];
    return effects;
  }

  // Listing

  /** From the head on jobs are only queued or cancelled: a million of them are not looked through. */
  *#priorityNewestFirst(
    priority: Priority,
    state: JobState | null,
    now: number,
  ): Generator<QueueEntry, undefined> {
    const { claims } = this.#parts;
    const head = claims.headOf(priority);
    const isListed = (stored: QueueEntry) =>
      (state === null || stored.job.state === state) && !isExpired(stored.job, now);
    if (state === null || state === "queued" || state === "cancelled") {
      yield* this.#rangeNewestFirst(head, claims.tailOf(priority), state).filter(isListed);
    }
    yield* this.#rangeNewestFirst(PRIORITY_START[priority], head, null).filter(isListed);
    return undefined;
  }

  *#rangeNewestFirst(from: number, end: number, written: JobState | null): Generator<QueueEntry> {
    const { store, claims } = this.#parts;
    for (let before = end; ;) {
      const batch = store.jobsBefore(before, from, LIST_BATCH, written);
      yield* batch.map((row) => claims.asItStands(row));
      const last = batch.at(-1);
      if (!last || batch.length < LIST_BATCH) return;
      before = last.seq;
    }
  }

  // Leases

  #startLease(seq: number, job: StoredJob, kind: ClaimKind, now: number): void {
    this.#holdLease(this.#parts.ledger.claimed(seq, job, kind), now);
  }

  #holdLease(lease: Lease, now: number): void {
    this.#leaseUntil.set(lease.seq, now + LEASE_MS);
    this.#leasesDueAt = earliest([this.#leasesDueAt, this.#leaseDueAt(lease, now)]);
  }

  #sweepLeases(now: number): void {
    if (this.#leasesDueAt === null || now < this.#leasesDueAt) return;
    const { running } = this.#parts.claims;
    for (const lease of [...running.values()]) {
      if (this.#leaseDueAt(lease, now) <= now) this.#endLease(lease, now);
    }
    this.#leasesDueAt = earliest(running.values().map((lease) => this.#leaseDueAt(lease, now)));
  }

  #endLease(lease: Lease, now: number): void {
    const stored = this.get(lease.seq);
    if (!stored) return this.#parts.claims.end(lease.seq); // without this, the alarm would keep ringing for this lease
    if (lease.expiresAt <= now) this.#expireRunning(stored);
    else if (lease.timeoutAt <= now) this.apply(stored, { kind: "timeOut", attempt: lease.attempt }, now);
    else this.apply(stored, { kind: "rescue", attempt: lease.attempt, reason: SILENT_HOST }, now);
  }

  #leaseDueAt(lease: Lease, now: number): number {
    return Math.min(lease.expiresAt, lease.timeoutAt, this.#leaseUntil.get(lease.seq) ?? now);
  }

  // Removing

  #expireRunning(stored: QueueEntry): void {
    const { seq, job } = stored;
    this.#remove(stored);
    if (job.hostId === null) return;
    const { hostId, attempt } = job;
    this.#effects.push({ kind: "stopHandler", seq, hostId, attempt, reason: "expired" });
  }

  #removeBySeq(seq: number): void {
    const stored = this.get(seq);
    if (stored?.job.state === "running") this.#expireRunning(stored);
    else if (stored) this.#remove(stored);
  }

  #remove(stored: QueueEntry): void {
    const { seq, job } = stored;
    const { store, claims, ledger, times, orphans, chunks, outbox, batches } = this.#parts;
    if (job.state === "queued" && job.attempt > 0) claims.removeRequeued(seq);
    const removed = store.remove(seq);
    for (const key of removed.keys) orphans.add(key);
    orphans.addUploadOf(stored);
    chunks.remove(seq);
    outbox.withdraw(seq);
    ledger.removed(seq, job, removed.storedBytes);
    batches.jobRemoved(seq, job);
    this.#leaseUntil.delete(seq);
    times.forget(seq);
    this.#effects.push({ kind: "settled", seq });
  }

  // Deadlines

  /** The rows of purged jobs do not say when they are due. */
  #recordPurges(): void {
    for (const { from, end, at } of this.#parts.claims.purges) {
      this.#parts.deadlines.recordRange(from, end, at + RUNSYNC_RETENTION_MS);
    }
  }

  #readDeadlines(): void {
    const { deadlines, store } = this.#parts;
    if (deadlines.isComplete) return;
    deadlines.readOn((from, end, limit) => store.deadlines(from, end, limit), REBUILD_ROWS);
    if (deadlines.isComplete) this.#recordPurges();
  }
}

function goneAtOf({ expiresAt, removeAt }: StoredJob): number {
  return Math.min(expiresAt, removeAt ?? expiresAt);
}

/** A report states what became of the result; these events end an attempt without a report. */
function mayLeaveUpload({ kind }: JobEvent): boolean {
  return kind === "rescue" || kind === "timeOut" || kind === "cancel";
}

const SILENT_HOST = "its host has been silent for too long.";
