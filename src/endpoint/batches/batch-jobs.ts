/** The jobs of batches: how they stand, read from their ranges of the queue. */
import { isActive, unstartedCount, type Batch, type BatchProgress } from "../../domain/jobs/batch.ts";
import { priorityOf } from "../../domain/jobs/priorities.ts";
import type { SeqRange } from "../../domain/jobs/seq-ranges.ts";
import type { BatchIndex } from "./batch-index.ts";
import type { RangeCounts, JobRanges } from "../queue/job-store.ts";
import type { QueueLedger } from "../queue/queue-ledger.ts";

export class BatchJobs {
  readonly #index: BatchIndex;
  readonly #ranges: JobRanges;
  readonly #ledger: QueueLedger;

  constructor(index: BatchIndex, ranges: JobRanges, ledger: QueueLedger) {
    this.#index = index;
    this.#ranges = ranges;
    this.#ledger = ledger;
  }

  /** How far a batch is. What has ended is remembered, since only a retry changes it; call it inside a turn. */
  progressOf(batch: Batch, now: number): BatchProgress {
    if (batch.state === "draft") return { waiting: 0, running: 0, completed: 0 };
    if (batch.endedCompleted !== null) return { waiting: 0, running: 0, completed: batch.endedCompleted };
    const progress = this.#countJobs(batch, now);
    if (!isActive(batch, progress)) this.#index.put({ ...batch, endedCompleted: progress.completed });
    return progress;
  }

  /** Whether rows of its jobs are there. */
  hasRows({ ranges }: Batch): boolean {
    return ranges.some((range) => this.#ranges.hasRows(boundsOf(range)));
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
      const found = this.#ranges.visibleSeqs(boundsOf(range), now, limit - seqs.length, skip);
      seqs.push(...found);
      // What was skipped in vain lay before this range's end.
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
    for (const { seq, expiresAt } of this.#ledger.running.values()) {
      if (expiresAt > now && ranges.some(([from, count]) => seq >= from && seq < from + count)) running += 1;
    }
    return running;
  }

  #count(range: SeqRange, now: number): RangeCounts {
    return this.#ranges.count(boundsOf(range), this.#ledger.headOf(priorityOf(range[0])), now);
  }
}

export function boundsOf([from, count]: SeqRange): { readonly from: number; readonly end: number } {
  return { from, end: from + count };
}
