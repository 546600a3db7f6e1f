/** Who gets the next worker when several endpoints want more than there is. */

export type Need = {
  readonly endpointId: string;
  /** Workers that it has. */
  readonly has: number;
  readonly least: number;
  readonly desired: number;
  /** Since when it has waited for one. */
  readonly since: number;
};

/**
 * Calls `place` for one worker after another until all have what they want or nothing fits. First come workers
 * up to everybody's minimum, then the others; of those, always one for who has fewest, and of equals for who has
 * waited longest. An endpoint for which nothing fits is asked for no more.
 */
export function serveFairly(needs: readonly Need[], place: (need: Need) => boolean): void {
  const counts = new Map(needs.map(({ endpointId, has }) => [endpointId, has]));
  const stuck = new Set<string>();
  for (const goalOf of [leastOf, desiredOf]) {
    let waiting = needs
      .filter(({ endpointId }) => !stuck.has(endpointId))
      .toSorted((a, b) => a.since - b.since || (a.endpointId < b.endpointId ? -1 : 1));
    for (;;) {
      waiting = waiting.filter((need) => countOf(counts, need) < goalOf(need) && !stuck.has(need.endpointId));
      if (waiting.length === 0) break;
      const fewest = waiting.reduce((least, need) => Math.min(least, countOf(counts, need)), Infinity);
      for (const need of waiting) {
        const count = countOf(counts, need);
        if (count > fewest) continue;
        if (place(need)) counts.set(need.endpointId, count + 1);
        else stuck.add(need.endpointId);
      }
    }
  }
}

function countOf(counts: ReadonlyMap<string, number>, { endpointId }: Need): number {
  return counts.get(endpointId) ?? 0;
}

function leastOf({ least, desired }: Need): number {
  return Math.min(least, desired);
}

function desiredOf({ desired }: Need): number {
  return desired;
}
