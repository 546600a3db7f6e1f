/**
 * A sliding window: how many more requests are allowed, given those of the last ten seconds.
 *
 * Requests are counted in buckets, so memory does not grow with the limit. A bucket is given back when the
 * last request that it can hold has left the window: up to one bucket later than exact, never earlier.
 */
import { RATE_WINDOW_MS, RATE_LIMITS, type LimitedOperation } from "../../contract/rate-limits.ts";
import type { FleetReport } from "../jobs/queue-reason.ts";

/** A thousandth of the window is what counting in buckets may cost a client: less than its way to the edge. */
const BUCKET_MS = RATE_WINDOW_MS / 1_000;
/** A window touches one bucket more than it is long. */
const BUCKETS = RATE_WINDOW_MS / BUCKET_MS + 1;

export type WindowVerdict =
  /** `freesInMs`: when the oldest of the counted requests leaves the window. */
  | { readonly kind: "admitted"; readonly remaining: number; readonly freesInMs: number }
  | { readonly kind: "refused"; readonly retryAfterMs: number };

export class RateWindow {
  /** A ring: bucket n lies at n modulo its length. */
  readonly #counts = new Uint32Array(BUCKETS);
  #newest = 0;
  #total = 0;

  /** Counts a request if it is within the limit; a refused one is not counted. */
  admit(limit: number, now: number): WindowVerdict {
    this.#advance(Math.floor(now / BUCKET_MS));
    const excess = this.#total - limit + 1;
    if (excess > 0) return { kind: "refused", retryAfterMs: this.#freesAt(excess) - now };

    this.#counts[this.#newest % BUCKETS] = this.#countIn(this.#newest) + 1;
    this.#total += 1;
    return { kind: "admitted", remaining: limit - this.#total, freesInMs: this.#freesAt(1) - now };
  }

  /** Requests that count at the moment. */
  used(now: number): number {
    this.#advance(Math.floor(now / BUCKET_MS));
    return this.#total;
  }

  /** Empties the buckets between the newest and `bucket`. A clock that goes back stays in the newest. */
  #advance(bucket: number): void {
    if (bucket <= this.#newest) return;
    const firstNew = Math.max(this.#newest + 1, bucket - BUCKETS + 1);
    for (let each = firstNew; each <= bucket; each += 1) {
      this.#total -= this.#countIn(each);
      this.#counts[each % BUCKETS] = 0;
    }
    this.#newest = bucket;
  }

  /** When at least `count` of the counted requests have left the window. */
  #freesAt(count: number): number {
    let freed = 0;
    for (let bucket = this.#newest - BUCKETS + 1; bucket < this.#newest; bucket += 1) {
      freed += this.#countIn(bucket);
      if (freed >= count) return (bucket + BUCKETS) * BUCKET_MS;
    }
    return (this.#newest + BUCKETS) * BUCKET_MS;
  }

  #countIn(bucket: number): number {
    return this.#counts[bucket % BUCKETS] ?? 0;
  }
}

/** The limits in effect, which grow with the workers of an endpoint. */

export type EffectiveLimit = { readonly requests: number; readonly concurrent: number | null };

/** What an operation may do while so many workers run. */
export function effectiveLimit(operation: LimitedOperation, runningWorkers: number): EffectiveLimit {
  const { requests, concurrent, perWorker } = RATE_LIMITS[operation];
  const grown = Math.max(requests, runningWorkers * (perWorker ?? 0));
  return {
    requests: grown,
    concurrent: concurrent === null ? null : Math.floor((concurrent * grown) / requests),
  };
}

/** Workers that take jobs, whether they have one at the moment or not. */
export function runningWorkers(report: FleetReport): number {
  return report.workers.filter(({ state }) => state === "ready").length;
}
