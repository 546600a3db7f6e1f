/**
 * When rows must be swept for ttl and retention, without an index on either.
 *
 * Rows are grouped in segments of consecutive sequence numbers; memory has the earliest deadline of each segment. Readers
 * check expiry exactly; the sweep only frees the space, so deadlines are rounded up and a segment is swept once for many
 * rows. A checkpoint of the ledger carries the segments while they are few, so that a wake reads no row again that was
 * known then. Without that the segments are unknown after a restart until `record` was called for every row.
 */
import { PRIORITY_END, PRIORITY_START } from "../../domain/jobs/priorities.ts";
import { earliest } from "../../std/earliest.ts";
import type { SeqBounds } from "./job-store.ts";

/** Few enough that a sweep for some rows reads few others. */
const SEGMENT_ROWS = 128;
const GRAIN_MS = 10_000;
/** More segments are not worth their place in each checkpoint. */
const STORED_MAX = 256;

const ALL: SeqBounds = { from: PRIORITY_START.normal, end: PRIORITY_END.low };

/** The segments in a checkpoint; valid while segments have this many rows. */
export type StoredDeadlines = {
  readonly segmentRows: number;
  readonly dueAt: readonly (readonly [segment: number, at: number])[];
};

type RowDeadline = { readonly seq: number; readonly at: number };

export class SegmentDeadlines {
  readonly #dueAt = new Map<number, number>();
  #nextAt: number | null = null;
  /** Where rows are that were not recorded since memory was lost, in their order. */
  #unread: readonly SeqBounds[] = [ALL];

  /** The row `seq` is due at `at`, epoch ms. Returns whether its segment is due earlier by that. */
  record(seq: number, at: number): boolean {
    const roundedAt = Math.ceil(at / GRAIN_MS) * GRAIN_MS;
    const segment = Math.floor(seq / SEGMENT_ROWS);
    if (this.#nextAt === null || roundedAt < this.#nextAt) this.#nextAt = roundedAt;
    const knownAt = this.#dueAt.get(segment);
    if (knownAt !== undefined && knownAt <= roundedAt) return false;
    this.#dueAt.set(segment, roundedAt);
    return true;
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
  takeDue(now: number, limit: number): SeqBounds[] {
    if (this.#nextAt === null || now < this.#nextAt) return [];
    const due = [...this.#dueAt].filter(([, at]) => at <= now).slice(0, limit);
    for (const [segment] of due) this.#dueAt.delete(segment);
    this.#nextAt = earliest(this.#dueAt.values());
    return due.map(([segment]) => ({ from: segment * SEGMENT_ROWS, end: (segment + 1) * SEGMENT_ROWS }));
  }

  // After a loss of memory

  /** Whether every row was recorded. */
  get isComplete(): boolean {
    return this.#unread.length === 0;
  }

  /** For a checkpoint; undefined when a restart has to read the rows. */
  get stored(): StoredDeadlines | undefined {
    if (!this.isComplete || this.#dueAt.size > STORED_MAX) return undefined;
    return { segmentRows: SEGMENT_ROWS, dueAt: [...this.#dueAt] };
  }

  /** Takes over those of a checkpoint, or none of an object without one; the rows of `unread` are not in them. */
  restore(stored: StoredDeadlines, unread: readonly SeqBounds[]): void {
    if (stored.segmentRows !== SEGMENT_ROWS) return;
    for (const [segment, at] of stored.dueAt) this.record(segment * SEGMENT_ROWS, at);
    this.#unread = unread.filter(({ from, end }) => from < end);
  }

  /** Records rows that were not read yet, up to `limit` of them. */
  readOn(read: (from: number, end: number, limit: number) => readonly RowDeadline[], limit: number): void {
    const [range, ...others] = this.#unread;
    if (!range) return;
    const rows = read(range.from, range.end, limit);
    for (const { seq, at } of rows) this.record(seq, at);
    const last = rows.at(-1);
    this.#unread =
      last && rows.length === limit ? [{ from: last.seq + 1, end: range.end }, ...others] : others;
  }
}

/** The segments of an object that has no rows. */
export const NO_DEADLINES: StoredDeadlines = { segmentRows: SEGMENT_ROWS, dueAt: [] };
