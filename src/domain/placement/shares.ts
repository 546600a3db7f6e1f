/**
 * Which endpoint of an account comes first when they want more capacity than there is, and for how long it has it.
 *
 * T1  An endpoint below its workersMin comes before all others.
 * T2  Then a higher priority comes before a lower one; an endpoint that has had no worker for AGING_MS counts as one
 *     higher, so none waits for ever.
 * T3  Among equals comes first who will have used least of what it is entitled to after its next slice of time: the time for
 *     which it has had capacity, and a slice for each worker that it has, divided by its weight.
 */

import type { SharePriority } from "../../contract/endpoint.ts";

/** An endpoint that has had no worker for so long counts as one priority higher. */
export const AGING_MS = 600_000;

/** For how long an endpoint has a place at least before another one of its priority gets it while it has work. */
export const SLICE_MIN_MS = 10_000;
export const SLICE_MAX_MS = 600_000;
/** A start takes at most one in so many parts of a slice. */
const SLICE_BY_START = 10;

/** An endpoint that wants capacity or has some. */
export type Contender = {
  readonly endpointId: string;
  readonly weight: number;
  readonly priority: SharePriority;
  /** Workers that it has, and how many of them come before those of others. */
  readonly has: number;
  readonly least: number;
  /** Since when it has lacked workers, epoch ms; null when it lacks none. */
  readonly since: number | null;
  /** Since when it has had none at all; null or absent while it has one. */
  readonly withoutSince?: number | null;
  /** What it has used, in ms for a weight of 1; see UsedCapacity. */
  readonly usedMs: number;
};

/** Orders those that want a worker: who comes first gets the next one. `placed`: workers that each got just now. */
export function comparePrecedence(
  a: Contender,
  b: Contender,
  placed: { readonly a: number; readonly b: number },
  now: number,
): number {
  const [countA, countB] = [a.has + placed.a, b.has + placed.b];
  return (
    Number(countB < b.least) - Number(countA < a.least) ||
    rankOf(b, now) - rankOf(a, now) ||
    usedAfter(a, countA) - usedAfter(b, countB) ||
    (a.since ?? now) - (b.since ?? now) ||
    (a.endpointId < b.endpointId ? -1 : 1)
  );
}

/** How long a place stays with an endpoint that has work, for workers that take so long to start. */
export function sliceMsOf(startMs: number): number {
  return Math.min(Math.max(SLICE_BY_START * startMs, SLICE_MIN_MS), SLICE_MAX_MS);
}

/**
 * When a worker of `holder` that has work must give way to `claimant`, epoch ms: after the jobs it has, and not before
 * its slice of `sliceMs` is over. Null for never, as things are.
 */
export function giveWayAt(holder: Holder, claimant: Claimant, sliceMs: number, now: number): number | null {
  if (holder.has <= holder.least) return null;
  if (claimant.has < claimant.least) return holder.readyAt;
  const overAt = holder.readyAt + sliceMs;
  const above = rankOf(claimant, now) - RANKS[holder.priority];
  if (above > 0) return overAt;
  if (above < 0) {
    const { withoutSince = null, priority } = claimant;
    const equalAt = (withoutSince ?? 0) + (RANKS[holder.priority] - RANKS[priority]) * AGING_MS;
    return withoutSince === null ? null : Math.max(overAt, equalAt);
  }
  const lead = usedAfter(holder, holder.has - 1) - usedAfter(claimant, claimant.has);
  const missing = sliceMs / Math.max(holder.weight, claimant.weight) - lead;
  if (missing <= 0) return overAt;
  const rate = holder.units / holder.weight - claimant.units / claimant.weight;
  return rate > 0 ? Math.max(overAt, now + Math.ceil(missing / rate)) : null;
}

/** `units`: what it has now, in GPUs; a worker without GPUs counts as one. */
export type Claimant = Contender & { readonly units: number };
/** `readyAt`: since when its worker has been ready, epoch ms. */
export type Holder = Claimant & { readonly readyAt: number };

/** What it will have used when each of so many workers has had a slice. */
function usedAfter({ usedMs, weight }: Contender, workers: number): number {
  return usedMs + (workers * SLICE_MIN_MS) / weight;
}

function rankOf({ priority, withoutSince = null }: Contender, now: number): number {
  const aged = withoutSince === null ? 0 : Math.floor(Math.max(0, now - withoutSince) / AGING_MS);
  return RANKS[priority] + aged;
}

const RANKS: Readonly<Record<SharePriority, number>> = { LOW: 0, NORMAL: 1, HIGH: 2 };

/** What the endpoints of an account have used while they wanted more than there is, in memory. */
export class UsedCapacity {
  #usedMs: ReadonlyMap<string, number> = new Map();
  #rates: ReadonlyMap<string, number> = new Map();
  #countedAt = 0;

  /**
   * Counts up to now. `contenders`: all endpoints that want capacity or have some. One that comes later begins level with
   * the one that has used least.
   */
  count(contenders: readonly Pick<Claimant, "endpointId" | "weight" | "units">[], now: number): void {
    const elapsedMs = Math.max(0, now - this.#countedAt);
    const usedMs = new Map<string, number>();
    for (const { endpointId } of contenders) {
      const used = this.#usedMs.get(endpointId);
      if (used !== undefined) usedMs.set(endpointId, used + (this.#rates.get(endpointId) ?? 0) * elapsedMs);
    }
    const least = leastOf(usedMs);
    for (const { endpointId } of contenders) if (!usedMs.has(endpointId)) usedMs.set(endpointId, least);
    this.#usedMs = usedMs;
    this.#rates = new Map(contenders.map(({ endpointId, weight, units }) => [endpointId, units / weight]));
    this.#countedAt = now;
  }

  /** In ms for a weight of 1; of one that has come since the last count as it will be counted. */
  of(endpointId: string): number {
    return this.#usedMs.get(endpointId) ?? leastOf(this.#usedMs);
  }

  /** There is enough for all again. */
  clear(): void {
    this.#usedMs = new Map();
    this.#rates = new Map();
  }
}

function leastOf(usedMs: ReadonlyMap<string, number>): number {
  return usedMs.size === 0 ? 0 : Math.min(...usedMs.values());
}
