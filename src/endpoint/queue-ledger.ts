/**
 * The ledger keeps in memory what would otherwise be counted or indexed: where each lane begins and ends,
 * how many jobs are in which state, and which attempts run.
 *
 * Writing it with every job would double the rows, so it is written as a checkpoint only now and then, and
 * after a restart it is brought up to date from the rows:
 *
 * L1  Since a checkpoint jobs were only added at a lane's tail, claimed from a lane's head in order, and
 *     ended while running. Whatever else happens (cancel of a queued job, requeue, claim of a requeued job,
 *     removal) writes a checkpoint in its own turn.
 * L2  So everything that changed is found in: the jobs that ran at the checkpoint, the jobs from the old
 *     head up to the first one never claimed, and the new tail. No more than that is read.
 */
import { LANE_END, LANE_START, laneOf, LANES, type Lane } from "../domain/lanes.ts";
import type { Job, JobState } from "../domain/job-machine.ts";
import type { JobStore, StoredJob } from "./job-store.ts";

const CHECKPOINT_EVERY_CLAIMS = 1_000;
const RECOVERY_BATCH = 1_000;

type LaneBounds = {
  /** Where the search for the next never-claimed job begins. */
  head: number;
  /** The next sequence number to be given out. */
  tail: number;
};

type Counts = {
  queued: Record<Lane, number>;
  completed: number;
  failed: number;
  retried: number;
};

type Checkpoint = {
  readonly lanes: Record<Lane, LaneBounds>;
  readonly counts: Counts;
  readonly running: readonly number[];
};

/** A running attempt, as far as only memory needs to know it. */
export type Lease = {
  readonly seq: number;
  readonly attempt: number;
  readonly hostId: string;
  readonly workerId: string;
  readonly timeoutAt: number;
  readonly expiresAt: number;
};

export class QueueLedger {
  readonly #store: JobStore;
  readonly #running = new Map<number, Lease>();
  #lanes: Record<Lane, LaneBounds> = {
    normal: { head: LANE_START.normal, tail: LANE_START.normal },
    low: { head: LANE_START.low, tail: LANE_START.low },
  };
  #counts: Counts = { queued: { normal: 0, low: 0 }, completed: 0, failed: 0, retried: 0 };
  #claimsSinceCheckpoint = 0;
  #isCheckpointDue = false;

  constructor(store: JobStore) {
    this.#store = store;
  }

  // Reading

  get counts(): Readonly<Counts> {
    return this.#counts;
  }

  get queued(): number {
    return this.#counts.queued.normal + this.#counts.queued.low;
  }

  get running(): ReadonlyMap<number, Lease> {
    return this.#running;
  }

  /** Whether there ever was a job; a fresh object has nothing to sweep. */
  get hasJobs(): boolean {
    return LANES.some((lane) => this.#lanes[lane].tail > LANE_START[lane]);
  }

  headOf(lane: Lane): number {
    return this.#lanes[lane].head;
  }

  // Changing

  takeSeq(lane: Lane): number {
    const seq = this.#lanes[lane].tail;
    this.#lanes[lane].tail += 1;
    this.#counts.queued[lane] += 1;
    return seq;
  }

  /** A job left the queue for a worker. */
  claimed(seq: number, after: Job, isRequeued: boolean): Lease {
    const lease = leaseOf(seq, after);
    this.#counts.queued[laneOf(seq)] -= 1;
    this.#running.set(seq, lease);
    if (isRequeued) this.#isCheckpointDue = true;
    else this.#lanes[laneOf(seq)].head = seq + 1;
    this.#claimsSinceCheckpoint += 1;
    return lease;
  }

  /** A job changed its state in any other way. */
  moved(seq: number, before: Job, after: Job): void {
    if (before.state === "queued") this.#counts.queued[laneOf(seq)] -= 1;
    if (after.state === "queued") this.#counts.queued[laneOf(seq)] += 1;
    this.#running.delete(seq);
    this.#countEnd(after.state);
    this.#counts.retried += after.retries - before.retries;
    if (before.state !== "running" || after.state === "queued") this.#isCheckpointDue = true;
  }

  removed(seq: number, before: Job): void {
    if (before.state === "queued") this.#counts.queued[laneOf(seq)] -= 1;
    this.#running.delete(seq);
    this.#isCheckpointDue = true;
  }

  // Lasting

  /** Writes the checkpoint when something happened that L1 does not allow for. */
  checkpointIfDue(): void {
    if (!this.#isCheckpointDue && this.#claimsSinceCheckpoint < CHECKPOINT_EVERY_CLAIMS) return;
    const checkpoint: Checkpoint = {
      lanes: this.#lanes,
      counts: this.#counts,
      running: [...this.#running.keys()],
    };
    this.#store.writeFact("checkpoint", checkpoint);
    this.#isCheckpointDue = false;
    this.#claimsSinceCheckpoint = 0;
  }

  /** Brings an empty ledger up to date from the last checkpoint and the rows. */
  recover(): void {
    const checkpoint = this.#store.readFact<Checkpoint>("checkpoint");
    if (checkpoint) {
      this.#lanes = checkpoint.lanes;
      this.#counts = checkpoint.counts;
    }
    for (const seq of checkpoint?.running ?? []) {
      const stored = this.#store.find(seq);
      if (stored) this.#recoverClaimed(stored);
    }
    for (const lane of LANES) {
      this.#recoverTail(lane);
      this.#recoverHead(lane);
    }
  }

  #recoverTail(lane: Lane): void {
    const bounds = this.#lanes[lane];
    const last = this.#store.lastSeq(bounds.tail, LANE_END[lane]);
    if (last === null) return;
    this.#counts.queued[lane] += last + 1 - bounds.tail;
    bounds.tail = last + 1;
  }

  #recoverHead(lane: Lane): void {
    const bounds = this.#lanes[lane];
    for (;;) {
      const batch = this.#store.jobsFrom(bounds.head, bounds.tail, RECOVERY_BATCH);
      for (const stored of batch) {
        if (stored.job.state === "queued" && stored.job.attempt === 0) return;
        bounds.head = stored.seq + 1;
        if (stored.job.attempt === 0) continue; // cancelled while queued: the checkpoint knows it
        this.#counts.queued[lane] -= 1;
        this.#claimsSinceCheckpoint += 1;
        this.#recoverClaimed(stored);
      }
      if (batch.length < RECOVERY_BATCH) return;
    }
  }

  #recoverClaimed({ seq, job }: StoredJob): void {
    if (job.state === "running") this.#running.set(seq, leaseOf(seq, job));
    else this.#countEnd(job.state);
  }

  #countEnd(state: JobState): void {
    if (state === "completed") this.#counts.completed += 1;
    if (state === "failed" || state === "timed_out") this.#counts.failed += 1;
  }
}

function leaseOf(seq: number, job: Job): Lease {
  return {
    seq,
    attempt: job.attempt,
    hostId: job.hostId ?? "",
    workerId: job.workerId ?? "",
    timeoutAt: (job.startedAt ?? 0) + job.executionTimeoutMs,
    expiresAt: job.expiresAt,
  };
}
