/**
 * The batches of an endpoint in memory, as their rows describe them. What a turn changes is written when the
 * turn ends, one row for each changed batch.
 */
import { decodeBatchId, isAtWork, type Batch } from "../../domain/jobs/batch.ts";
import type { StoredJob } from "../../domain/jobs/job-machine.ts";
import { SeqOwners } from "../../domain/jobs/seq-ranges.ts";
import { earliest } from "../../std/earliest.ts";
import type { BatchStore } from "./batch-store.ts";

/** Batches of an endpoint that are retained; beyond it the oldest that have ended are removed early. */
const BATCHES_RETAINED_MAX = 500;

/** How long an untouched draft is kept, and the result of a batch's job: until the morning after a night's work. */
export const BATCH_RETENTION_MS = 24 * 3_600_000;

export class BatchIndex {
  readonly store: BatchStore;
  readonly #batches = new Map<number, Batch>();
  readonly #changed = new Set<number>();
  #owners: SeqOwners<number> | null = null;
  #storedBytes = 0;

  constructor(store: BatchStore) {
    this.store = store;
  }

  load(): void {
    for (const batch of this.store.all()) {
      this.#batches.set(batch.number, batch);
      this.#storedBytes += batch.storedBytes;
    }
  }

  // Reading

  get size(): number {
    return this.#batches.size;
  }

  /** Whether one more would be too many. */
  get isFull(): boolean {
    return this.#batches.size >= BATCHES_RETAINED_MAX;
  }

  /** Bytes in R2 of requests that are not jobs yet. */
  get storedBytes(): number {
    return this.#storedBytes;
  }

  /** All batches, the newest first. */
  get newestFirst(): Batch[] {
    return [...this.#batches.values()].toReversed();
  }

  get nextNumber(): number {
    return Math.max(0, ...this.#batches.keys()) + 1;
  }

  find(batchId: string): Batch | undefined {
    const id = decodeBatchId(batchId);
    const batch = id && this.#batches.get(id.number);
    return batch?.nonce === id?.nonce ? batch : undefined;
  }

  get(number: number): Batch | undefined {
    return this.#batches.get(number);
  }

  findByKey(idempotencyKey: string): Batch | undefined {
    return this.newestFirst.find((batch) => batch.idempotencyKey === idempotencyKey);
  }

  /** A batch whose work takes several turns and is not done. */
  get atWork(): Batch | undefined {
    return [...this.#batches.values()].find(isAtWork);
  }

  // Changing

  /** Stores a new batch, or a change of a known one. */
  put(batch: Batch): void {
    const before = this.#batches.get(batch.number);
    if (before?.ranges !== batch.ranges) this.#owners = null;
    this.#storedBytes += batch.storedBytes - (before?.storedBytes ?? 0);
    this.#batches.set(batch.number, batch);
    this.#changed.add(batch.number);
  }

  /** Whether this turn changed the batch: `touchedAt` then still is the time of an earlier change. */
  hasChanged(number: number): boolean {
    return this.#changed.has(number);
  }

  forget(number: number): void {
    this.#storedBytes -= this.#batches.get(number)?.storedBytes ?? 0;
    this.#batches.delete(number);
    this.#changed.delete(number);
    this.#owners = null;
    this.store.remove(number);
  }

  // Jobs

  /** To be called for every job whose row is removed. */
  jobRemoved(seq: number, { state }: StoredJob): void {
    const batch = state === "completed" ? this.#ownerOf(seq) : undefined;
    if (batch) this.put({ ...batch, removedCompleted: batch.removedCompleted + 1 });
  }

  /** To be called for every job that is queued again: its batch may have ended before. */
  jobRequeued(seq: number): void {
    const batch = this.#ownerOf(seq);
    if (batch && batch.endedCompleted !== null) this.put({ ...batch, endedCompleted: null });
  }

  #ownerOf(seq: number): Batch | undefined {
    if (this.#batches.size === 0) return undefined;
    this.#owners ??= new SeqOwners([...this.#batches.values()].map(({ number, ranges }) => [number, ranges]));
    const number = this.#owners.find(seq);
    return number === undefined ? undefined : this.#batches.get(number);
  }

  // Lasting

  /** Writes what changed in this turn. */
  persist(now: number): void {
    for (const number of this.#changed) {
      const batch = this.#batches.get(number);
      if (!batch) continue;
      const touched = { ...batch, touchedAt: now };
      this.#batches.set(number, touched);
      this.store.save(touched);
    }
    this.#changed.clear();
  }

  /** When a batch may be forgotten; null for never. */
  get dueAt(): number | null {
    return earliest(this.#batches.values().map(({ touchedAt }) => touchedAt + BATCH_RETENTION_MS));
  }
}
