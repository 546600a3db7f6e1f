/**
 * The two lanes of a queue. A lane is a range of sequence numbers, so order within a lane is the order of
 * submission and needs no index: normal jobs count from 1, low-priority jobs from far above.
 */

export const LANES = ["normal", "low"] as const;
export type Lane = (typeof LANES)[number];

export const LANE_START: Record<Lane, number> = { normal: 1, low: 2 ** 46 };
export const LANE_END: Record<Lane, number> = { normal: 2 ** 46, low: 2 ** 47 };

export function laneOf(seq: number): Lane {
  return seq < LANE_START.low ? "normal" : "low";
}
