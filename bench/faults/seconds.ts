/** Times of rounds as tables show them. */
import { median } from "../load/percentiles.ts";

export function seconds(timesMs: readonly number[]): string {
  const each = timesMs.map((ms) => (ms / 1_000).toFixed(1));
  return `${(median(timesMs) / 1_000).toFixed(1)} s (${each.join(", ")})`;
}
