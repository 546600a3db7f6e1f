/** The jobs of batches, read from their ranges of the queue. */
import { isActive, unstartedCount, type Batch, type BatchProgress } from "../../domain/jobs/batch.ts";
import { priorityOf } from "../../domain/jobs/priorities.ts";
import type { SeqRange } from "../../domain/jobs/seq-ranges.ts";
import type { BatchIndex } from "./batch-index.ts";
import type { JobStore, RangeCounts, SeqBounds } from "../queue/job-store.ts";
import type { Claims } from "../queue/claims.ts";

export class BatchJobs {
  readonly #index: BatchIndex;
  readonly #store: JobStore;
  readonly #claims: Claims;

  constructor(index: BatchIndex, store: JobStore, claims: Claims) {
    this.#index = index;
    this.#store = store;
    this.#claims = claims;
  }

  /** The progress of a batch. That of an ended one is stored, since only a retry changes it; to be called in a turn. */
  progressOf(batch: Batch, now: number): BatchProgress {
    if (batch.state === "draft") return { waiting: 0, running: 0, completed: 0 };
    if (batch.endedCompleted !== null) return { waiting: 0, running: 0, completed: batch.endedCompleted };
    const progress = this.#countJobs(batch, now);
    if (!isActive(batch, progress)) this.#index.put({ ...batch, endedCompleted: progress.completed });
    return progress;
  }

  /** Whether jobs of the batch are retained. */
  hasRows({ ranges }: Batch): boolean {
    return ranges.some((range) => this.#store.hasRows(boundsOf(range)));
  }

  /** Jobs of a batch that a reader may see. */
  countVisible({ ranges }: Batch, now: number): number {
    return ranges.reduce((total, range) => total + this.#count(range, now).visible, 0);
  }

  /** A page of them, in the order of the requests. */
  visibleSeqs({ ranges }: Batch, offset: number, limit: number, now: number): number[] {
    const seqs: number[] = [];
    let skip = offset;
    for (const range of ranges) {
      if (seqs.length === limit) break;
      const found = this.#store.visibleSeqs(boundsOf(range), now, limit - seqs.length, skip);
      seqs.push(...found);
      // The page begins after this range, so its jobs are skipped.
      if (found.length === 0) skip -= Math.min(skip, this.#count(range, now).visible);
      else skip = 0;
    }
    return seqs;
  }

  #countJobs(batch: Batch, now: number): BatchProgress {
    let completed = batch.removedCompleted;
    let waiting = unstartedCount(batch);
    for (const range of batch.ranges) {
      const counts = this.#count(range, now);
      completed += counts.completed;
      waiting += counts.waiting;
    }
    return { waiting, running: this.#countRunning(batch, now), completed };
  }

  #countRunning({ ranges }: Batch, now: number): number {
    let running = 0;
    for (const { seq, expiresAt } of this.#claims.running.values()) {
      if (expiresAt > now && ranges.some(([from, count]) => seq >= from && seq < from + count)) running += 1;
    }
    return running;
  }

  #count(range: SeqRange, now: number): RangeCounts {
    return this.#store.countRange(boundsOf(range), this.#claims.headOf(priorityOf(range[0])), now);
  }
}

export function boundsOf([from, count]: SeqRange): SeqBounds {
  return { from, end: from + count };
}
