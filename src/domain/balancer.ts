/**
 * Which worker gets a request.
 *
 * B1  Nobody who is suspect or of an older release gets one while there is another.
 * B2  Of those left, the one with fewest requests in flight; of these, the one that was used longest ago.
 * B3  Whoever asks for a certain worker gets it whenever it takes requests at all; strictly, no other.
 */

export type Candidate = {
  readonly workerId: string;
  readonly inFlight: number;
  /** Grows with each use; the lowest was used longest ago. */
  readonly usedAt: number;
  /** Its host is silent though it has requests. */
  readonly isSuspect: boolean;
  /** Of an older release. */
  readonly isOutdated: boolean;
};

export type Preference = { readonly mode: "soft" | "strict" | "resume"; readonly workerId: string };

/** The worker for a request; undefined when it has to wait. */
export function chooseWorker<Worker extends Candidate>(
  candidates: readonly Worker[],
  preference: Preference | null,
): Worker | undefined {
  if (preference) {
    const asked = candidates.find(({ workerId }) => workerId === preference.workerId);
    if (asked || preference.mode !== "soft") return asked;
  }
  let [best] = candidates;
  for (const candidate of candidates) if (best && isBetter(candidate, best)) best = candidate;
  return best;
}

function isBetter(one: Candidate, other: Candidate): boolean {
  const difference =
    doubtsOf(one) - doubtsOf(other) || one.inFlight - other.inFlight || one.usedAt - other.usedAt;
  return difference < 0;
}

/** A host that may be lost is worse than an old release. */
function doubtsOf({ isSuspect, isOutdated }: Candidate): number {
  return (isSuspect ? 2 : 0) + (isOutdated ? 1 : 0);
}
