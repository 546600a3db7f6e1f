/** How many objects share the queue of an endpoint, as the number of their calls says. */

/**
 * Calls per second that one object is meant to take. The platform names 200 to 500 for objects that write, and reads
 * and waits are among them.
 */
export const SHARD_CALLS_PER_SECOND = 300;
/** Fewer calls must last so long before there are fewer objects. */
export const MERGE_AFTER_MS = 10 * 60_000;

export type ShardCountSample = {
  /** Objects that take new jobs. */
  readonly active: number;
  /** Of all objects together. */
  readonly callsPerSecond: number;
  /** Since when far fewer objects would do; null while they would not. */
  readonly lowSince: number | null;
  readonly max: number;
};

export type ShardCountPlan = { readonly count: number; readonly lowSince: number | null };

/** Grows to what the calls need, at most to the double at once; falls when half would have done for MERGE_AFTER_MS. */
export function planShardCount(
  { active, callsPerSecond, lowSince, max }: ShardCountSample,
  now: number,
): ShardCountPlan {
  const needed = Math.max(1, Math.ceil(callsPerSecond / SHARD_CALLS_PER_SECOND));
  if (needed > active) return { count: Math.min(max, 2 * active, needed), lowSince: null };
  if (active === 1 || needed > active / 2) return { count: active, lowSince: null };
  const since = lowSince ?? now;
  return now < since + MERGE_AFTER_MS
    ? { count: active, lowSince: since }
    : { count: needed, lowSince: null };
}
