/** Whole ms since a reading of `performance.now()`, a clock that nobody sets. */
export function ageMs(at: number): number {
  return Math.max(0, Math.round(performance.now() - at));
}
