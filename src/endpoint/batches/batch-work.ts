/**
 * What batches do over several turns, in steps of a bounded size. Every step leaves behind a state from which
 * the next one goes on, so an eviction in between costs nothing: the alarm goes on.
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
import type { BatchStore, Pack } from "./batch-store.ts";
import type { EndpointFacts } from "../endpoint-facts.ts";
import { randomNonce } from "../queue/job-reference.ts";
import type { JobRanges } from "../queue/job-store.ts";
import type { Queue } from "../queue/queue.ts";

/** Somebody who called for the work does it at once; this is when the alarm does, if nobody has. */
const GO_ON_AFTER_MS = 1_000;
const CANCELS_PER_STEP = 250;

export type BatchWorkParts = {
  readonly facts: EndpointFacts;
  readonly queue: Queue;
  readonly batchIndex: BatchIndex;
  readonly store: BatchStore;
  readonly jobs: BatchJobs;
  readonly ranges: JobRanges;
};

export class BatchWork {
  readonly #parts: BatchWorkParts;
  /** Ranges of a batch whose jobs are still to be cancelled; begun anew after a loss of memory. */
  #toCancel: { readonly number: number; readonly ranges: SeqRange[] } | null = null;
  #orphanedKeys: string[] = [];

  constructor(parts: BatchWorkParts) {
    this.#parts = parts;
  }

  /** Does one step, inside a turn; false when nothing is left to do. */
  step(now: number): boolean {
    const { facts, batchIndex } = this.#parts;
    const { config } = facts;
    const batch = batchIndex.atWork;
    if (!config || !batch) return false;
    if (batch.state === "starting") this.#start(batch, config, now);
    else this.#cancel(batch, now);
    return batchIndex.atWork !== undefined;
  }

  /** A purge takes what waits, and what is about to. */
  purge(): void {
    for (const batch of this.#parts.batchIndex.newestFirst) {
      if (batch.state === "starting") this.#parts.batchIndex.put({ ...batch, state: "cancelling" });
    }
  }

  /** Cancels drafts that nobody touched, and forgets batches of which nothing is left. */
  sweep(now: number): void {
    const { batchIndex, jobs } = this.#parts;
    if (batchIndex.dueAt === null || now < batchIndex.dueAt) return;
    for (const batch of batchIndex.newestFirst) {
      if (now < batch.touchedAt + BATCH_RETENTION_MS || batchIndex.hasChanged(batch.number)) continue;
      if (batch.state === "draft") batchIndex.put({ ...batch, state: "cancelling" });
      else if (batch.state === "starting" || batch.state === "cancelling" || jobs.hasRows(batch)) {
        batchIndex.put(batch);
      } else batchIndex.forget(batch.number);
    }
  }

  /** When the alarm must ring for batches; null for never. */
  nextAt(now: number): number | null {
    const { batchIndex } = this.#parts;
    return batchIndex.atWork ? now + GO_ON_AFTER_MS : batchIndex.dueAt;
  }

  /** A request that was removed leaves its payload behind. */
  dropRequest(request: BatchRequest): void {
    if (request.input.kind === "stored") this.#orphanedKeys.push(request.input.key);
  }

  /** Keys of payloads whose requests are gone. */
  takeOrphanedKeys(): string[] {
    const keys = this.#orphanedKeys;
    this.#orphanedKeys = [];
    return keys;
  }

  // Starting

  #start(batch: Batch, config: EndpointConfig, now: number): void {
    const { facts, batchIndex } = this.#parts;
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
    if (isDone) batchIndex.put({ ...batch, ranges, storedBytes: 0, state: "started" });
    else batchIndex.put({ ...batch, ranges, storedBytes, state: "starting" });
  }

  #submit(request: BatchRequest, batchId: string, config: EndpointConfig, now: number): number {
    const { input, optionsJson, hasWebhook, isLowPriority, ttlMs, executionTimeoutMs } = request;
    const submission = {
      nonce: randomNonce(),
      isSync: false,
      priority: isLowPriority ? "low" : "normal",
      ttlMs,
      executionTimeoutMs: executionTimeoutMs ?? config.executionTimeoutMs,
      retentionMs: BATCH_RETENTION_MS,
      order: { input, optionsJson: optionsInBatch(optionsJson, batchId) },
      idempotencyKey: null,
      hasWebhook,
    } as const;
    return this.#parts.queue.submit(submission, undefined, now).seq;
  }

  /** Takes as many packs as one turn may; `use` says how many requests there were so far. True when all are taken. */
  #takePacks(batch: Batch, use: (pack: Pack) => number): boolean {
    let requests = 0;
    let characters = 0;
    while (!isTurnFull(requests, characters)) {
      const pack = this.#parts.store.takePack(batch.number);
      if (!pack) return true;
      requests = use(pack);
      characters += pack.characters;
    }
    return this.#parts.store.outlines(batch.number).length === 0;
  }

  // Cancelling

  #cancel(batch: Batch, now: number): void {
    let { storedBytes } = batch;
    const isUnpacked = this.#takePacks(batch, ({ requests }) => {
      storedBytes = storedBytesWithout({ storedBytes }, requests);
      for (const request of requests) if (request) this.dropRequest(request);
      return 0;
    });
    if (!isUnpacked) this.#parts.batchIndex.put({ ...batch, storedBytes });
    else if (this.#cancelJobs(batch, now)) {
      this.#parts.batchIndex.put({ ...batch, storedBytes: 0, state: "cancelled" });
    } else if (batch.storedBytes > 0) this.#parts.batchIndex.put({ ...batch, storedBytes: 0 });
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
    const { queue, ranges } = this.#parts;
    const { from, end } = boundsOf(range);
    const seqs = ranges.queuedSeqs({ from, end }, limit);
    for (const seq of seqs) {
      const stored = queue.get(seq);
      if (stored?.job.state === "queued") queue.apply(stored, { kind: "cancel" }, now);
    }
    const next = (seqs.at(-1) ?? end) + 1;
    const rest: SeqRange | null = seqs.length < limit || next >= end ? null : [next, end - next];
    return { examined: seqs.length, rest };
  }
}
