import { describe, test } from "vitest";
import { simulateRollouts, type SimulatedLoad } from "../../../test/support/canary-rollouts.ts";
import {
  CANARY_LOOKS,
  chanceOfFailures,
  judgeCanary,
  NO_TALLY,
  withEnd,
  type CanaryEvidence,
  type VersionTally,
} from "./canary-rule.ts";

const tally = (ended: number, failed: number): VersionTally => ({ ...NO_TALLY, ended, failed });
const judge = (evidence: Partial<CanaryEvidence>) =>
  judgeCanary({
    ...{ canary: NO_TALLY, base: NO_TALLY, looks: 0 },
    ...{ isOver: false, wasReady: true, obstacle: null },
    ...evidence,
  });

test("the chance of failures is that of Fisher's exact test", ({ expect }) => {
  expect(chanceOfFailures(tally(5, 5), tally(5, 0))).toBeCloseTo(1 / 252, 9);
  expect(chanceOfFailures(tally(10, 3), tally(90, 7))).toBeCloseTo(0.0600186, 6);
  expect(chanceOfFailures(tally(40, 0), tally(400, 4))).toBeCloseTo(1, 9);
  expect(chanceOfFailures(tally(5, 5), tally(0, 0))).toBeCloseTo(1, 9);
});

describe("a version is judged", () => {
  test("by its failures when a look is due, and not between looks", ({ expect }) => {
    const failing = { canary: tally(6, 6), base: tally(50, 0) };
    expect(judge({ ...failing, looks: 0 })).toMatchObject({ kind: "back" });
    expect(judge({ ...failing, looks: 1 })).toBeUndefined();
  });

  test("by its time, where that is proven", ({ expect }) => {
    const timed = (ms: number) =>
      Array.from({ length: 20 }, (_, index) => ms + index).reduce(
        (sum, executionMs) => withEnd(sum, { hasFailed: false, executionMs }),
        NO_TALLY,
      );
    expect(judge({ canary: timed(900), base: timed(300) })?.reason).toContain("2.9 times as long");
    expect(judge({ canary: timed(310), base: timed(300) })).toBeUndefined();
  });

  test("as good after the last look, or when its time is over", ({ expect }) => {
    const last = CANARY_LOOKS.at(-1) ?? 0;
    expect(judge({ canary: tally(last, 1), base: tally(900, 9) })).toMatchObject({ kind: "on" });
    expect(judge({ canary: tally(3, 0), isOver: true })).toMatchObject({ kind: "on" });
    expect(judge({ isOver: true, wasReady: false })).toMatchObject({ kind: "back" });
    expect(judge({ obstacle: "No such image." })?.reason).toContain("No such image.");
  });
});

describe("of 1,000 rollouts", () => {
  const base = { jobsPerHour: 3_600, spread: 0.5, slower: 1 };
  const backOf = (load: Partial<SimulatedLoad>) =>
    simulateRollouts({ ...base, baseFails: 0.01, canaryFails: 0.01, ...load }, 1_000, 7).back;

  test.for([0, 0.01, 0.05, 0.2])("few go back whose jobs fail as before: %d", (fails, { expect }) => {
    expect(backOf({ baseFails: fails, canaryFails: fails })).toBeLessThanOrEqual(25);
  });

  test("nearly all go back whose jobs fail or take long", ({ expect }) => {
    expect(backOf({ canaryFails: 0.2 })).toBeGreaterThanOrEqual(980);
    expect(backOf({ slower: 2 })).toBeGreaterThanOrEqual(980);
    expect(backOf({ baseFails: 0.05, canaryFails: 0.5 })).toBeGreaterThanOrEqual(995);
    expect(backOf({ jobsPerHour: 360, canaryFails: 0.5 })).toBeGreaterThanOrEqual(980);
  });
});
