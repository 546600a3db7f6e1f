/**
 * What batches do over several turns, in steps of a bounded size. Every step leaves a state from which the next one
 * continues, so an eviction in between costs nothing: the alarm continues.
 */
import { BATCH_RETENTION_MS, type BatchIndex } from "./batch-index.ts";
import type { EndpointConfig } from "../../contract/endpoint.ts";
import {
  batchIdOf,
  isTurnFull,
  optionsInBatch,
  storedBytesWithout,
  type Batch,
  type BatchRequest,
} from "../../domain/jobs/batch.ts";
import { withSeqs, type SeqRange } from "../../domain/jobs/seq-ranges.ts";
import { boundsOf, type BatchJobs } from "./batch-jobs.ts";
import type { Pack } from "./batch-store.ts";
import type { EndpointFacts } from "../facts/endpoint-facts.ts";
import type { OrphanedPayloads } from "../queue/job-storage.ts";
import type { JobStore } from "../queue/job-store.ts";
import type { Queue } from "../queue/queue.ts";

/** A call continues the work at once; after this time the alarm does, in case the call was lost. */
const CONTINUE_AFTER_MS = 1_000;
const CANCELS_PER_STEP = 250;

export type BatchWorkParts = {
  readonly facts: EndpointFacts;
  readonly queue: Queue;
  readonly index: BatchIndex;
  readonly jobs: BatchJobs;
  readonly jobStore: JobStore;
  readonly orphans: OrphanedPayloads;
};

export class BatchWork {
  readonly #parts: BatchWorkParts;
  /** Ranges of a batch whose jobs are still to be cancelled; all of them again after a loss of memory. */
  #toCancel: { readonly number: number; readonly ranges: SeqRange[] } | null = null;

  constructor(parts: BatchWorkParts) {
    this.#parts = parts;
  }

  /** Does one step, inside a turn; false when nothing is left to do. */
  step(now: number): boolean {
    const { facts, index } = this.#parts;
    const { config } = facts;
    const batch = index.atWork;
    if (!config || !batch) return false;
    if (batch.state === "starting") this.#start(batch, config, now);
    else this.#cancel(batch, now);
    return index.atWork !== undefined;
  }

  /** A purge also cancels the requests that are about to be queued. */
  purge(): void {
    for (const batch of this.#parts.index.newestFirst) {
      if (batch.state === "starting") this.#parts.index.put({ ...batch, state: "cancelling" });
    }
  }

  /** Cancels untouched drafts, and forgets batches of which nothing is left. */
  sweep(now: number): void {
    const { index, jobs } = this.#parts;
    if (index.dueAt === null || now < index.dueAt) return;
    for (const batch of index.newestFirst) {
      if (now < batch.touchedAt + BATCH_RETENTION_MS || index.hasChanged(batch.number)) continue;
      if (batch.state === "draft") index.put({ ...batch, state: "cancelling" });
      else if (batch.state === "starting" || batch.state === "cancelling" || jobs.hasRows(batch)) {
        index.put(batch);
      } else index.forget(batch.number);
    }
  }

  /** When the alarm must ring for batches; null for never. */
  nextAt(now: number): number | null {
    const { index } = this.#parts;
    return index.atWork ? now + CONTINUE_AFTER_MS : index.dueAt;
  }

  /** The payload of a removed request is deleted. */
  dropRequest(request: BatchRequest): void {
    if (request.input.kind === "stored") this.#parts.orphans.add(request.input.key);
  }

  // Starting

  #start(batch: Batch, config: EndpointConfig, now: number): void {
    const { facts, index } = this.#parts;
    facts.recordWork(now);
    const batchId = batchIdOf(batch);
    const seqs: number[] = [];
    let { storedBytes } = batch;
    const isDone = this.#takePacks(batch, ({ requests }) => {
      storedBytes = storedBytesWithout({ storedBytes }, requests);
      for (const request of requests) {
        if (request) seqs.push(this.#submit(request, batchId, config, now));
      }
      return seqs.length;
    });
    const ranges = withSeqs(batch.ranges, seqs);
    if (isDone) index.put({ ...batch, ranges, storedBytes: 0, state: "started" });
    else index.put({ ...batch, ranges, storedBytes, state: "starting" });
  }

  #submit(request: BatchRequest, batchId: string, config: EndpointConfig, now: number): number {
    const { input, optionsJson, hasWebhook, isLowPriority, ttlMs, executionTimeoutMs } = request;
    const newJob = {
      isSync: false,
      priority: isLowPriority ? "low" : "normal",
      ttlMs,
      executionTimeoutMs: executionTimeoutMs ?? config.executionTimeoutMs,
      retentionMs: BATCH_RETENTION_MS,
      request: { input, optionsJson: optionsInBatch(optionsJson, batchId) },
      idempotencyKey: null,
      hasWebhook,
    } as const;
    return this.#parts.queue.submit(newJob, undefined, now).seq;
  }

  /** Takes as many packs as one turn may; `use` returns the number of requests so far. True when all are taken. */
  #takePacks(batch: Batch, use: (pack: Pack) => number): boolean {
    let requests = 0;
    let characters = 0;
    while (!isTurnFull(requests, characters)) {
      const pack = this.#parts.index.store.takePack(batch.number);
      if (!pack) return true;
      requests = use(pack);
      characters += pack.characters;
    }
    return this.#parts.index.store.outlines(batch.number).length === 0;
  }

  // Cancelling

  #cancel(batch: Batch, now: number): void {
    let { storedBytes } = batch;
    const isUnpacked = this.#takePacks(batch, ({ requests }) => {
      storedBytes = storedBytesWithout({ storedBytes }, requests);
      for (const request of requests) if (request) this.dropRequest(request);
      return 0;
    });
    if (!isUnpacked) this.#parts.index.put({ ...batch, storedBytes });
    else if (this.#cancelJobs(batch, now)) {
      this.#parts.index.put({ ...batch, storedBytes: 0, state: "cancelled" });
    } else if (batch.storedBytes > 0) this.#parts.index.put({ ...batch, storedBytes: 0 });
  }

  /** Looks at a bounded number of rows; true when none is left. */
  #cancelJobs(batch: Batch, now: number): boolean {
    if (this.#toCancel?.number !== batch.number) {
      this.#toCancel = { number: batch.number, ranges: [...batch.ranges] };
    }
    const { ranges } = this.#toCancel;
    for (let left = CANCELS_PER_STEP; left > 0; left -= 1) {
      const range = ranges.shift();
      if (!range) {
        this.#toCancel = null;
        return true;
      }
      const { examined, rest } = this.#cancelRange(range, left, now);
      left -= examined;
      if (rest) ranges.unshift(rest);
    }
    return false;
  }

  #cancelRange(range: SeqRange, limit: number, now: number): { examined: number; rest: SeqRange | null } {
    const { queue, jobStore } = this.#parts;
    const { from, end } = boundsOf(range);
    const seqs = jobStore.queuedSeqs({ from, end }, limit);
    for (const seq of seqs) {
      const stored = queue.get(seq);
      if (stored?.job.state === "queued") queue.apply(stored, { kind: "cancel" }, now);
    }
    const next = (seqs.at(-1) ?? end) + 1;
    const rest: SeqRange | null = seqs.length < limit || next >= end ? null : [next, end - next];
    return { examined: seqs.length, rest };
  }
}
