import { test } from "vitest";
import { RATE_LIMITS, type LimitedOperation } from "../../contract/rate-limits.ts";
import type { WorkerState } from "../../contract/agent/agent.ts";
import { effectiveLimit, runningWorkers } from "./rate-limit.ts";

test("the limits are those of the service", ({ expect }) => {
  const bases = (
    ["runsync", "run", "status", "stream", "cancel", "purge-queue", "openai", "requests"] as const
  ).map((operation) => [operation, ...Object.values(RATE_LIMITS[operation]).slice(0, 2)].join(" "));
  expect(bases).toEqual([
    "runsync 2000 400",
    "run 1000 200",
    "status 2000 400",
    "stream 2000 400",
    "cancel 100 20",
    "purge-queue 2 ",
    "openai 2000 400",
    "requests 10 2",
  ]);
});

test("the base holds until the workers stand for more, and both limits grow alike", ({ expect }) => {
  expect(effectiveLimit("runsync", 0)).toEqual({ requests: 2_000, concurrent: 400 });
  expect(effectiveLimit("runsync", 5)).toEqual({ requests: 2_000, concurrent: 400 });
  expect(effectiveLimit("runsync", 6)).toEqual({ requests: 2_400, concurrent: 480 });
  expect(effectiveLimit("run", 100)).toEqual({ requests: 20_000, concurrent: 4_000 });
  expect(effectiveLimit("cancel", 6)).toEqual({ requests: 120, concurrent: 24 });
});

test("purge-queue stays as it is, however many workers run", ({ expect }) => {
  expect(effectiveLimit("purge-queue", 1_000)).toEqual({ requests: 2, concurrent: null });
});

test("no limit falls when a worker comes", ({ expect }) => {
  for (const operation of Object.keys(RATE_LIMITS) as LimitedOperation[]) {
    for (let workers = 0; workers < 20; workers += 1) {
      const [before, after] = [effectiveLimit(operation, workers), effectiveLimit(operation, workers + 1)];
      expect(after.requests).toBeGreaterThanOrEqual(before.requests);
      expect(after.concurrent ?? 0).toBeGreaterThanOrEqual(before.concurrent ?? 0);
    }
  }
});

test("only ready workers count as running", ({ expect }) => {
  const states: WorkerState[] = ["pulling", "starting", "ready", "unhealthy", "crash_looping", "ready"];
  const workers = states.map((state) => ({ workerId: state, hostId: "h", state, detail: null }));
  expect(runningWorkers({ revision: 1, workers, missing: 0, shortage: null })).toBe(2);
});
