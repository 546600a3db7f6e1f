/**
 * The ledger keeps in memory what would otherwise be counted or indexed: where each lane begins and ends,
 * how many jobs are in which state, and which attempts run.
 *
 * Writing it with every job would double the rows, so it is written as a checkpoint only now and then, and
 * after a restart it is brought up to date from the rows:
 *
 * L1  Since a checkpoint jobs were only added at a lane's tail, claimed from a lane's head in order, and
 *     ended while running. Whatever else happens (cancel of a queued job, requeue, claim of a requeued job,
 *     removal, purge) writes a checkpoint in its own turn.
 * L2  So everything that changed is found in: the jobs that ran at the checkpoint, the jobs from the old
 *     head up to the first one never claimed, and the new tail. No more than that is read.
 * L3  A purge moves the heads to the tails and touches no row. What lies behind a head, never claimed and
 *     still written as queued, was purged.
 * L4  A claim from the head does not touch the job's row either. The turn writes one hand per host: the
 *     attempts that run there and whose rows still say queued.
 * L5  A checkpoint carries what the activity book has not written (B1): after a restart the book is told of what
 *     was added, ran and ended since, as far as L2 finds it.
 * L6  It carries as well since when workers are free, once that is worth a note.
 * L7  Payloads in R2 are counted in bytes. Each row says how many bytes of inputs its lane got up to it, so the last
 *     row tells what came since a checkpoint; results are found by L2, and what goes writes a checkpoint (L1).
 */
import {
  PRIORITY_END,
  PRIORITY_START,
  priorityOf,
  PRIORITIES,
  type Priority,
  type PriorityCounts,
} from "../../domain/jobs/priorities.ts";
import {
  isFinal,
  storedBytesOf,
  type FinalState,
  type Job,
  type JobState,
} from "../../domain/jobs/job-machine.ts";
import type { ActivityCounters, ActivityCheckpoint } from "../metrics/activity-counters.ts";
import type { StoredIdleTimes } from "../scaling/idle-tracker.ts";
import {
  CLAIMS_FACT_PREFIX,
  unwrittenClaimsIn,
  type UnwrittenClaims,
  type UnwrittenClaim,
} from "./unwritten-claims.ts";
import type { JobStore, StoredJob } from "./job-store.ts";

const CHECKPOINT_EVERY_CLAIMS = 1_000;
const RECOVERY_BATCH = 1_000;

type PriorityBounds = {
  /** Where the search for the next never-claimed job begins. */
  head: number;
  /** The next sequence number to be given out. */
  tail: number;
  /** Bytes in R2 of all inputs that the lane ever got (L7). */
  storedTotal: number;
};

type Counts = {
  queued: Record<Priority, number>;
  /** Jobs that have ended and whose rows are still there. */
  kept: Record<FinalState, number>;
  completed: number;
  failed: number;
  retried: number;
};

/** Never-claimed jobs of a range were cancelled all at once. */
type Purge = { readonly from: number; readonly end: number; readonly at: number };

type Checkpoint = {
  /** Without `storedTotal` in checkpoints of earlier versions. */
  readonly lanes: Record<Priority, Omit<PriorityBounds, "storedTotal"> & Partial<PriorityBounds>>;
  readonly counts: Counts;
  readonly running: readonly number[];
  readonly purges: readonly Purge[];
  /** These are absent in checkpoints of earlier versions. */
  readonly storedBytes?: number;
  readonly activity?: ActivityCheckpoint;
  readonly idle?: StoredIdleTimes | null;
};

/** A running attempt, as far as only memory needs to know it. */
export type Lease = {
  readonly seq: number;
  readonly attempt: number;
  readonly hostId: string;
  readonly workerId: string;
  readonly startedAt: number;
  readonly timeoutAt: number;
  readonly expiresAt: number;
  /** False while the job's row still says queued (L4). */
  readonly isWritten: boolean;
};

/** How a job came to its worker: from the head of its lane, in the write that added it, or once more. */
export type ClaimKind = "head" | "insert" | "requeued";

export class QueueLedger {
  readonly #store: JobStore;
  readonly #activity: ActivityCounters;
  readonly #running = new Map<number, Lease>();
  readonly #runningIn: Record<Priority, number> = { normal: 0, low: 0 };
  readonly #jobsOf = new Map<string, number>();
  #freed: string[] = [];
  #bounds: Record<Priority, PriorityBounds> = {
    normal: { head: PRIORITY_START.normal, tail: PRIORITY_START.normal, storedTotal: 0 },
    low: { head: PRIORITY_START.low, tail: PRIORITY_START.low, storedTotal: 0 },
  };
  #storedBytes = 0;
  #counts: Counts = {
    queued: { normal: 0, low: 0 },
    kept: { completed: 0, failed: 0, cancelled: 0, timed_out: 0 },
    completed: 0,
    failed: 0,
    retried: 0,
  };
  #purges: readonly Purge[] = [];
  #idle: StoredIdleTimes | null = null;
  #claimsSinceCheckpoint = 0;
  #isCheckpointDue = false;
  /** Hosts whose hand has grown in this turn. */
  readonly #hostsWithNewClaims = new Set<string>();

  constructor(store: JobStore, activity: ActivityCounters) {
    this.#store = store;
    this.#activity = activity;
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
    if (state === "running") return this.#running.size;
    const { kept } = this.#counts;
    if (state !== null) return kept[state];
    return this.queued + this.#running.size + kept.completed + kept.failed + kept.cancelled + kept.timed_out;
  }

  get running(): ReadonlyMap<number, Lease> {
    return this.#running;
  }

  /** Attempts that run, by lane. */
  get runningIn(): PriorityCounts {
    return this.#runningIn;
  }

  /** Workers that have jobs, and how many. */
  get busy(): ReadonlyMap<string, number> {
    return this.#jobsOf;
  }

  /** Workers whose last job has ended since this was asked before; some may have a new one. */
  takeFreed(): readonly string[] {
    if (this.#freed.length === 0) return NONE;
    const freed = this.#freed;
    this.#freed = [];
    return freed;
  }

  /** Differs after any claim from a head and any end, also after a loss of memory. */
  get fingerprint(): string {
    const { completed, failed, retried, kept } = this.#counts;
    const heads = PRIORITIES.map((priority) => this.#bounds[priority].head);
    return [...heads, completed, failed, retried, kept.cancelled].join(".");
  }

  /** Whether there ever was a job; a fresh object has nothing to sweep. */
  get hasJobs(): boolean {
    return PRIORITIES.some((priority) => this.#bounds[priority].tail > PRIORITY_START[priority]);
  }

  headOf(priority: Priority): number {
    return this.#bounds[priority].head;
  }

  tailOf(priority: Priority): number {
    return this.#bounds[priority].tail;
  }

  /** When a never-claimed job was purged; null when it was purged so long ago that nobody remembers. */
  purgedAt(seq: number): number | null {
    return this.#purges.find(({ from, end }) => seq >= from && seq < end)?.at ?? null;
  }

  // Changing

  /** A job joins the queue: its number, and what its row says of its lane. */
  add(priority: Priority, storedInput: number): { readonly seq: number; readonly storedTotal: number } {
    const bounds = this.#bounds[priority];
    const seq = bounds.tail;
    bounds.tail += 1;
    bounds.storedTotal += storedInput;
    this.#storedBytes += storedInput;
    this.#counts.queued[priority] += 1;
    this.#activity.submitted(1);
    return { seq, storedTotal: bounds.storedTotal };
  }

  /** A job left the queue for a worker. */
  claimed(seq: number, after: Job, kind: ClaimKind): Lease {
    const lease = leaseOf(seq, after, kind !== "head");
    this.#counts.queued[priorityOf(seq)] -= 1;
    this.#addLease(lease);
    if (kind === "requeued") this.#isCheckpointDue = true;
    else this.#bounds[priorityOf(seq)].head = seq + 1;
    if (kind === "head") this.#hostsWithNewClaims.add(lease.hostId);
    this.#claimsSinceCheckpoint += 1;
    return lease;
  }

  /** A job changed its state in any other way. */
  moved(seq: number, before: Job, after: Job): void {
    if (before.state === "queued") this.#counts.queued[priorityOf(seq)] -= 1;
    if (after.state === "queued") this.#counts.queued[priorityOf(seq)] += 1;
    if (isFinal(before.state)) this.#counts.kept[before.state] -= 1;
    this.#removeLease(seq);
    this.#storedBytes -= storedBytesOf(before.output);
    this.#countEnd(after);
    this.#counts.retried += after.retries - before.retries;
    this.#activity.retried(after.retries - before.retries);
    if (before.state !== "running" || after.state === "queued") this.#isCheckpointDue = true;
  }

  get purges(): readonly Purge[] {
    return this.#purges;
  }

  /** Cancels all never-claimed jobs. Purges before `since` are forgotten. */
  purge(now: number, since: number): void {
    const fresh = PRIORITIES.flatMap((priority) => {
      const { head, tail } = this.#bounds[priority];
      return head === tail ? [] : [{ from: head, end: tail, at: now }];
    });
    this.#activity.purged(this.queued);
    for (const priority of PRIORITIES) {
      this.#counts.kept.cancelled += this.#counts.queued[priority];
      this.#counts.queued[priority] = 0;
      this.#bounds[priority].head = this.#bounds[priority].tail;
    }
    this.#purges = [...this.#purges.filter(({ at }) => at > since), ...fresh];
    this.#isCheckpointDue = true;
  }

  /** `storedBytes`: those of its payloads. */
  removed(seq: number, before: Job, storedBytes: number): void {
    this.#storedBytes -= storedBytes;
    if (before.state === "queued") this.#counts.queued[priorityOf(seq)] -= 1;
    else if (before.state !== "running") this.#counts.kept[before.state] -= 1;
    if (!isFinal(before.state)) this.#activity.expired();
    this.#removeLease(seq);
    this.#isCheckpointDue = true;
  }

  /** A running job lives until another time; false when the job does not run. */
  setExpiry(seq: number, expiresAt: number): boolean {
    const lease = this.#running.get(seq);
    if (lease) this.#running.set(seq, { ...lease, expiresAt });
    return lease !== undefined;
  }

  /** Drops a lease that has no row. */
  forget(seq: number): void {
    this.#removeLease(seq);
  }

  #addLease(lease: Lease): void {
    this.#running.set(lease.seq, lease);
    this.#runningIn[priorityOf(lease.seq)] += 1;
    this.#jobsOf.set(lease.workerId, (this.#jobsOf.get(lease.workerId) ?? 0) + 1);
  }

  #removeLease(seq: number): void {
    const lease = this.#running.get(seq);
    if (!lease) return;
    this.#running.delete(seq);
    this.#runningIn[priorityOf(seq)] -= 1;
    const left = (this.#jobsOf.get(lease.workerId) ?? 0) - 1;
    if (left > 0) return void this.#jobsOf.set(lease.workerId, left);
    this.#jobsOf.delete(lease.workerId);
    this.#freed.push(lease.workerId);
  }

  // Lasting

  /** Since when workers were free when that was last noted (L6). */
  get idle(): StoredIdleTimes | null {
    return this.#idle;
  }

  storeIdle(idle: StoredIdleTimes | null): void {
    this.#idle = idle;
    this.#isCheckpointDue = true;
  }

  /** Writes what the turn did that no row tells: hands that grew, and the checkpoint when L1 asks for it. */
  persist(now: number): void {
    this.#writeClaims();
    this.#checkpointIfDue(now);
  }

  #writeClaims(): void {
    if (this.#hostsWithNewClaims.size === 0) return;
    const unwritten = [...this.#running.values()].filter(({ isWritten }) => !isWritten);
    for (const hostId of this.#hostsWithNewClaims) {
      const claims: UnwrittenClaims = unwritten
        .filter((lease) => lease.hostId === hostId)
        .map(({ seq, workerId, startedAt }) => [seq, workerId, startedAt]);
      this.#store.writeFact(CLAIMS_FACT_PREFIX + hostId, claims);
    }
    this.#hostsWithNewClaims.clear();
  }

  #checkpointIfDue(now: number): void {
    const isDue =
      this.#isCheckpointDue ||
      this.#claimsSinceCheckpoint >= CHECKPOINT_EVERY_CLAIMS ||
      this.#activity.isCheckpointDue(now);
    if (!isDue) return;
    const checkpoint: Checkpoint = {
      lanes: this.#bounds,
      counts: this.#counts,
      running: [...this.#running.keys()],
      purges: this.#purges,
      storedBytes: this.#storedBytes,
      activity: this.#activity.checkpoint(now),
      idle: this.#idle,
    };
    this.#store.writeFact("checkpoint", checkpoint);
    this.#isCheckpointDue = false;
    this.#claimsSinceCheckpoint = 0;
  }

  /** Brings an empty ledger up to date from the last checkpoint and the rows. */
  recover(): void {
    const checkpoint = this.#store.readFact<Checkpoint>("checkpoint");
    if (checkpoint) this.#resumeFrom(checkpoint);
    const facts = this.#store.readFacts<UnwrittenClaims>(CLAIMS_FACT_PREFIX);
    const unwritten = unwrittenClaimsIn(facts);
    for (const seq of checkpoint?.running ?? []) {
      const stored = this.#store.find(seq);
      if (stored) this.#recoverClaimed(stored, unwritten.get(seq));
    }
    let isCounted = !checkpoint || checkpoint.storedBytes !== undefined;
    for (const priority of PRIORITIES) {
      const { tail } = this.#bounds[priority];
      isCounted = this.#recoverTail(priority) && isCounted;
      const taken = this.#recoverHead(priority, unwritten);
      this.#recoverAdded(priority, tail, taken);
    }
    for (const { name, value } of facts) {
      if (!value.some(([seq]) => this.#running.has(seq))) this.#store.removeFact(name);
    }
    if (!isCounted) this.#countStoredBytes();
  }

  #resumeFrom({ lanes, storedBytes, counts, purges, idle, activity }: Checkpoint): void {
    for (const priority of PRIORITIES) this.#bounds[priority] = { storedTotal: 0, ...lanes[priority] };
    this.#storedBytes = storedBytes ?? 0;
    this.#counts = counts;
    this.#purges = purges;
    this.#idle = idle ?? null;
    this.#activity.recover(activity);
  }

  /** Jobs of earlier versions are counted once, by their rows. */
  #countStoredBytes(): void {
    this.#storedBytes = this.#store.sumStoredBytes();
    for (const priority of PRIORITIES) this.#bounds[priority].storedTotal = 0;
    this.#isCheckpointDue = true;
  }

  /** False when the jobs were added by code that did not count bytes. */
  #recoverTail(priority: Priority): boolean {
    const bounds = this.#bounds[priority];
    const last = this.#store.lastJob(bounds.tail, PRIORITY_END[priority]);
    if (!last) return true;
    this.#counts.queued[priority] += last.seq + 1 - bounds.tail;
    bounds.tail = last.seq + 1;
    if (last.storedTotal === null) return false;
    this.#storedBytes += last.storedTotal - bounds.storedTotal;
    bounds.storedTotal = last.storedTotal;
    return true;
  }

  /** Jobs added since the checkpoint. Of those that nobody has taken only the first is read: it stands for all. */
  #recoverAdded(priority: Priority, tail: number, taken: readonly StoredJob[]): void {
    const added = taken.filter(({ seq }) => seq >= tail);
    for (const { job } of added) this.#activity.submittedAt(job.createdAt, 1);
    const bounds = this.#bounds[priority];
    const count = bounds.tail - tail - added.length;
    const first = count > 0 ? this.#store.find(Math.max(tail, bounds.head))?.job : undefined;
    if (!first) return this.#activity.submitted(count);
    this.#activity.submittedAt(first.createdAt, count);
    this.#activity.found({ ...first, count });
  }

  /** Returns the jobs that have left the queue since the checkpoint. */
  #recoverHead(priority: Priority, unwritten: ReadonlyMap<number, UnwrittenClaim>): readonly StoredJob[] {
    const bounds = this.#bounds[priority];
    const taken: StoredJob[] = [];
    // Mostly the first row read was never claimed already, so the batches begin small.
    for (let size = 1; ; size = Math.min(size * 4, RECOVERY_BATCH)) {
      const batch = this.#store.jobsFrom(bounds.head, bounds.tail, size);
      for (const stored of batch) {
        const { seq, job } = stored;
        const claim = unwritten.get(seq);
        const isNeverClaimed = job.attempt === 0 && !claim;
        if (isNeverClaimed && job.state === "queued") return taken;
        bounds.head = seq + 1;
        taken.push(stored);
        if (isNeverClaimed) continue; // cancelled while queued: the checkpoint knows it
        this.#counts.queued[priority] -= 1;
        this.#claimsSinceCheckpoint += 1;
        this.#recoverClaimed(stored, claim);
      }
      if (batch.length < size) return taken;
    }
  }

  #recoverClaimed({ seq, job }: StoredJob, claim: UnwrittenClaim | undefined): void {
    this.#activity.found(job.state === "queued" ? { ...job, ...claim } : job);
    if (job.state === "running") this.#addLease(leaseOf(seq, job, true));
    else if (job.state === "queued" && claim) {
      this.#addLease(leaseOf(seq, { ...job, ...claim, attempt: 1 }, false));
    } else this.#countEnd(job);
  }

  #countEnd(job: Job): void {
    const { state } = job;
    this.#activity.ended(job);
    this.#storedBytes += storedBytesOf(job.output);
    if (isFinal(state)) this.#counts.kept[state] += 1;
    if (state === "completed") this.#counts.completed += 1;
    if (state === "failed" || state === "timed_out") this.#counts.failed += 1;
  }
}

const NONE: readonly string[] = [];

function leaseOf(seq: number, job: Job, isWritten: boolean): Lease {
  const startedAt = job.startedAt ?? 0;
  return {
    seq,
    attempt: job.attempt,
    hostId: job.hostId ?? "",
    workerId: job.workerId ?? "",
    startedAt,
    timeoutAt: startedAt + job.executionTimeoutMs,
    expiresAt: job.expiresAt,
    isWritten,
  };
}
