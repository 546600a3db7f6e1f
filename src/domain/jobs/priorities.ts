/**
 * The priorities of a queue. Each is a range of sequence numbers, so the order within one is the order of submission
 * and needs no index: normal jobs count from 1, low-priority jobs from far above.
 */

/**
 * While normal jobs wait, one claim of this many takes a low-priority job: enough that none starves, and at 5 %
 * too few to delay normal ones noticeably.
 */
export const LOW_PRIORITY_EVERY = 20;

export const PRIORITIES = ["normal", "low"] as const;
export type Priority = (typeof PRIORITIES)[number];

export const PRIORITY_START: Record<Priority, number> = { normal: 1, low: 2 ** 46 };
export const PRIORITY_END: Record<Priority, number> = { normal: 2 ** 46, low: 2 ** 47 };

export function priorityOf(seq: number): Priority {
  return seq < PRIORITY_START.low ? "normal" : "low";
}

export type PriorityCounts = Readonly<Record<Priority, number>>;

/**
 * From which priorities to claim, in this order, and at most how many jobs from each. While jobs wait in both, one
 * claim in LOW_PRIORITY_EVERY is low-priority; `normalsInARow` were claimed since the last.
 */
export function prioritiesToClaim(
  queued: PriorityCounts,
  normalsInARow: number,
): readonly (readonly [Priority, number])[] {
  const waiting = PRIORITIES.filter((priority) => queued[priority] > 0);
  if (waiting.length < PRIORITIES.length) return waiting.map((priority) => [priority, queued[priority]]);
  const normals = LOW_PRIORITY_EVERY - 1 - normalsInARow;
  return normals > 0 ? [["normal", normals]] : [["low", 1]];
}

/** How many of the queued jobs are claimed before the one that is `place`th in its priority, from 1. */
export function countAhead(
  priority: Priority,
  place: number,
  queued: PriorityCounts,
  normalsInARow: number,
): number {
  const normalsPerLow = LOW_PRIORITY_EVERY - 1;
  const ofOtherPriority =
    priority === "low"
      ? Math.min(queued.normal, place * normalsPerLow - normalsInARow)
      : Math.min(queued.low, Math.floor((place - 1 + normalsInARow) / normalsPerLow));
  return place - 1 + ofOtherPriority;
}
