/** The operations of the batch API, limits included. */
import type { BatchSummary } from "../../contract/batch.ts";
import { QUEUE_DEPTH_MAX } from "../../contract/limits.ts";
import {
  batchIdOf,
  decodeRequestId,
  failedCount,
  isActive,
  isAtWork,
  requestIdOf,
  sizeOfPacks,
  statusOf,
  storedBytesWithout,
  type Batch,
  type BatchPack,
} from "../../domain/jobs/batch.ts";
import { wireStatusOf } from "../../domain/jobs/job-view.ts";
import type { GroupCommit } from "../../durable/group-commit.ts";
import type { FeatureHooks } from "../commit-hooks.ts";
import type { BatchIndex } from "./batch-index.ts";
import { BatchJobs } from "./batch-jobs.ts";
import type {
  BatchCall,
  BatchListOutcome,
  BatchOutcome,
  BatchRequestsCall,
  BatchRequestsOutcome,
  BatchRequestView,
} from "./messages.ts";
import { BatchWork } from "./batch-work.ts";
import type { EndpointFacts } from "../facts/endpoint-facts.ts";
import { publicId, randomNonce, type JobStore } from "../queue/job-store.ts";
import type { Limited, RateLimited } from "../messages.ts";
import type { Claims } from "../queue/claims.ts";
import type { JobStorage, OrphanedPayloads } from "../queue/job-storage.ts";
import type { QueueLedger } from "../queue/queue-ledger.ts";
import type { Queue } from "../queue/queue.ts";
import { queueFull, tooManyBatches, type RequestLimits } from "../limits/request-limits.ts";
import { BATCH_REQUESTS_MAX } from "../../contract/batch.ts";

/** Drafts, and batches of which something is still queued or running. */
const ACTIVE_BATCHES_MAX = 10;

/** Time after which a client gets its answer; remaining work continues without it. */
const WORK_FOR_MS = 2_000;
/** As many inline outputs as fit into one message. */
const REQUESTS_PER_MESSAGE = 50;

export type BatchHandlersParts = {
  readonly facts: EndpointFacts;
  readonly queue: Queue;
  readonly ledger: QueueLedger;
  readonly limits: RequestLimits;
  readonly storage: JobStorage;
  readonly commit: GroupCommit;
  readonly index: BatchIndex;
  readonly jobs: BatchJobs;
  readonly work: BatchWork;
};

export type OpenBatchesParts = Omit<BatchHandlersParts, "jobs" | "work"> & {
  readonly claims: Claims;
  readonly jobStore: JobStore;
  readonly orphans: OrphanedPayloads;
};

/** Opens the batches of an endpoint. */
export function openBatches({ claims, jobStore, orphans, ...parts }: OpenBatchesParts): BatchHandlers {
  const { facts, queue, index } = parts;
  const jobs = new BatchJobs(index, jobStore, claims);
  const work = new BatchWork({ facts, queue, index, jobs, jobStore, orphans });
  return new BatchHandlers({ ...parts, jobs, work });
}

export class BatchHandlers {
  readonly #parts: BatchHandlersParts;

  constructor(parts: BatchHandlersParts) {
    this.#parts = parts;
  }

  get hooks(): FeatureHooks {
    const { index, work } = this.#parts;
    return {
      recover: () => index.load(),
      jobRequeued: (seq) => index.jobRequeued(seq),
      commit: (_, now) => index.persist(now),
      nextAt: (now) => work.nextAt(now),
      sweep: (now) => work.sweep(now),
      purged: () => work.purge(),
    };
  }

  /** Carries out one operation on one batch. */
  execute(call: BatchCall): Promise<Limited<BatchOutcome>> {
    const { limits, commit, index } = this.#parts;
    return limits.admit<BatchOutcome>("batch", Date.now(), async () => {
      const outcome = await commit.run(() => this.#decide(call, Date.now()));
      if (outcome.kind !== "batch" || !index.atWork) return outcome;
      await this.continueWork();
      return commit.run(() => this.#decide({ kind: "look", batchId: outcome.batch.id }, Date.now()));
    });
  }

  /** Continues what takes several turns, with other turns in between, until it is done or a moment is over. */
  async continueWork(): Promise<void> {
    const { commit, index, work } = this.#parts;
    const untilAt = Date.now() + WORK_FOR_MS;
    while (index.atWork && Date.now() < untilAt) {
      if (!(await commit.run(() => work.step(Date.now())))) return;
      await scheduler.wait(0); // a commit on a fast disk does not yield to other events
    }
  }

  /** The batches of the endpoint, the newest first. */
  list({ offset, limit }: { offset: number; limit: number }): Promise<Limited<BatchListOutcome>> {
    const { limits, commit, index } = this.#parts;
    const work = (): BatchListOutcome => {
      const now = Date.now();
      const batches = index.newestFirst.slice(offset, offset + limit).map((batch) => this.#show(batch, now));
      const page = {
        batches,
        total: index.size,
        offset,
        limit,
        hasMore: offset + limit < index.size,
      };
      return { kind: "batches", page };
    };
    return limits.admit("batch", Date.now(), () => commit.run(work));
  }

  /** The requests of a batch in their order, as far as they are retained. */
  async requests(call: BatchRequestsCall): Promise<Limited<BatchRequestsOutcome>> {
    const { limits } = this.#parts;
    const work = async () => this.#pageOf(call, Date.now());
    if (call.isFirst) return limits.admit<BatchRequestsOutcome>("batch", Date.now(), work);
    return { ...(await work()), quota: null };
  }

  // Operations, inside a turn

  #decide(call: BatchCall, now: number): BatchOutcome {
    if (!this.#parts.facts.config) return { kind: "unconfigured" };
    if (call.kind === "create") return this.#create(call.packs, call.idempotencyKey, now);
    const batch = this.#parts.index.find(call.batchId);
    if (!batch) return NO_BATCH;
    switch (call.kind) {
      case "append":
        return this.#inDraft(
          batch,
          now,
          () => this.#refuse(call.packs) ?? this.#append(batch, call.packs, now),
        );
      case "remove_request":
        return this.#inDraft(batch, now, () => this.#removeRequest(batch, call.requestId, now));
      case "rename":
        return this.#put({ ...batch, name: call.name }, now);
      case "finalize":
        return this.#finalize(batch, now);
      case "cancel":
        return this.#cancel(batch, now);
      case "look":
        return this.#found(batch, now);
    }
  }

  #create(packs: readonly BatchPack[], idempotencyKey: string | null, now: number): BatchOutcome {
    const { index } = this.#parts;
    const known = idempotencyKey === null ? undefined : index.findByKey(idempotencyKey);
    if (known) return { ...this.#found(known, now), isNew: false };
    if (index.newestFirst.filter((batch) => this.#isActive(batch, now)).length >= ACTIVE_BATCHES_MAX) {
      return tooManyBatches(ACTIVE_BATCHES_MAX);
    }
    const limited = this.#refuse(packs);
    if (limited) return limited;
    this.#forgetOldest(now);
    const batch: Batch = {
      number: index.nextNumber,
      nonce: randomNonce(),
      state: "draft",
      name: null,
      createdAt: now,
      touchedAt: now,
      requestCount: 0,
      nextRequest: 0,
      ranges: [],
      removedCompleted: 0,
      endedCompleted: null,
      idempotencyKey,
      storedBytes: 0,
    };
    return this.#append(batch, packs, now);
  }

  /** Refuses packs for which there is no storage. */
  #refuse(packs: readonly BatchPack[]): RateLimited | undefined {
    return this.#parts.storage.refuse("batch", sizeOfPacks(packs));
  }

  /** Forgets the oldest batch that has ended when one more would be too many. */
  #forgetOldest(now: number): void {
    const { index } = this.#parts;
    if (!index.isFull) return;
    const oldest = index.newestFirst.findLast((batch) => !this.#isActive(batch, now));
    if (oldest) index.forget(oldest.number);
  }

  #append(batch: Batch, packs: readonly BatchPack[], now: number): BatchOutcome {
    const requestCount = packs.reduce((total, { count }) => total + count, batch.requestCount);
    if (requestCount > BATCH_REQUESTS_MAX) return { kind: "too_many_requests", requestTotal: requestCount };
    let { nextRequest, storedBytes } = batch;
    for (const pack of packs) {
      this.#parts.index.store.addPack(batch.number, nextRequest, pack.count, pack.json);
      nextRequest += pack.count;
      storedBytes += pack.storedBytes ?? 0;
    }
    return this.#put({ ...batch, requestCount, nextRequest, storedBytes }, now);
  }

  #removeRequest(batch: Batch, requestId: string, now: number): BatchOutcome {
    const { work, index: batches } = this.#parts;
    const { store } = batches;
    const number = decodeRequestId(requestId);
    const pack = number === undefined ? undefined : store.packOf(batch.number, number);
    const index = (number ?? 0) - (pack?.first ?? 0);
    const request = pack?.requests[index];
    if (!pack || !request) return { kind: "request_not_found" };
    work.dropRequest(request);
    store.replacePack(batch.number, { ...pack, requests: pack.requests.with(index, null) });
    const storedBytes = storedBytesWithout(batch, [request]);
    return this.#put({ ...batch, requestCount: batch.requestCount - 1, storedBytes }, now);
  }

  /** Starts a draft; a started one is left unchanged. */
  #finalize(batch: Batch, now: number): BatchOutcome {
    if (batch.state === "starting" || batch.state === "started") return this.#found(batch, now);
    return this.#inDraft(batch, now, () => {
      const { facts, ledger } = this.#parts;
      const depthMax = facts.config?.queueDepthMax ?? QUEUE_DEPTH_MAX;
      if (ledger.queued + batch.requestCount > depthMax) return queueFull("batch", depthMax);
      return this.#put({ ...batch, state: "starting" }, now);
    });
  }

  /** May be repeated: a job that ran may have been queued again. */
  #cancel(batch: Batch, now: number): BatchOutcome {
    const { waiting } = this.#parts.jobs.progressOf(batch, now);
    const isOver = batch.state === "cancelling" || (batch.state === "cancelled" && waiting === 0);
    return isOver ? this.#found(batch, now) : this.#put({ ...batch, state: "cancelling" }, now);
  }

  #inDraft(batch: Batch, now: number, work: () => BatchOutcome): BatchOutcome {
    if (batch.state === "draft") return work();
    return { kind: "not_a_draft", status: this.#show(batch, now).status };
  }

  // Showing

  #put(batch: Batch, now: number): BatchOutcome {
    this.#parts.index.put(batch);
    return this.#found(batch, now);
  }

  #found(batch: Batch, now: number) {
    return { kind: "batch", batch: this.#show(batch, now), isNew: true } as const;
  }

  #isActive(batch: Batch, now: number): boolean {
    return isAtWork(batch) || isActive(batch, this.#parts.jobs.progressOf(batch, now));
  }

  #show(batch: Batch, now: number): BatchSummary {
    const progress = this.#parts.jobs.progressOf(batch, now);
    return {
      id: batchIdOf(batch),
      endpointId: this.#parts.facts.config?.endpointId ?? "",
      ...(batch.name !== null && { name: batch.name }),
      status: statusOf(batch, progress),
      requestTotal: batch.requestCount,
      requestInProgress: progress.running,
      requestCompleted: progress.completed,
      requestFailed: failedCount(batch, progress),
      createdAt: batch.createdAt,
    };
  }

  // Requests

  #pageOf({ batchId, offset, limit }: BatchRequestsCall, now: number): BatchRequestsOutcome {
    const { index, jobs } = this.#parts;
    const batch = index.find(batchId);
    if (!batch) return NO_BATCH;
    const count = Math.min(limit, REQUESTS_PER_MESSAGE);
    if (batch.state === "draft") {
      const requests = this.#draftPage(batch, offset, count);
      return { kind: "batch_requests", requests, total: batch.requestCount };
    }
    const seqs = jobs.visibleSeqs(batch, offset, count, now);
    const requests = seqs.flatMap((seq) => this.#viewRequest(seq) ?? []);
    return { kind: "batch_requests", requests, total: jobs.countVisible(batch, now) };
  }

  /** Reads only the packs of the page. */
  #draftPage({ number }: Batch, offset: number, limit: number): BatchRequestView[] {
    const { store } = this.#parts.index;
    const page: BatchRequestView[] = [];
    let before = 0;
    for (const { first, live } of store.outlines(number)) {
      if (before < offset + limit && before + live > offset) {
        const ids = (store.packOf(number, first)?.requests ?? [])
          .map((request, index) => (request ? requestIdOf(first + index) : null))
          .filter((id) => id !== null);
        const selected = ids.slice(Math.max(0, offset - before), offset + limit - before);
        page.push(...selected.map((id) => ({ id, ...DRAFT })));
      }
      before += live;
    }
    return page;
  }

  #viewRequest(seq: number): BatchRequestView | undefined {
    const stored = this.#parts.queue.get(seq);
    if (!stored) return undefined;
    const { state, error, startedAt, finishedAt, output } = stored.job;
    return { id: publicId(stored), status: wireStatusOf(state), error, startedAt, finishedAt, output };
  }
}

const NO_BATCH = { kind: "batch_not_found" } as const;
const DRAFT = { status: "DRAFT", error: null, startedAt: null, finishedAt: null, output: null } as const;
