/**
 * The rate and concurrency limits of an endpoint, in memory only: the object that all its requests meet in
 * is the one place that can count them, and one that lost its memory had been quiet before.
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

/** Nobody knows when a request in progress ends, or when a queue or storage empties; this is what a client may try. */
const CONCURRENT_RETRY_MS = 1_000;
const QUEUE_FULL_RETRY_MS = 10_000;
const STORAGE_FULL_RETRY_MS = 10_000;

type OperationLimit = { readonly window: RateWindow; readonly slots: RequestSlots; limit: EffectiveLimit };

export class RequestLimits {
  readonly #limits = new Map<LimitedOperation, OperationLimit>();
  #workers = 0;

  /** The limits grow with the workers of the report. */
  growWith(report: FleetReport): void {
    this.#workers = runningWorkers(report);
    for (const [operation, operationLimit] of this.#limits)
      operationLimit.limit = effectiveLimit(operation, this.#workers);
  }

  /** Carries out one new request of the operation, or refuses it before anything is done. */
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

  /** Counts a request, of which nothing more is done here: it was refused for what it says, or it goes on. */
  count(operation: LimitedOperation, now: number): RateLimited | Counted {
    const { window, limit } = this.#limitFor(operation);
    const verdict = window.admit(limit.requests, now);
    if (verdict.kind === "refused") {
      return rateLimited(operation, "requests", limit.requests, verdict.retryAfterMs);
    }
    const { remaining, freesInMs } = verdict;
    return { kind: "counted", quota: { operation, limit: limit.requests, remaining, freesInMs } };
  }

  /** Goes on with a request that was admitted before; it is no new one and is never refused. */
  async resume<Outcome extends object>(
    ref: SlotRef,
    work: (slot: RequestSlot) => Promise<Outcome>,
  ): Promise<Limited<Outcome>> {
    const { slots } = this.#limitFor(ref.operation);
    slots.resume(ref.id);
    return inSlot(new RequestSlot(ref.operation, slots), work, null);
  }

  /** Workers that raise the limits. */
  get runningWorkers(): number {
    return this.#workers;
  }

  /** The limit of an operation that is in effect. */
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

  /** The slots of an operation, for the doorbells that its requests wait on. */
  slotsOf(operation: LimitedOperation): RequestSlots {
    return this.#limitFor(operation).slots;
  }

  #limitFor(operation: LimitedOperation): OperationLimit {
    const known = this.#limits.get(operation);
    if (known) return known;
    const limit = effectiveLimit(operation, this.#workers);
    const operationLimit = { window: new RateWindow(), slots: new RequestSlots(), limit };
    this.#limits.set(operation, operationLimit);
    return operationLimit;
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

  /** Keeps the slot beyond this call, for a caller who goes on waiting; it must bring the reference back. */
  keep(now: number): SlotRef {
    const id = crypto.randomUUID();
    this.#slots.handOver(id, now);
    this.#isTaken = false;
    return { operation: this.#operation, id };
  }

  leave(): void {
    if (this.#isTaken) this.#slots.leave();
    this.#isTaken = false;
  }
}

/** Refuses a job because so many wait already. */
export function queueFull(operation: LimitedOperation, depthMax: number): RateLimited {
  return rateLimited(operation, "queued", depthMax, QUEUE_FULL_RETRY_MS);
}

/** Refuses what would take more bytes than there may be. */
export function storageFull(
  operation: LimitedOperation,
  { measure, used, limit }: ExceededStorage,
): RateLimited {
  const remaining = Math.max(0, limit - used);
  return { ...rateLimited(operation, measure, limit, STORAGE_FULL_RETRY_MS), remaining, used };
}

/** Refuses a batch because so many are still at work. */
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
