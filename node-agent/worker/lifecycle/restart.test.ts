import { describe, test } from "vitest";
import { retryDelayMs } from "../../../src/std/waiting.ts";
import { TIMING } from "../../core/timing.ts";
import { type WorkerFailure, decideRestart, removalPolicy } from "./restart.ts";

const policy = { baseMs: 1_000, capMs: 60_000, healthyMs: 60_000 };
const exit: WorkerFailure = { kind: "exited", reason: "exited with code 3", lastLine: "boom" };

describe("a failed worker", () => {
  test("starts again after 1 s the first time and is not yet called crash-looping", ({ expect }) => {
    expect(decideRestart(exit, { failuresInRow: 0, readyForMs: 0 }, policy)).toEqual({
      failuresInRow: 1,
      delayMs: 1_000,
      state: "starting",
      detail: expect.stringMatching(/exited with code 3.*boom.*1 s/),
    });
  });

  test("is crash-looping from the second failure in a row on", ({ expect }) => {
    const verdict = decideRestart(exit, { failuresInRow: 1, readyForMs: 5_000 }, policy);
    expect(verdict).toMatchObject({ failuresInRow: 2, delayMs: 2_000, state: "crash_looping" });
  });

  test("waits twice as long each time, but never more than a minute", ({ expect }) => {
    expect([1, 2, 3, 6, 7, 100].map((failures) => retryDelayMs(failures, policy))).toEqual([
      1_000, 2_000, 4_000, 32_000, 60_000, 60_000,
    ]);
  });

  test("is forgiven after a minute of being ready", ({ expect }) => {
    const verdict = decideRestart(exit, { failuresInRow: 7, readyForMs: 60_000 }, policy);
    expect(verdict).toMatchObject({ failuresInRow: 1, delayMs: 1_000, state: "starting" });
  });

  test("stays unhealthy when it never asked for a job within its start limit", ({ expect }) => {
    const failure: WorkerFailure = {
      kind: "start_limit_exceeded",
      reason: "no job poll",
      lastLine: undefined,
    };
    const verdict = decideRestart(failure, { failuresInRow: 4, readyForMs: 0 }, policy);
    expect(verdict).toMatchObject({ state: "unhealthy", detail: "no job poll; starts again in 16 s" });
  });

  test("is unhealthy when it said so before it exited", ({ expect }) => {
    const failure: WorkerFailure = { kind: "reported_unhealthy", reason: "disk full", lastLine: undefined };
    expect(decideRestart(failure, { failuresInRow: 0, readyForMs: 0 }, policy).state).toBe("unhealthy");
  });
});

test("a removal that fails is tried again every ten seconds at least", ({ expect }) => {
  const delays = [1, 2, 100].map((failures) => retryDelayMs(failures, removalPolicy(TIMING)));
  expect(delays).toEqual([1_000, 2_000, 10_000]);
});
