/**
 * The rate and concurrency limits of an endpoint, in memory only: the object that all its requests meet in
 * is the one place that can count them, and one that lost its memory had been quiet before.
 */
import type { OperationUsage } from "../contract/job.ts";
import type { LimitedOperation } from "../contract/rate-limits.ts";
import type { StorageRefusal } from "../domain/endpoint-storage.ts";
import type { FleetReport } from "../domain/queue-reason.ts";
import { effectiveLimit, runningWorkers, type EffectiveLimit } from "../domain/rate-limit.ts";
import { RateWindow } from "../domain/rate-window.ts";
import type { Counted, Limited, Quota, RateLimited, SlotRef } from "./messages.ts";
import { RequestSlots } from "./request-slots.ts";

/** Nobody knows when a request in progress ends, or when a queue or storage empties; this is what a client may try. */
const CONCURRENT_RETRY_MS = 1_000;
const QUEUE_FULL_RETRY_MS = 10_000;
const STORAGE_FULL_RETRY_MS = 10_000;

type Desk = { readonly window: RateWindow; readonly slots: RequestSlots; limit: EffectiveLimit };

export class RequestLimits {
  readonly #desks = new Map<LimitedOperation, Desk>();
  #workers = 0;

  /** The limits grow with the workers of the report. */
  growWith(report: FleetReport): void {
    this.#workers = runningWorkers(report);
    for (const [operation, desk] of this.#desks) desk.limit = effectiveLimit(operation, this.#workers);
  }

  /** Carries out one new request of the operation, or refuses it before anything is done. */
  async admit<Outcome extends object>(
    operation: LimitedOperation,
    now: number,
    work: (slot: RequestSlot) => Promise<Outcome>,
  ): Promise<Limited<Outcome>> {
    const { slots, limit } = this.#desk(operation);
    if (limit.concurrent !== null && slots.isFull(limit.concurrent, now)) {
      return refusal(operation, "concurrent", limit.concurrent, CONCURRENT_RETRY_MS);
    }
    const counted = this.count(operation, now);
    if (counted.kind === "rate_limited") return counted;
    slots.enter();
    return inSlot(new RequestSlot(operation, slots), work, counted.quota);
  }

  /** Counts a request, of which nothing more is done here: it was refused for what it says, or it goes on. */
  count(operation: LimitedOperation, now: number): RateLimited | Counted {
    const { window, limit } = this.#desk(operation);
    const verdict = window.admit(limit.requests, now);
    if (verdict.kind === "refused") {
      return refusal(operation, "requests", limit.requests, verdict.retryAfterMs);
    }
    const { remaining, freesInMs } = verdict;
    return { kind: "counted", quota: { operation, limit: limit.requests, remaining, freesInMs } };
  }

  /** Goes on with a request that was admitted before; it is no new one and is never refused. */
  async resume<Outcome extends object>(
    ref: SlotRef,
    work: (slot: RequestSlot) => Promise<Outcome>,
  ): Promise<Limited<Outcome>> {
    const { slots } = this.#desk(ref.operation);
    slots.comeBack(ref.id);
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
    const desk = this.#desks.get(operation);
    return { requests: desk?.window.used(now) ?? 0, concurrent: desk?.slots.count(now) ?? 0 };
  }

  /** The slots of an operation, for the doorbells that its requests wait on. */
  slotsOf(operation: LimitedOperation): RequestSlots {
    return this.#desk(operation).slots;
  }

  #desk(operation: LimitedOperation): Desk {
    const known = this.#desks.get(operation);
    if (known) return known;
    const limit = effectiveLimit(operation, this.#workers);
    const desk = { window: new RateWindow(), slots: new RequestSlots(), limit };
    this.#desks.set(operation, desk);
    return desk;
  }
}

/** The slot of one call inside the object. */
export class RequestSlot {
  readonly #operation: LimitedOperation;
  readonly #slots: RequestSlots;
  #isHeld = true;

  constructor(operation: LimitedOperation, slots: RequestSlots) {
    this.#operation = operation;
    this.#slots = slots;
  }

  /** Keeps the slot beyond this call, for a caller who goes on waiting; it must bring the reference back. */
  keep(now: number): SlotRef {
    const id = crypto.randomUUID();
    this.#slots.handOver(id, now);
    this.#isHeld = false;
    return { operation: this.#operation, id };
  }

  leave(): void {
    if (this.#isHeld) this.#slots.leave();
    this.#isHeld = false;
  }
}

/** Refuses a job because so many wait already. */
export function queueFull(operation: LimitedOperation, depthMax: number): RateLimited {
  return refusal(operation, "queued", depthMax, QUEUE_FULL_RETRY_MS);
}

/** Refuses what would take more bytes than there may be. */
export function storageFull(
  operation: LimitedOperation,
  { measure, used, limit }: StorageRefusal,
): RateLimited {
  const remaining = Math.max(0, limit - used);
  return { ...refusal(operation, measure, limit, STORAGE_FULL_RETRY_MS), remaining, used };
}

/** Refuses a batch because so many are still at work. */
export function tooManyBatches(limit: number): RateLimited {
  return refusal("batch", "batches", limit, QUEUE_FULL_RETRY_MS);
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

function refusal(
  operation: LimitedOperation,
  measure: RateLimited["measure"],
  limit: number,
  retryAfterMs: number,
): RateLimited {
  return { kind: "rate_limited", operation, measure, limit, remaining: 0, retryAfterMs };
}
