/**
 * When rows must be swept for ttl and retention, without an index on either.
 *
 * Rows are grouped in segments of consecutive sequence numbers; memory has the earliest deadline of each segment. Readers
 * check expiry exactly; the sweep only frees the space, so deadlines are rounded up and a segment is swept once for many
 * rows. After a restart the segments are unknown until `record` was called for every row (see Queue.sweep).
 */
import { earliest } from "../../std/earliest.ts";

const SEGMENT_ROWS = 1_024;
const GRAIN_MS = 10_000;

export type Segment = { readonly from: number; readonly end: number };

export class SegmentDeadlines {
  readonly #dueAt = new Map<number, number>();
  #nextAt: number | null = null;

  /** The row `seq` is due at `at`, epoch ms. */
  record(seq: number, at: number): void {
    const roundedAt = Math.ceil(at / GRAIN_MS) * GRAIN_MS;
    const segment = Math.floor(seq / SEGMENT_ROWS);
    const knownAt = this.#dueAt.get(segment);
    if (knownAt === undefined || roundedAt < knownAt) this.#dueAt.set(segment, roundedAt);
    if (this.#nextAt === null || roundedAt < this.#nextAt) this.#nextAt = roundedAt;
  }

  /** The same for all rows from `from` to before `end`. */
  recordRange(from: number, end: number, at: number): void {
    for (let seq = from; seq < end; seq = (Math.floor(seq / SEGMENT_ROWS) + 1) * SEGMENT_ROWS)
      this.record(seq, at);
  }

  /** Earliest time at which some segment is due; may be too early, never too late. */
  get nextAt(): number | null {
    return this.#nextAt;
  }

  /** Takes out up to `limit` due segments; rows that stay must be recorded again. */
  takeDue(now: number, limit: number): Segment[] {
    if (this.#nextAt === null || now < this.#nextAt) return [];
    const due = [...this.#dueAt].filter(([, at]) => at <= now).slice(0, limit);
    for (const [segment] of due) this.#dueAt.delete(segment);
    this.#nextAt = earliest(this.#dueAt.values());
    return due.map(([segment]) => ({ from: segment * SEGMENT_ROWS, end: (segment + 1) * SEGMENT_ROWS }));
  }
}
