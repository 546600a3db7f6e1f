/**
 * Whether a version on trial goes on or back, by how its jobs end beside those of the earlier version in the same time.
 *
 * CR1  It is judged when CANARY_LOOKS of its attempts have ended, and for the last time when its time is over.
 * CR2  Back by failures: if both versions failed alike, so many failures among those of the new one would come by
 *      chance in fewer than FAILURE_CHANCE of all cases (Fisher's exact test, one-sided).
 * CR3  Back by time: the geometric mean of its execution times is above SLOWER times that of the earlier one by
 *      SLOWER_ERRORS standard errors. Only completed jobs count, and only where each version has TIMED_MIN of them.
 * CR4  On after the last look. When the time is over it goes on with what is known, and back if no worker of it has
 *      become ready.
 * CR5  Back where its workers cannot start for STALL_LIMIT_MS.
 *
 * Each look may be wrong by chance, so that the chances of all looks add up; decision 81 has the measured figures.
 */

/** Ended attempts of one version. */
export type VersionTally = {
  readonly ended: number;
  /** Of them: failed, timed out or lost with their worker. Cancelled ones count nowhere. */
  readonly failed: number;
  /** Of them: completed with a known execution time; the sum of the logarithms of these times, and of their squares. */
  readonly timed: number;
  readonly logSum: number;
  readonly logSquares: number;
};

export type CanaryEvidence = {
  readonly canary: VersionTally;
  readonly base: VersionTally;
  /** Looks that were taken. */
  readonly looks: number;
  readonly isOver: boolean;
  readonly wasReady: boolean;
  /** What has kept its workers from starting for STALL_LIMIT_MS; null where nothing has. */
  readonly obstacle: string | null;
};

export type CanaryVerdict = {
  readonly kind: "on" | "back";
  readonly reason: string;
};

/** The verdict about this version, which the management API is to carry out. */
export type SettledCanary = CanaryVerdict & { readonly version: number };

export const NO_TALLY: VersionTally = { ended: 0, failed: 0, timed: 0, logSum: 0, logSquares: 0 };
export const CANARY_LOOKS = [5, 10, 20, 40, 70, 100] as const;
export const CANARY_LIMIT_MS = 3_600_000;
export const STALL_LIMIT_MS = 180_000;
const FAILURE_CHANCE = 0.005;
const SLOWER = 1.25;
const SLOWER_ERRORS = 3;
const TIMED_MIN = 10;

/** `executionMs`: of a completed job, if it is known. */
export function withEnd(
  tally: VersionTally,
  end: { readonly hasFailed: boolean; readonly executionMs?: number | undefined },
): VersionTally {
  const ended = { ...tally, ended: tally.ended + 1, failed: tally.failed + Number(end.hasFailed) };
  if (end.hasFailed || end.executionMs === undefined) return ended;
  const log = Math.log(Math.max(1, end.executionMs));
  return {
    ...ended,
    timed: tally.timed + 1,
    logSum: tally.logSum + log,
    logSquares: tally.logSquares + log * log,
  };
}

/** How many looks are due with so many ended attempts. */
export function looksDue(ended: number): number {
  return CANARY_LOOKS.filter((look) => ended >= look).length;
}

/** Undefined while it stays on trial. */
export function judgeCanary(evidence: CanaryEvidence): CanaryVerdict | undefined {
  const { canary, base, looks, isOver, wasReady, obstacle } = evidence;
  if (obstacle !== null) return { kind: "back", reason: `its workers did not start: ${obstacle}` };
  const due = looksDue(canary.ended);
  if (due > looks || isOver) {
    const regression = regressionOf(canary, base);
    if (regression !== undefined) return { kind: "back", reason: regression };
  }
  if (due === CANARY_LOOKS.length) return { kind: "on", reason: passed(canary, base) };
  if (!isOver) return undefined;
  if (!wasReady) return { kind: "back", reason: "none of its workers became ready" };
  return { kind: "on", reason: passed(canary, base) };
}

function regressionOf(canary: VersionTally, base: VersionTally): string | undefined {
  if (chanceOfFailures(canary, base) < FAILURE_CHANCE) return failuresOf(canary, base);
  const ratio = provenSlowdown(canary, base);
  return ratio === undefined
    ? undefined
    : `its jobs took ${ratio.toFixed(1)} times as long as those of the earlier version`;
}

function passed(canary: VersionTally, base: VersionTally): string {
  return canary.ended === 0 ? "there were no jobs" : failuresOf(canary, base);
}

function failuresOf(canary: VersionTally, base: VersionTally): string {
  return `${canary.failed} of ${canary.ended} jobs failed, ${base.failed} of ${base.ended} of the earlier version`;
}

/** CR2: the upper tail of the hypergeometric distribution. */
export function chanceOfFailures(canary: VersionTally, base: VersionTally): number {
  const failed = canary.failed + base.failed;
  const all = canary.ended + base.ended;
  const most = Math.min(failed, canary.ended);
  const total = logChoose(all, failed);
  let chance = 0;
  for (let count = canary.failed; count <= most; count += 1) {
    if (failed - count > base.ended) continue;
    chance += Math.exp(logChoose(canary.ended, count) + logChoose(base.ended, failed - count) - total);
  }
  return Math.min(1, chance);
}

/** CR3: how many times as long its jobs take, where that is proven. */
function provenSlowdown(canary: VersionTally, base: VersionTally): number | undefined {
  if (canary.timed < TIMED_MIN || base.timed < TIMED_MIN) return undefined;
  const difference = canary.logSum / canary.timed - base.logSum / base.timed;
  const error = Math.sqrt(varianceOfMean(canary) + varianceOfMean(base));
  return difference - Math.log(SLOWER) > SLOWER_ERRORS * error ? Math.exp(difference) : undefined;
}

function varianceOfMean({ timed, logSum, logSquares }: VersionTally): number {
  return Math.max(0, logSquares - logSum ** 2 / timed) / (timed - 1) / timed;
}

function logChoose(count: number, chosen: number): number {
  return logFactorial(count) - logFactorial(chosen) - logFactorial(count - chosen);
}

/** Exact for small numbers, Stirling's series for others: the error is below 1e-9. */
function logFactorial(value: number): number {
  if (value < SMALL_FACTORIALS.length) return SMALL_FACTORIALS[value] ?? 0;
  const stirling = value * Math.log(value) - value + Math.log(2 * Math.PI * value) / 2;
  return stirling + 1 / (12 * value) - 1 / (360 * value ** 3);
}

const SMALL_FACTORIALS: readonly number[] = Array.from({ length: 32 }, (_, value) =>
  Array.from({ length: value }, (__, index) => Math.log(index + 1)).reduce((sum, log) => sum + log, 0),
);
