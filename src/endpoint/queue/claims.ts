/**
 * Claims: which job comes next, and which worker has which job.
 *
 *            add                  claim of the head                 end
 *   (tail) -------> never claimed -----------------> running -----------------> final
 *                     |       |                      |     ^                      |
 *               purge |       | cancel       requeue |     | claim from         retry
 *                     v       v                      v     | `requeued`           |
 *                    cancelled                      requeued <--------------------+
 *
 * The jobs of a priority have consecutive numbers. Up to its head they were claimed, cancelled or purged; from the head
 * to the tail they were never claimed: they are queued, or were cancelled one by one. So the next job is found without
 * an index, and a claim costs no extra row:
 *
 * L1  Since a checkpoint (queue-ledger.ts), jobs were only added at a tail, claimed from a head in order, and ended
 *     while running. Whatever else happens (cancel of a queued job, requeue, claim of a requeued job, removal, purge)
 *     writes a checkpoint in its own turn.
 * L2  So everything that changed is found in the jobs that ran at the checkpoint, the jobs from the old head up to the
 *     first never-claimed one, and those added at the tail. No more than that is read.
 * L3  A purge moves the heads to the tails and touches no row. A job before its head that was never claimed and whose
 *     row still has the state queued was purged.
 * L4  A claim of a head does not touch the job's row either. The turn writes one fact per host instead: the attempts
 *     that run there and whose rows still have the state queued. Their next transition expects such a row.
 */
import { transition, RUN_RETENTION_MS, type StoredJob } from "../../domain/jobs/job-machine.ts";
import {
  countAhead,
  PRIORITIES,
  PRIORITY_END,
  PRIORITY_START,
  prioritiesToClaim,
  priorityOf,
  type Priority,
  type PriorityCounts,
} from "../../domain/jobs/priorities.ts";
import { earliest } from "../../std/earliest.ts";
import { BusyWorkers } from "../../domain/scaling/busy-workers.ts";
import type { FactMap } from "../facts/fact-store.ts";
import type { JobStore, EntryWithRequest, SeqBounds, QueueEntry } from "./job-store.ts";

const RECOVERY_BATCH = 1_000;

/** The worker that takes a job. */
export type Taker = { readonly workerId: string; readonly hostId: string };

/** A running attempt, as far as memory needs to know it; times are epoch ms. */
export type Lease = Taker & {
  readonly seq: number;
  readonly attempt: number;
  readonly startedAt: number;
  readonly timeoutAt: number;
  readonly expiresAt: number;
  /** False while the job's row still has the state queued (L4). */
  readonly isWritten: boolean;
};

/** How a job came to its worker: as the head of its priority, in the write that added it, or queued again. */
export type ClaimKind = "head" | "insert" | "requeued";

/** The claims of one host that no row records (L4). */
export type UnwrittenClaims = readonly (readonly [seq: number, workerId: string, startedAt: number])[];

type UnwrittenClaim = Taker & { readonly startedAt: number };

/** Never-claimed jobs that were cancelled all at once (L3). */
export type Purge = SeqBounds & { readonly at: number };

export type HeadAndTail = {
  /** Where the search for the next never-claimed job begins. */
  readonly head: number;
  /** The number of the next job. */
  readonly tail: number;
};

/** What a checkpoint has of the claims. */
export type StoredClaims = {
  readonly bounds: Readonly<Record<Priority, HeadAndTail>>;
  readonly running: readonly number[];
  readonly purges: readonly Purge[];
};

/** What the rows of a priority say beyond the checkpoint (L2). */
export type PriorityRecovery = {
  readonly priority: Priority;
  /** The jobs that were added. */
  readonly added: SeqBounds;
  /** `storedTotal` of the last added job; undefined when none was added. */
  readonly storedTotal: number | null | undefined;
  /** The jobs that the head has passed, as they are now, and how many of them were claimed. */
  readonly passed: readonly QueueEntry[];
  readonly claimed: readonly QueueEntry[];
};

export class Claims {
  /** Workers that have jobs. */
  readonly workers = new BusyWorkers();
  readonly #store: JobStore;
  readonly #unwritten: FactMap<UnwrittenClaims>;
  readonly #running = new Map<number, Lease>();
  readonly #runningIn: Record<Priority, number> = { normal: 0, low: 0 };
  #bounds: Record<Priority, HeadAndTail> = {
    normal: { head: PRIORITY_START.normal, tail: PRIORITY_START.normal },
    low: { head: PRIORITY_START.low, tail: PRIORITY_START.low },
  };
  #purges: readonly Purge[] = [];
  /** Rows of requeued jobs: nearly always none, and then they are not read. */
  readonly #requeued: Record<Priority, number> = { normal: 0, low: 0 };
  /** Claims of normal jobs since the last one of a low-priority job that had waited. */
  #normalsInARow = 0;
  /** Hosts that have claimed heads in this turn. */
  readonly #hostsWithNewClaims = new Set<string>();

  constructor(store: JobStore, unwritten: FactMap<UnwrittenClaims>) {
    this.#store = store;
    this.#unwritten = unwritten;
  }

  // Reading

  headOf(priority: Priority): number {
    return this.#bounds[priority].head;
  }

  tailOf(priority: Priority): number {
    return this.#bounds[priority].tail;
  }

  /** Whether there ever was a job; a fresh object has nothing to sweep. */
  get hasJobs(): boolean {
    return PRIORITIES.some((priority) => this.tailOf(priority) > PRIORITY_START[priority]);
  }

  get running(): ReadonlyMap<number, Lease> {
    return this.#running;
  }

  /** Running attempts by priority. */
  get runningIn(): PriorityCounts {
    return this.#runningIn;
  }

  get purges(): readonly Purge[] {
    return this.#purges;
  }

  /** What a checkpoint must have of the claims. */
  get stored(): StoredClaims {
    return { bounds: this.#bounds, running: [...this.#running.keys()], purges: this.#purges };
  }

  /** Since when the next job of a priority has been queued, epoch ms; null when none is. Reads one or two rows. */
  waitingSince(priority: Priority): number | null {
    const [from, end] = [PRIORITY_START[priority], PRIORITY_END[priority]];
    const requeuedAt = this.#requeued[priority] > 0 ? this.#store.requeuedSince(from, end) : null;
    const queuedAt = this.#store.queuedSince(this.headOf(priority), end);
    return earliest([requeuedAt, queuedAt]);
  }

  /** Position of a queued job in the order of claiming, from 1; exact but for jobs that were cancelled before it. */
  positionOf(seq: number, queued: PriorityCounts): number {
    const priority = priorityOf(seq);
    const place = Math.max(1, Math.min(this.#placeOf(seq, priority), queued[priority]));
    return countAhead(priority, place, queued, this.#normalsInARow) + 1;
  }

  /** Requeued jobs come first. */
  #placeOf(seq: number, priority: Priority): number {
    const head = this.headOf(priority);
    if (seq >= head) return this.#requeued[priority] + seq - head + 1;
    return this.#store.countRequeued(PRIORITY_START[priority], seq) + 1;
  }

  /** The actual state of a job, whatever its row contains (L3, L4). */
  asItStands(stored: QueueEntry): QueueEntry {
    const { seq, job } = stored;
    if (!isNeverClaimed(job) || seq >= this.headOf(priorityOf(seq))) return stored;
    const lease = this.#running.get(seq);
    if (lease) return { ...stored, job: claimedBy(job, lease, lease.startedAt) };
    const purgedAt = this.#purges.find(({ from, end }) => seq >= from && seq < end)?.at;
    // A purged job has no result to retain for longer, and purges are not remembered longer.
    const retentionMs = Math.min(job.retentionMs, RUN_RETENTION_MS);
    const cancelledAt = purgedAt ?? job.createdAt - RUN_RETENTION_MS;
    const verdict = transition({ ...job, retentionMs }, { kind: "cancel" }, cancelledAt);
    return verdict.kind === "moved" ? { ...stored, job: verdict.job } : stored;
  }

  /** What the row of a job contains, which its next guarded write must expect. */
  rowOf({ seq, job }: QueueEntry): Pick<StoredJob, "state" | "attempt"> {
    return (this.#running.get(seq)?.isWritten ?? true) ? job : NEVER_CLAIMED;
  }

  // Changing

  /** The number of a new job. */
  add(priority: Priority): number {
    const { head, tail } = this.#bounds[priority];
    this.#bounds[priority] = { head, tail: tail + 1 };
    return tail;
  }

  /** The next jobs of one priority in their order, at most `limit`. */
  next(limit: number, queued: PriorityCounts): { jobs: readonly EntryWithRequest[]; kind: ClaimKind } {
    if (limit === 0) return { jobs: [], kind: "head" };
    for (const [priority, most] of prioritiesToClaim(queued, this.#normalsInARow)) {
      const count = Math.min(limit, most);
      const requeued = this.#requeued[priority] > 0 ? this.requeuedJobs(priority, count) : [];
      if (requeued.length > 0) return { jobs: requeued, kind: "requeued" };
      const jobs = this.#store.queuedWithPriority(this.headOf(priority), PRIORITY_END[priority], count);
      if (jobs.length > 0) return { jobs, kind: "head" };
    }
    return { jobs: [], kind: "head" };
  }

  requeuedJobs(priority: Priority, limit: number): readonly EntryWithRequest[] {
    return this.#store.requeuedWithPriority(PRIORITY_START[priority], PRIORITY_END[priority], limit);
  }

  /** Claims one of the next jobs. The claim of a head is written by `persist`, for all jobs of the turn at once (L4). */
  claim(
    next: EntryWithRequest,
    kind: ClaimKind,
    taker: Taker,
    queued: PriorityCounts,
    now: number,
  ): EntryWithRequest {
    const { seq } = next;
    const isTurnOver = priorityOf(seq) === "low" || queued.low === 0;
    this.#normalsInARow = isTurnOver ? 0 : this.#normalsInARow + 1;
    const job = claimedBy(next.job, taker, now);
    if (kind === "requeued") {
      if (!this.#store.save(seq, next.job, job)) throw new Error("A guarded write met a changed row.");
      this.removeRequeued(seq);
    }
    return { ...next, job };
  }

  /** A claimed job runs from now on. */
  start(seq: number, job: StoredJob, kind: ClaimKind): Lease {
    const lease = leaseOf(seq, job, kind !== "head");
    this.#addLease(lease);
    const priority = priorityOf(seq);
    if (kind !== "requeued") this.#bounds[priority] = { head: seq + 1, tail: this.tailOf(priority) };
    if (kind === "head") this.#hostsWithNewClaims.add(lease.hostId);
    return lease;
  }

  /** The attempt of a job is over, if it has one. */
  end(seq: number): void {
    const lease = this.#running.get(seq);
    if (!lease) return;
    this.#running.delete(seq);
    this.#runningIn[priorityOf(seq)] -= 1;
    this.workers.remove(lease.workerId);
  }

  /** Updates when a running job expires; false when the job does not run. */
  setExpiry(seq: number, expiresAt: number): boolean {
    const lease = this.#running.get(seq);
    if (lease) this.#running.set(seq, { ...lease, expiresAt });
    return lease !== undefined;
  }

  addRequeued(seq: number): void {
    this.#requeued[priorityOf(seq)] += this.#store.addRequeued(seq);
  }

  removeRequeued(seq: number): void {
    this.#requeued[priorityOf(seq)] -= this.#store.removeRequeued(seq);
  }

  /** Cancels all never-claimed jobs (L3). Purges before `since` are forgotten. */
  purge(now: number, since: number): void {
    const purges = PRIORITIES.map((priority) => {
      const { head, tail } = this.#bounds[priority];
      this.#bounds[priority] = { head: tail, tail };
      return { from: head, end: tail, at: now };
    });
    const recent = this.#purges.filter(({ at }) => at > since);
    this.#purges = [...recent, ...purges.filter(({ from, end }) => from < end)];
  }

  #addLease(lease: Lease): void {
    this.#running.set(lease.seq, lease);
    this.#runningIn[priorityOf(lease.seq)] += 1;
    this.workers.add(lease.workerId);
  }

  /** Writes the claims of this turn that no row records (L4). */
  persist(): void {
    if (this.#hostsWithNewClaims.size === 0) return;
    const unwritten = [...this.#running.values()].filter(({ isWritten }) => !isWritten);
    for (const hostId of this.#hostsWithNewClaims) {
      const claims = unwritten.filter((lease) => lease.hostId === hostId);
      this.#unwritten.write(
        hostId,
        claims.map(({ seq, workerId, startedAt }) => [seq, workerId, startedAt]),
      );
    }
    this.#hostsWithNewClaims.clear();
  }

  // Recovery

  /**
   * Brings empty claims up to date from a checkpoint and the rows (L2). `ran`: the jobs that ran at the checkpoint, as
   * they are now.
   */
  recover(stored: StoredClaims | undefined): { ran: readonly QueueEntry[]; priorities: PriorityRecovery[] } {
    if (stored) {
      this.#bounds = { ...stored.bounds };
      this.#purges = stored.purges;
    }
    for (const priority of PRIORITIES)
      this.#requeued[priority] = this.#store.countRequeued(PRIORITY_START[priority], PRIORITY_END[priority]);
    const facts = this.#unwritten.entries();
    const unwritten = byJob(facts);
    const rows = (stored?.running ?? []).flatMap((seq) => this.#store.find(seq) ?? []);
    const ran = rows.map((row) => this.#resume(row, unwritten));
    const priorities = PRIORITIES.map((priority) => this.#recoverPriority(priority, unwritten));
    for (const [hostId, claims] of facts) {
      if (!claims.some(([seq]) => this.#running.has(seq))) this.#unwritten.remove(hostId);
    }
    return { ran, priorities };
  }

  #recoverPriority(priority: Priority, unwritten: ReadonlyMap<number, UnwrittenClaim>): PriorityRecovery {
    const { head, tail } = this.#bounds[priority];
    const last = this.#store.lastJob(tail, PRIORITY_END[priority]);
    const end = last ? last.seq + 1 : tail;
    this.#bounds[priority] = { head, tail: end };
    const passed = this.#recoverHead(priority, unwritten);
    const claimed = passed.filter(({ job }) => job.attempt > 0); // others were cancelled, and the checkpoint has counted that
    return { priority, added: { from: tail, end }, storedTotal: last?.storedTotal, passed, claimed };
  }

  /** Moves the head to the first job that was never claimed; returns the jobs before it. */
  #recoverHead(priority: Priority, unwritten: ReadonlyMap<number, UnwrittenClaim>): readonly QueueEntry[] {
    const { head, tail } = this.#bounds[priority];
    const passed: QueueEntry[] = [];
    let from = head;
    // Mostly the first row read was never claimed, so the batches begin small.
    for (let size = 1; ; size = Math.min(size * 4, RECOVERY_BATCH)) {
      const rows = this.#store.jobsFrom(from, tail, size);
      for (const row of rows) {
        if (isNeverClaimed(row.job) && !unwritten.has(row.seq)) return passed;
        passed.push(this.#resume(row, unwritten));
        from = row.seq + 1;
        this.#bounds[priority] = { head: from, tail };
      }
      if (rows.length < size) return passed;
    }
  }

  /** A job that was claimed according to its row or a fact; adds its lease if it runs. */
  #resume(row: QueueEntry, unwritten: ReadonlyMap<number, UnwrittenClaim>): QueueEntry {
    const claim = isNeverClaimed(row.job) ? unwritten.get(row.seq) : undefined;
    const job = claim ? claimedBy(row.job, claim, claim.startedAt) : row.job;
    if (job.state === "running") this.#addLease(leaseOf(row.seq, job, claim === undefined));
    return { ...row, job };
  }
}

/** What the row contains of a job whose claim no row records. */
const NEVER_CLAIMED = { state: "queued", attempt: 0 } as const;

function isNeverClaimed({ state, attempt }: StoredJob): boolean {
  return state === NEVER_CLAIMED.state && attempt === NEVER_CLAIMED.attempt;
}

/** A queued job as a worker has claimed it. */
export function claimedBy(queued: StoredJob, taker: Taker, now: number): StoredJob {
  const { workerId, hostId } = taker;
  const verdict = transition(queued, { kind: "claim", workerId, hostId }, now);
  if (verdict.kind === "refused") throw new Error("The head of the queue is no queued job.");
  return verdict.job;
}

function byJob(facts: readonly (readonly [hostId: string, claims: UnwrittenClaims])[]) {
  const claims = facts.flatMap(([hostId, list]) =>
    list.map(([seq, workerId, startedAt]) => [seq, { hostId, workerId, startedAt }] as const),
  );
  return new Map<number, UnwrittenClaim>(claims);
}

function leaseOf(seq: number, job: StoredJob, isWritten: boolean): Lease {
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
