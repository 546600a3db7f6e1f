import { describe, expect, test } from "vitest";
import { countWorkers, type Health, readinessOf } from "./readiness.ts";

const NONE = { idle: 0, running: 0, initializing: 0, throttled: 0, unhealthy: 0 };
const ROLLOUT = { outdated: 2, current: 1, ready: 0, stalledSince: null, reason: null };

function health(workers: Partial<Health["workers"]>, rest: Partial<Health> = {}): Health {
  return { workers: { ...NONE, ...workers }, release: null, ...rest };
}

describe("the workers of an endpoint", () => {
  test.each([
    ["none, and none is asked for", health({}), 0, { state: "idle" }],
    ["none yet, and one always runs", health({}), 1, { state: "waiting" }],
    ["one that is free", health({ idle: 1 }), 0, { state: "ready" }],
    ["one that is busy", health({ running: 1 }), 1, { state: "ready" }],
    ["one that starts", health({ initializing: 1 }), 0, { state: "waiting" }],
    ["one without a place", health({ throttled: 1 }), 0, { state: "waiting" }],
    ["one that fails, at an edge that says no reason", health({ unhealthy: 1 }), 1, { state: "failed" }],
    ["an obstacle", health({ idle: 0 }, { obstacle: "No host" }), 1, { state: "failed", reason: "No host" }],
    [
      "older ones that serve while new ones start",
      health({ idle: 2 }, { release: { ...ROLLOUT, reason: "pulling" } }),
      0,
      { state: "waiting", reason: "pulling" },
    ],
    [
      "older ones that serve while new ones cannot start",
      health(
        { idle: 2 },
        { release: { ...ROLLOUT, stalledSince: "2026-01-01T00:00:00Z", reason: "ImportError" } },
      ),
      0,
      { state: "failed", reason: "ImportError" },
    ],
  ] as const)("%s", (_, said, workersMin, expected) => {
    expect(readinessOf(said, workersMin)).toMatchObject(expected);
  });
});

test.each([
  ["those that always run are to come", health({}), 2, { ready: 0, total: 2 }],
  ["those that start are to come", health({ idle: 1, initializing: 1 }), 0, { ready: 1, total: 2 }],
  ["outdated ones are to be replaced", health({ idle: 2 }, { release: ROLLOUT }), 1, { ready: 0, total: 2 }],
] as const)("of the workers of an endpoint %s", (_, said, workersMin, expected) => {
  expect(countWorkers(said, workersMin)).toEqual(expected);
});
