/**
 * The two lanes of a queue. A lane is a range of sequence numbers, so order within a lane is the order of
 * submission and needs no index: normal jobs count from 1, low-priority jobs from far above.
 */
import { LOW_PRIORITY_EVERY } from "../contract/limits.ts";

export const LANES = ["normal", "low"] as const;
export type Lane = (typeof LANES)[number];

export const LANE_START: Record<Lane, number> = { normal: 1, low: 2 ** 46 };
export const LANE_END: Record<Lane, number> = { normal: 2 ** 46, low: 2 ** 47 };

export function laneOf(seq: number): Lane {
  return seq < LANE_START.low ? "normal" : "low";
}

export type LaneCounts = Readonly<Record<Lane, number>>;

/**
 * From which lanes to claim, in this order, and how many jobs at most from each. While jobs wait in both, one
 * claim of LOW_PRIORITY_EVERY is the low lane's; `normalsInARow` have gone since its last.
 */
export function lanesToClaim(
  queued: LaneCounts,
  normalsInARow: number,
): readonly (readonly [Lane, number])[] {
  const waiting = LANES.filter((lane) => queued[lane] > 0);
  if (waiting.length < LANES.length) return waiting.map((lane) => [lane, queued[lane]]);
  const normals = LOW_PRIORITY_EVERY - 1 - normalsInARow;
  return normals > 0 ? [["normal", normals]] : [["low", 1]];
}

/** How many of the jobs that wait now are claimed before the one that is `place`th in its lane, from 1. */
export function countAhead(lane: Lane, place: number, queued: LaneCounts, normalsInARow: number): number {
  const normalsPerLow = LOW_PRIORITY_EVERY - 1;
  const ofOtherLane =
    lane === "low"
      ? Math.min(queued.normal, place * normalsPerLow - normalsInARow)
      : Math.min(queued.low, Math.floor((place - 1 + normalsInARow) / normalsPerLow));
  return place - 1 + ofOtherLane;
}
