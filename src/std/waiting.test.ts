import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import { retryDelayMs } from "./waiting.ts";

const policy = { baseMs: 250, capMs: 15_000 };

describe("the wait before the next attempt", () => {
  test("grows from the base to the cap", () => {
    const delays = [1, 2, 3, 7, 50].map((failures) => retryDelayMs(failures, policy, 0.999_999));
    expect(delays).toEqual([250, 500, 1_000, 15_000, 15_000]);
  });

  test.prop([fc.integer({ min: 1, max: 10_000 }), fc.double({ min: 0, max: 0.999, noNaN: true })])(
    "is never below half the base nor above the cap",
    (failures, random) => {
      const delayMs = retryDelayMs(failures, policy, random);
      return delayMs >= policy.baseMs / 2 && delayMs <= policy.capMs;
    },
  );
});
