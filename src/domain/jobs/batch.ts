/**
 * Batches: many jobs under one name.
 *
 *   draft ------> starting ------> started
 *     |  finalize     |               |
 *     |               +----> cancelling (cancel)
 *     +--------------------------> cancelled
 *
 * B1  The requests of a draft are in packs. Starting turns packs into jobs, in bounded steps: what is still in
 *     a pack is still to be done, so a step is never done twice and none is forgotten.
 * B2  A batch is the ranges of its jobs in the queue, in the order of its requests. Jobs do not know it.
 * B3  Completed jobs are counted when their rows are removed; a job that has no row and is not counted has failed.
 */
import type { BatchStatus } from "../../contract/batch.ts";
import { storedBytesOf, type Payload } from "./job-machine.ts";
import { countSeqs, type SeqRanges } from "./seq-ranges.ts";

export const BATCH_STATES = ["draft", "starting", "started", "cancelling", "cancelled"] as const;
export type BatchState = (typeof BATCH_STATES)[number];

export type Batch = {
  /** Counts the batches of an endpoint. */
  readonly number: number;
  readonly nonce: string;
  readonly state: BatchState;
  readonly name: string | null;
  readonly createdAt: number;
  /** Last time that something was written of it. */
  readonly touchedAt: number;
  readonly requestCount: number;
  /** Requests that ever were in it, those removed again included; the next one gets this number. */
  readonly nextRequest: number;
  readonly ranges: SeqRanges;
  /** Completed jobs whose rows are gone (B3). */
  readonly removedCompleted: number;
  /** Completed jobs at the moment when nothing waited or ran any more; null while something does. */
  readonly endedCompleted: number | null;
  readonly idempotencyKey: string | null;
  /** Bytes in R2 of requests that are no jobs yet. */
  readonly storedBytes: number;
};

/** A request as it lies in a pack: what a job is submitted with. */
export type BatchRequest = {
  readonly input: Payload;
  /** JSON object of what else the worker gets. */
  readonly optionsJson: string;
  readonly hasWebhook: boolean;
  readonly isLowPriority: boolean;
  readonly ttlMs: number;
  /** Null for the endpoint's default. */
  readonly executionTimeoutMs: number | null;
};

/** Requests as one JSON text: an array in which null stands for one that was removed. */
export type BatchPack = {
  readonly count: number;
  readonly json: string;
  /** Bytes in R2 of their inputs; absent in old callers. */
  readonly storedBytes?: number;
};

export type BatchProgress = {
  readonly waiting: number;
  readonly running: number;
  readonly completed: number;
};

/** A text takes up to 3 bytes per character, and the documented limit of a row is 2 MB. */
const PACK_MAX_CHARACTERS = 500_000;
/** What a turn starts in about 50 ms. */
const PACK_MAX_REQUESTS = 1_000;

// Requests

/** Writes requests in packs, each of which fits into a row and can be started in one turn. */
export function packRequests(requests: readonly BatchRequest[]): BatchPack[] {
  const packs: { readonly items: string[]; storedBytes: number }[] = [];
  let characters = Infinity;
  for (const request of requests) {
    const json = JSON.stringify(request);
    const isFull = (packs.at(-1)?.items.length ?? 0) >= PACK_MAX_REQUESTS;
    if (isFull || characters + json.length > PACK_MAX_CHARACTERS) {
      packs.push({ items: [], storedBytes: 0 });
      characters = 0;
    }
    const pack = packs.at(-1);
    pack?.items.push(json);
    if (pack) pack.storedBytes += storedBytesOf(request.input);
    characters += json.length;
  }
  return packs.map(({ items, storedBytes }) => {
    return { count: items.length, json: `[${items.join(",")}]`, storedBytes };
  });
}

/** Whether a turn that has started so much should leave the next pack to the next turn. */
export function isTurnFull(requests: number, characters: number): boolean {
  return requests >= PACK_MAX_REQUESTS || characters >= PACK_MAX_CHARACTERS;
}

export function unpackRequests(json: string): (BatchRequest | null)[] {
  return JSON.parse(json) as (BatchRequest | null)[];
}

/** Bytes that packs take. */
export function sizeOfPacks(packs: readonly BatchPack[]): number {
  return packs.reduce((sum, { json, storedBytes = 0 }) => sum + json.length + storedBytes, 0);
}

/** What a batch has left in R2 when these requests have left it. */
export function storedBytesWithout(
  { storedBytes }: Pick<Batch, "storedBytes">,
  requests: readonly (BatchRequest | null)[],
): number {
  const gone = requests.reduce((sum, request) => sum + storedBytesOf(request?.input ?? null), 0);
  return Math.max(0, storedBytes - gone);
}

/** The options that the worker gets, with the id of its batch. */
export function optionsInBatch(optionsJson: string, batchId: string): string {
  const member = `{"batchId":${JSON.stringify(batchId)}`;
  return optionsJson === "{}" ? `${member}}` : `${member},${optionsJson.slice(1)}`;
}

// Progress

/** Requests that are to be started and are not jobs yet. */
export function unstartedCount({ state, requestCount, ranges }: Batch): number {
  return state === "starting" ? requestCount - countSeqs(ranges) : 0;
}

/** Requests that ended without a result. */
export function failedCount(batch: Batch, { waiting, running, completed }: BatchProgress): number {
  return batch.state === "draft" ? 0 : batch.requestCount - waiting - running - completed;
}

/** What a batch must still do, or wait for; drafts included, since they take up space. */
export function isActive(batch: Batch, { waiting, running }: BatchProgress): boolean {
  return batch.state === "draft" || isAtWork(batch) || waiting + running > 0;
}

/** In the middle of what takes several turns. */
export function isAtWork({ state }: Batch): boolean {
  return state === "starting" || state === "cancelling";
}

export function statusOf(batch: Batch, progress: BatchProgress): BatchStatus {
  if (batch.state === "draft") return "DRAFT";
  return batch.state === "cancelled" && !isActive(batch, progress) ? "CANCELLED" : "FINALIZED";
}

// Names

const BATCH_ID = /^batch_([0-9a-f]{20})([0-9a-f]{1,12})$/;
const REQUEST_ID = /^req_(\d{1,9})$/;

/** `batch_`, 20 random hex digits, the number. */
export function batchIdOf({ nonce, number }: Pick<Batch, "nonce" | "number">): string {
  return `batch_${nonce}${number.toString(16)}`;
}

export function decodeBatchId(id: string): Pick<Batch, "nonce" | "number"> | undefined {
  const match = BATCH_ID.exec(id);
  return match ? { nonce: match[1] ?? "", number: Number.parseInt(match[2] ?? "", 16) } : undefined;
}

/** How a request is called while it has no job. */
export function requestIdOf(number: number): string {
  return `req_${number}`;
}

export function decodeRequestId(id: string): number | undefined {
  const match = REQUEST_ID.exec(id);
  return match ? Number(match[1]) : undefined;
}
