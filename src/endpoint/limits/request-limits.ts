/**
 * The rate and concurrency limits of an endpoint, in memory only: all its requests meet in its object, so that can count
 * them; and an object that lost its memory had been quiet before.
 */
import type { OperationUsage } from "../../contract/job.ts";
import type { LimitedOperation } from "../../contract/rate-limits.ts";
import type { ExceededStorage } from "../../domain/limits/endpoint-storage.ts";
import type { FleetReport } from "../../domain/jobs/queue-reason.ts";
import {
  effectiveLimit,
  runningWorkers,
  type EffectiveLimit,
  RateWindow,
} from "../../domain/limits/rate-window.ts";
import type { Counted, Limited, Quota, RateLimited, SlotRef } from "../messages.ts";
import { RequestSlots } from "./request-slots.ts";

/** Load-balanced requests of an endpoint that wait for a worker at once. */
export const LOAD_BALANCED_WAITING_MAX = 2_000;

/** When a request in progress ends, or a queue or storage empties, is unknown; a client may retry after these times. */
const CONCURRENT_RETRY_MS = 1_000;
const QUEUE_FULL_RETRY_MS = 10_000;
const STORAGE_FULL_RETRY_MS = 10_000;

/** Operations on the whole endpoint. */
const FOR_THE_FIRST: ReadonlySet<LimitedOperation> = new Set(["purge-queue", "requests", "batch"]);

type OperationLimit = { readonly window: RateWindow; readonly slots: RequestSlots; limit: EffectiveLimit };

export class RequestLimits {
  readonly #limits = new Map<LimitedOperation, OperationLimit>();
  #workers = 0;
  #shards = 1;

  /** The limits grow with the workers of the report. */
  growWith(report: FleetReport): void {
    this.#workers = runningWorkers(report);
    this.#limitAgain();
  }

  /** So many objects share the requests of the endpoint: each admits its part. */
  shareWith(shards: number): void {
    if (shards === this.#shards) return;
    this.#shards = shards;
    this.#limitAgain();
  }

  #limitAgain(): void {
    for (const [operation, operationLimit] of this.#limits) operationLimit.limit = this.#partOf(operation);
  }

  /** Carries out one new request of the operation, or refuses it without doing anything. */
  async admit<Outcome extends object>(
    operation: LimitedOperation,
    now: number,
    work: (slot: RequestSlot) => Promise<Outcome>,
  ): Promise<Limited<Outcome>> {
    const { slots, limit } = this.#limitFor(operation);
    if (limit.concurrent !== null && slots.isFull(limit.concurrent, now)) {
      return rateLimited(operation, "concurrent", limit.concurrent, CONCURRENT_RETRY_MS);
    }
    const counted = this.count(operation, now);
    if (counted.kind === "rate_limited") return counted;
    slots.enter();
    return inSlot(new RequestSlot(operation, slots), work, counted.quota);
  }

  /** Counts a request, or refuses it if there are too many. */
  count(operation: LimitedOperation, now: number): RateLimited | Counted {
    const { window, limit } = this.#limitFor(operation);
    const verdict = window.admit(limit.requests, now);
    const whole = this.limitOf(operation).requests;
    if (verdict.kind === "refused") return rateLimited(operation, "requests", whole, verdict.retryAfterMs);
    const { freesInMs } = verdict;
    const remaining = Math.floor((verdict.remaining * whole) / limit.requests);
    return { kind: "counted", quota: { operation, limit: whole, remaining, freesInMs } };
  }

  /** Continues a request that was admitted before; it is not counted again and never refused. */
  async resume<Outcome extends object>(
    ref: SlotRef,
    work: (slot: RequestSlot) => Promise<Outcome>,
  ): Promise<Limited<Outcome>> {
    const { slots } = this.#limitFor(ref.operation);
    slots.resume(ref.id);
    return inSlot(new RequestSlot(ref.operation, slots), work, null);
  }

  /** Running workers, which raise the limits. */
  get runningWorkers(): number {
    return this.#workers;
  }

  /** The limit of an operation in effect, of all objects together. */
  limitOf(operation: LimitedOperation): EffectiveLimit {
    return effectiveLimit(operation, this.#workers);
  }

  /** How many requests count in the window, and how many are in progress. */
  usageOf(operation: LimitedOperation, now: number): OperationUsage {
    const operationLimit = this.#limits.get(operation);
    return {
      requests: operationLimit?.window.used(now) ?? 0,
      concurrent: operationLimit?.slots.count(now) ?? 0,
    };
  }

  /** The slots of an operation, for the wake-up channels on which its requests wait. */
  slotsOf(operation: LimitedOperation): RequestSlots {
    return this.#limitFor(operation).slots;
  }

  #limitFor(operation: LimitedOperation): OperationLimit {
    const known = this.#limits.get(operation);
    if (known) return known;
    const operationLimit = {
      window: new RateWindow(),
      slots: new RequestSlots(),
      limit: this.#partOf(operation),
    };
    this.#limits.set(operation, operationLimit);
    return operationLimit;
  }

  /** Only the first object gets the requests of some operations. */
  #partOf(operation: LimitedOperation): EffectiveLimit {
    const whole = this.limitOf(operation);
    if (this.#shards === 1 || FOR_THE_FIRST.has(operation)) return whole;
    const { requests, concurrent } = whole;
    return {
      requests: Math.ceil(requests / this.#shards),
      concurrent: concurrent === null ? null : Math.ceil(concurrent / this.#shards),
    };
  }
}

/** The slot of one call inside the object. */
export class RequestSlot {
  readonly #operation: LimitedOperation;
  readonly #slots: RequestSlots;
  #isTaken = true;

  constructor(operation: LimitedOperation, slots: RequestSlots) {
    this.#operation = operation;
    this.#slots = slots;
  }

  /** Keeps the slot beyond this call, for a caller that continues to wait; it must bring the reference back. */
  keep(now: number): SlotRef {
    const id = crypto.randomUUID();
    this.#slots.moveOutside(id, now);
    this.#isTaken = false;
    return { operation: this.#operation, id };
  }

  leave(): void {
    if (this.#isTaken) this.#slots.leave();
    this.#isTaken = false;
  }
}

/** Refuses a job because too many are queued. */
export function queueFull(operation: LimitedOperation, depthMax: number): RateLimited {
  return rateLimited(operation, "queued", depthMax, QUEUE_FULL_RETRY_MS);
}

/** Refuses a request whose bytes would exceed the storage. */
export function storageFull(
  operation: LimitedOperation,
  { measure, used, limit }: ExceededStorage,
): RateLimited {
  const remaining = Math.max(0, limit - used);
  return { ...rateLimited(operation, measure, limit, STORAGE_FULL_RETRY_MS), remaining, used };
}

/** Refuses a batch because too many are active. */
export function tooManyBatches(limit: number): RateLimited {
  return rateLimited("batch", "batches", limit, QUEUE_FULL_RETRY_MS);
}

async function inSlot<Outcome extends object>(
  slot: RequestSlot,
  work: (slot: RequestSlot) => Promise<Outcome>,
  quota: Quota | null,
): Promise<Limited<Outcome>> {
  try {
    return { ...(await work(slot)), quota };
  } finally {
    slot.leave();
  }
}

function rateLimited(
  operation: LimitedOperation,
  measure: RateLimited["measure"],
  limit: number,
  retryAfterMs: number,
): RateLimited {
  return { kind: "rate_limited", operation, measure, limit, remaining: 0, retryAfterMs };
}
