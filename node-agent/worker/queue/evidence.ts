/**
 * What a worker's polls and pings prove about the jobs that were delivered to it.
 *
 * E1  A result is lost only on positive proof: silence never is.
 * E2  A poll that reports "nothing in progress" proves it for jobs delivered before the poll began,
 *     unless they may still wait inside the worker, between its poll and its handler.
 * E3  A ping without a job's id proves its end only when earlier pings named the id, and twice in a row:
 *     some workers' pings never name any.
 * E4  Only its polls show how many jobs a worker can take, and a busy one may ask for fewer than fit. It
 *     changes the figure only while it is empty.
 * E5  When an agent ended before it knew whether a job had arrived, the next one takes it for lost when two pings in a
 *     row do not name it: no earlier one can have.
 */
export type Outstanding = {
  readonly jobId: string;
  readonly deliveredAt: number;
  readonly wasSeenInPing: boolean;
  readonly pingsWithout: number;
};

export type TakeEvidence = {
  readonly beganAt: number;
  /** null: the worker does not report it. */
  readonly hasJobInProgress: boolean | null;
  /** Jobs that the worker asks for now, over all its open polls. */
  readonly free: number;
  /** Jobs that the worker can hold, by its earlier polls; null when not known any more. */
  readonly capacity: number | null;
};

/** Longest time that a delivered job waits inside a worker before it counts as in progress. */
const INNER_QUEUE_MS = 5_000;

const PINGS_WITHOUT_LIMIT = 2;

/** Returns the outstanding jobs for which, according to a job poll, the worker will never post a result. */
export function endedByTake(take: TakeEvidence, outstanding: readonly Outstanding[]): string[] {
  if (take.hasJobInProgress !== false) return [];
  const asksForMoreThanFits = take.capacity === null || take.free + outstanding.length > take.capacity;
  return outstanding
    .filter((job) => job.deliveredAt <= take.beganAt) // E2
    .filter((job) => asksForMoreThanFits || take.beganAt - job.deliveredAt >= INNER_QUEUE_MS)
    .map((job) => job.jobId);
}

/**
 * How many outstanding jobs a poll proves ended although others still run. It does not show which ones.
 * The SDK counts a queued job twice for a moment, so the figure may be too small, never too large.
 */
export function countEndedByTake(take: TakeEvidence, outstandingCount: number): number {
  if (take.capacity === null) return 0;
  return Math.max(0, Math.min(outstandingCount, take.free + outstandingCount - take.capacity));
}

/** Jobs that the worker can hold, by all its polls up to this one. */
export function capacityBy({ free, capacity, hasJobInProgress }: TakeEvidence, insideCount: number): number {
  const isEmpty = insideCount === 0 && hasJobInProgress === false;
  return isEmpty ? free : Math.max(capacity ?? 0, free + insideCount); // E4
}

/** Counts a ping for one outstanding job; `isEnded` when its handler is proven to be over. */
export function applyPing(
  jobId: string,
  job: Pick<Outstanding, "wasSeenInPing" | "pingsWithout">,
  jobIds: ReadonlySet<string>,
): { readonly wasSeenInPing: boolean; readonly pingsWithout: number; readonly isEnded: boolean } {
  if (jobIds.has(jobId)) return { wasSeenInPing: true, pingsWithout: 0, isEnded: false };
  if (!job.wasSeenInPing) return { wasSeenInPing: false, pingsWithout: 0, isEnded: false };
  const pingsWithout = job.pingsWithout + 1;
  return { wasSeenInPing: true, pingsWithout, isEnded: pingsWithout >= PINGS_WITHOUT_LIMIT };
}
