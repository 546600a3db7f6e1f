/**
 * The ledger counts in memory what would otherwise be counted by reading rows: how many jobs are in which state, and
 * how many bytes they take in R2.
 *
 * Writing it with every job would double the rows, so it is written as a checkpoint only now and then, and after a
 * restart it is brought up to date from the rows that may have changed since (claims.ts, L1 and L2):
 *
 * L5  A checkpoint carries what the activity counters have not written (B1). After a restart they are given what was
 *     added, ran and ended since, as far as L2 finds it.
 * L6  It also carries since when workers are idle, once that is worth a row.
 * L7  Bytes in R2: each row records how many bytes of inputs its priority got up to it, so the last row shows what came
 *     since a checkpoint. Results are found by L2, and a removal writes a checkpoint (L1).
 * L8  The outbox writes all its pages in the turn of a checkpoint, so the ends that it has not written are those of jobs
 *     that L2 finds.
 * L9  It carries the deadlines of rows by segment, if these are few. An expiry that is brought forward writes a
 *     checkpoint, and all other changes of deadlines are found by L2.
 */
import {
  isFinal,
  storedBytesOf,
  type FinalState,
  type StoredJob,
  type JobState,
} from "../../domain/jobs/job-machine.ts";
import { PRIORITIES, priorityOf, type Priority } from "../../domain/jobs/priorities.ts";
import type { ActivityRecord } from "../../domain/metrics/activity.ts";
import type { Gauges } from "../../domain/metrics/gauges.ts";
import type { JobSpan } from "../../domain/metrics/job-gauges.ts";
import type { Fact } from "../facts/fact-store.ts";
import type { ClaimKind, Claims, HeadAndTail, Lease, PriorityRecovery, Purge } from "./claims.ts";
import type { JobStore, QueueEntry } from "./job-store.ts";
import { NO_DEADLINES, type SegmentDeadlines, type StoredDeadlines } from "./segment-deadlines.ts";

const CHECKPOINT_EVERY_CLAIMS = 1_000;
/** A wake that has found more jobs than this writes a checkpoint. */
const FOUND_MAX = 64;

type Counts = {
  queued: Record<Priority, number>;
  /** Jobs that have ended and whose rows are still there. */
  kept: Record<FinalState, number>;
  completed: number;
  failed: number;
  retried: number;
};

/** What the activity counters have in a checkpoint. */
export type ActivityCheckpoint = {
  readonly at: number;
  /** Hours before this have a row each. */
  readonly foldedUntil: number;
  readonly levels: Gauges;
  readonly minutes: readonly ActivityRecord[];
  /** Since the endpoint exists. */
  readonly total: ActivityRecord;
};

/** Since when workers are idle; times are epoch ms. */
export type IdleTimes = {
  /** Since when there is no work at all; null while there is. */
  readonly idleSinceAt: number | null;
  readonly freeSince: readonly (readonly [workerId: string, at: number])[];
};

/** Idle times in a checkpoint: valid as long as the work has the same mark. */
export type StoredIdleTimes = IdleTimes & { readonly mark: string };

/** The checkpoint as it is stored: `lanes` are the priorities. Optional members are absent in old checkpoints. */
export type Checkpoint = {
  readonly lanes: Record<Priority, HeadAndTail & { readonly storedTotal?: number }>;
  readonly counts: Counts;
  readonly running: readonly number[];
  readonly purges: readonly Purge[];
  readonly storedBytes?: number;
  readonly activity?: ActivityCheckpoint;
  readonly idle?: StoredIdleTimes | null;
  readonly deadlines?: StoredDeadlines | undefined;
};

/** Counts what jobs do by minutes and hours. */
export type JobCounters = {
  readonly submitted: (count: number) => void;
  readonly submittedAt: (at: number, count: number) => void;
  readonly retried: (count: number) => void;
  readonly expired: () => void;
  readonly purged: (count: number) => void;
  readonly ended: (job: StoredJob) => void;
  /** A job that was queued or ran after the checkpoint. */
  readonly found: (span: JobSpan) => void;
  readonly recover: (checkpoint: ActivityCheckpoint | undefined) => void;
  readonly isCheckpointDue: (now: number) => boolean;
  readonly checkpoint: (now: number) => ActivityCheckpoint;
};

export type QueueLedgerParts = {
  readonly store: JobStore;
  readonly claims: Claims;
  readonly activity: JobCounters;
  readonly deadlines: SegmentDeadlines;
  readonly stored: Fact<Checkpoint>;
};

export class QueueLedger {
  readonly #store: JobStore;
  readonly #claims: Claims;
  readonly #counters: JobCounters;
  readonly #deadlines: SegmentDeadlines;
  readonly #stored: Fact<Checkpoint>;
  /** Bytes in R2 of all inputs that each priority ever got (L7). */
  #storedTotals: Record<Priority, number> = { normal: 0, low: 0 };
  #storedBytes = 0;
  #counts: Counts = {
    queued: { normal: 0, low: 0 },
    kept: { completed: 0, failed: 0, cancelled: 0, timed_out: 0 },
    completed: 0,
    failed: 0,
    retried: 0,
  };
  #idle: StoredIdleTimes | null = null;
  #claimsSinceCheckpoint = 0;
  #isCheckpointDue = false;

  constructor({ store, claims, activity, deadlines, stored }: QueueLedgerParts) {
    this.#store = store;
    this.#claims = claims;
    this.#counters = activity;
    this.#deadlines = deadlines;
    this.#stored = stored;
  }

  // Reading

  get counts(): Readonly<Counts> {
    return this.#counts;
  }

  /** Bytes that payloads of jobs take in R2. */
  get storedBytes(): number {
    return this.#storedBytes;
  }

  get queued(): number {
    return this.#counts.queued.normal + this.#counts.queued.low;
  }

  /** Jobs whose rows are there, in one state or in all. */
  countIn(state: JobState | null): number {
    if (state === "queued") return this.queued;
    const running = this.#claims.running.size;
    if (state === "running") return running;
    const { kept } = this.#counts;
    if (state !== null) return kept[state];
    return this.queued + running + kept.completed + kept.failed + kept.cancelled + kept.timed_out;
  }

  /** Changes with any claim of a head and any end, also across a loss of memory. */
  get fingerprint(): string {
    const { completed, failed, retried, kept } = this.#counts;
    const heads = PRIORITIES.map((priority) => this.#claims.headOf(priority));
    return [...heads, completed, failed, retried, kept.cancelled].join(".");
  }

  // Changing

  /** A job joins the queue: its number, and what its row records about its priority (L7). */
  add(priority: Priority, storedInput: number): { readonly seq: number; readonly storedTotal: number } {
    this.#storedTotals[priority] += storedInput;
    this.#storedBytes += storedInput;
    this.#counts.queued[priority] += 1;
    this.#counters.submitted(1);
    return { seq: this.#claims.add(priority), storedTotal: this.#storedTotals[priority] };
  }

  /** A job left the queue for a worker. */
  claimed(seq: number, after: StoredJob, kind: ClaimKind): Lease {
    this.#counts.queued[priorityOf(seq)] -= 1;
    this.#claimsSinceCheckpoint += 1;
    if (kind === "requeued") this.#isCheckpointDue = true;
    return this.#claims.start(seq, after, kind);
  }

  /** A job changed its state in any other way. */
  moved(seq: number, before: StoredJob, after: StoredJob): void {
    if (before.state === "queued") this.#counts.queued[priorityOf(seq)] -= 1;
    if (after.state === "queued") this.#counts.queued[priorityOf(seq)] += 1;
    if (isFinal(before.state)) this.#counts.kept[before.state] -= 1;
    this.#claims.end(seq);
    this.#storedBytes -= storedBytesOf(before.output);
    this.#countEnd(after);
    this.#counts.retried += after.retries - before.retries;
    this.#counters.retried(after.retries - before.retries);
    if (before.state !== "running" || after.state === "queued") this.#isCheckpointDue = true; // L1
  }

  /** All never-claimed jobs are cancelled. Purges before `since` are forgotten. */
  purge(now: number, since: number): void {
    this.#counters.purged(this.queued);
    for (const priority of PRIORITIES) {
      this.#counts.kept.cancelled += this.#counts.queued[priority];
      this.#counts.queued[priority] = 0;
    }
    this.#claims.purge(now, since);
    this.#isCheckpointDue = true;
  }

  /** A job is gone; `storedBytes` are those of its payloads. */
  removed(seq: number, before: StoredJob, storedBytes: number): void {
    this.#storedBytes -= storedBytes;
    if (before.state === "queued") this.#counts.queued[priorityOf(seq)] -= 1;
    else if (before.state !== "running") this.#counts.kept[before.state] -= 1;
    if (!isFinal(before.state)) this.#counters.expired();
    this.#claims.end(seq);
    this.#isCheckpointDue = true;
  }

  /** Idle times as they were last stored (L6). */
  get idle(): StoredIdleTimes | null {
    return this.#idle;
  }

  storeIdle(idle: StoredIdleTimes | null): void {
    this.#idle = idle;
    this.#isCheckpointDue = true;
  }

  /** The next turn, or this one, writes a checkpoint. */
  demandCheckpoint(): void {
    this.#isCheckpointDue = true;
  }

  /**
   * Writes what the turn did that no row records: new claims of heads, and the checkpoint when L1 asks for it. Returns
   * whether it wrote one.
   */
  persist(now: number): boolean {
    this.#claims.persist();
    const isDue =
      this.#isCheckpointDue ||
      this.#claimsSinceCheckpoint >= CHECKPOINT_EVERY_CLAIMS ||
      this.#counters.isCheckpointDue(now);
    if (!isDue) return false;
    const { bounds, running, purges } = this.#claims.stored;
    this.#stored.write({
      lanes: {
        normal: { ...bounds.normal, storedTotal: this.#storedTotals.normal },
        low: { ...bounds.low, storedTotal: this.#storedTotals.low },
      },
      counts: this.#counts,
      running,
      purges,
      storedBytes: this.#storedBytes,
      activity: this.#counters.checkpoint(now),
      idle: this.#idle,
      deadlines: this.#deadlines.stored,
    });
    this.#isCheckpointDue = false;
    this.#claimsSinceCheckpoint = 0;
    return true;
  }

  // Recovery

  /**
   * Brings an empty ledger and its claims up to date from the last checkpoint and the rows. Returns the jobs that were
   * claimed since, or ran then, as they are now.
   */
  recover(): readonly QueueEntry[] {
    const checkpoint = this.#stored.read();
    if (checkpoint) this.#resumeFrom(checkpoint);
    const stored = checkpoint && { ...checkpoint, bounds: checkpoint.lanes };
    const { ran, priorities } = this.#claims.recover(stored);
    for (const { job } of ran) this.#recoverClaimed(job);
    let isCounted = !checkpoint || checkpoint.storedBytes !== undefined;
    for (const recovery of priorities) {
      isCounted = this.#recoverAdded(recovery) && isCounted;
      this.#countAdded(recovery);
    }
    if (!isCounted) this.#countStoredBytes();
    this.#restoreDeadlines(checkpoint ? checkpoint.deadlines : NO_DEADLINES, priorities);
    const found = [...ran, ...priorities.flatMap(({ claimed }) => claimed)];
    if (found.length > FOUND_MAX) this.demandCheckpoint(); // or the next wake would read them again
    return found;
  }

  /** The caller records those of the jobs that it is given; those that were added and not claimed are read later. */
  #restoreDeadlines(stored: StoredDeadlines | undefined, priorities: readonly PriorityRecovery[]): void {
    if (!stored) return;
    const unread = priorities.map(({ priority, added: { from, end } }) => ({
      from: Math.max(from, this.#claims.headOf(priority)),
      end,
    }));
    this.#deadlines.restore(stored, unread);
  }

  #resumeFrom({ lanes, storedBytes, counts, idle, activity }: Checkpoint): void {
    this.#storedTotals = { normal: lanes.normal.storedTotal ?? 0, low: lanes.low.storedTotal ?? 0 };
    this.#storedBytes = storedBytes ?? 0;
    this.#counts = counts;
    this.#idle = idle ?? null;
    this.#counters.recover(activity);
  }

  /** Jobs of earlier versions are counted once, by their rows. */
  #countStoredBytes(): void {
    this.#storedBytes = this.#store.sumStoredBytes();
    this.#storedTotals = { normal: 0, low: 0 };
    this.#isCheckpointDue = true;
  }

  /** Counts the jobs that were added and claimed. False when they were added by code that did not count bytes. */
  #recoverAdded({ priority, added, storedTotal, claimed }: PriorityRecovery): boolean {
    this.#counts.queued[priority] += added.end - added.from - claimed.length;
    this.#claimsSinceCheckpoint += claimed.length;
    for (const { job } of claimed) this.#recoverClaimed(job);
    if (storedTotal === undefined) return true;
    if (storedTotal === null) return false;
    this.#storedBytes += storedTotal - this.#storedTotals[priority];
    this.#storedTotals[priority] = storedTotal;
    return true;
  }

  /** Reports the added jobs to the counters. Of the never-claimed ones only the first is read, as a sample of all. */
  #countAdded({ priority, added, passed }: PriorityRecovery): void {
    const gone = passed.filter(({ seq }) => seq >= added.from);
    for (const { job } of gone) this.#counters.submittedAt(job.createdAt, 1);
    const count = added.end - added.from - gone.length;
    const from = Math.max(added.from, this.#claims.headOf(priority));
    const first = count > 0 ? this.#store.find(from)?.job : undefined;
    if (!first) return this.#counters.submitted(count);
    this.#counters.submittedAt(first.createdAt, count);
    this.#counters.found({ ...first, count });
  }

  /** A job that was claimed runs, or has ended since the checkpoint. */
  #recoverClaimed(job: StoredJob): void {
    this.#counters.found(job);
    this.#countEnd(job);
  }

  #countEnd(job: StoredJob): void {
    const { state } = job;
    this.#counters.ended(job);
    this.#storedBytes += storedBytesOf(job.output);
    if (isFinal(state)) this.#counts.kept[state] += 1;
    if (state === "completed") this.#counts.completed += 1;
    if (state === "failed" || state === "timed_out") this.#counts.failed += 1;
  }
}
