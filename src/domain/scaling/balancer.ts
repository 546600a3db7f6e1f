/**
 * Which worker gets a request.
 *
 * B1  No worker that is suspect or of an older release gets a request while there is another worker.
 * B2  Of those left, the one with fewest requests in flight; of these, the one that was used last: so that others
 *     are free for idleTimeout, and leave, when there are more workers than the load needs.
 * B3  A request for a certain worker gets it whenever that takes requests; if strict, no other.
 */

export type Candidate = {
  readonly workerId: string;
  readonly inFlight: number;
  /** Grows with each use; the highest was used last. */
  readonly usedAt: number;
  /** Its host is silent though it has requests. */
  readonly isSuspect: boolean;
  /** It has an older version of the endpoint. */
  readonly isOutdated: boolean;
};

export type Preference = { readonly mode: "soft" | "strict" | "resume"; readonly workerId: string };

/** The worker for a request; undefined when it has to wait. */
export function chooseWorker<Worker extends Candidate>(
  candidates: readonly Worker[],
  preference: Preference | null,
): Worker | undefined {
  if (preference) {
    const preferred = candidates.find(({ workerId }) => workerId === preference.workerId);
    if (preferred || preference.mode !== "soft") return preferred;
  }
  let [best] = candidates;
  for (const candidate of candidates) if (best && isBetter(candidate, best)) best = candidate;
  return best;
}

function isBetter(one: Candidate, other: Candidate): boolean {
  const difference =
    penaltyOf(one) - penaltyOf(other) || one.inFlight - other.inFlight || other.usedAt - one.usedAt;
  return difference < 0;
}

/** A host that may be lost is worse than an old release. */
function penaltyOf({ isSuspect, isOutdated }: Candidate): number {
  return (isSuspect ? 2 : 0) + (isOutdated ? 1 : 0);
}
