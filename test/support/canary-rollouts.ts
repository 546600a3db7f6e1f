/** Simulated rollouts that the rule of canaries judges (src/domain/rollouts/canary-rule.ts). */
import {
  CANARY_LIMIT_MS,
  judgeCanary,
  looksDue,
  NO_TALLY,
  withEnd,
  type CanaryVerdict,
  type VersionTally,
} from "../../src/domain/rollouts/canary-rule.ts";

const SHARE = 0.1;
const MEDIAN_MS = 400;

export type SimulatedLoad = {
  readonly jobsPerHour: number;
  /** Share of jobs that fail. */
  readonly baseFails: number;
  readonly canaryFails: number;
  /** Execution times are spread lognormally; `slower`: times that of the earlier version. */
  readonly spread: number;
  readonly slower: number;
};

export type SimulatedRollout = { readonly verdict: CanaryVerdict; readonly canaryJobs: number };

/** One rollout under a load, with the rule of the edge. */
export function simulateRollout(load: SimulatedLoad, random: () => number): SimulatedRollout {
  let tallies = { canary: NO_TALLY, base: NO_TALLY };
  let looks = 0;
  const intervalMs = CANARY_LIMIT_MS / load.jobsPerHour;
  for (let at = intervalMs; ; at += intervalMs) {
    const isOver = at > CANARY_LIMIT_MS;
    if (!isOver) tallies = withJob(tallies, load, random);
    const verdict = judgeCanary({ ...tallies, looks, isOver, wasReady: true, obstacle: null });
    if (verdict) return { verdict, canaryJobs: tallies.canary.ended };
    looks = looksDue(tallies.canary.ended);
  }
}

type Tallies = { readonly canary: VersionTally; readonly base: VersionTally };

function withJob({ canary, base }: Tallies, load: SimulatedLoad, random: () => number): Tallies {
  const isCanary = random() < SHARE;
  const hasFailed = random() < (isCanary ? load.canaryFails : load.baseFails);
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const executionMs = MEDIAN_MS * Math.exp(load.spread * normal) * (isCanary ? load.slower : 1);
  const end = { hasFailed, executionMs };
  return isCanary ? { canary: withEnd(canary, end), base } : { canary, base: withEnd(base, end) };
}

/** Random numbers in [0, 1) that follow from a seed. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export type CanaryFigures = {
  /** Of all rollouts: those that went back. */
  readonly back: number;
  /** Ended jobs of the new version until the verdict, on average. */
  readonly canaryJobs: number;
};

export function simulateRollouts(load: SimulatedLoad, count: number, seed: number): CanaryFigures {
  const random = seededRandom(seed);
  const rollouts = Array.from({ length: count }, () => simulateRollout(load, random));
  return {
    back: rollouts.filter(({ verdict }) => verdict.kind === "back").length,
    canaryJobs: rollouts.reduce((sum, rollout) => sum + rollout.canaryJobs, 0) / count,
  };
}
