/** health and metrics: what an endpoint has, what it admits, and what is used of that. */
import { vi } from "vitest";
import { LIMITED_OPERATIONS, RATE_LIMITS, RATE_WINDOW_MS } from "../../src/contract/rate-limits.ts";
import { channelOf, passTime } from "./object.ts";
import { NO_WORKERS, test, type TestEndpoint } from "./support/fleet-harness.ts";
import { notYet, until } from "./support/until.ts";

type Usage = { queueDepth: number; operations: Record<string, { requests: number; concurrent: number }> };

const usageOf = async (endpoint: TestEndpoint) => (await endpoint.health())["usage"] as Usage;
const metricsOf = async (endpoint: TestEndpoint) => (await endpoint.get("metrics")).body;

test("a new endpoint has all counters at zero, and the base limits", async ({ expect, fleet }) => {
  const endpoint = await fleet.endpoint("workersMax: 0");
  const base = LIMITED_OPERATIONS.map((operation) => {
    const { requests, concurrent } = RATE_LIMITS[operation];
    return [operation, { requests, concurrent }];
  });
  const unused = LIMITED_OPERATIONS.map((operation) => [operation, { requests: 0, concurrent: 0 }]);
  expect(await endpoint.health()).toEqual({
    jobs: { completed: 0, failed: 0, inProgress: 0, inQueue: 0, retried: 0 },
    workers: NO_WORKERS,
    limits: {
      windowMs: 10_000,
      runningWorkers: 0,
      queueDepth: 1_000_000,
      operations: Object.fromEntries(base),
    },
    budget: null,
    release: null,
    canary: null,
    obstacle: null,
    usage: { queueDepth: 0, operations: Object.fromEntries(unused) },
  });
  expect(await metricsOf(endpoint)).toEqual({ readyWorkers: [], workers: NO_WORKERS });
});

test("requests count while they are in the window, and jobs while they wait", async ({ expect, fleet }) => {
  const endpoint = await fleet.endpoint("workersMax: 0");
  await endpoint.submitMany(3);
  const { operations, queueDepth } = await usageOf(endpoint);
  expect([queueDepth, operations["run"]]).toEqual([3, { requests: 3, concurrent: 0 }]);
  passTime(RATE_WINDOW_MS + 100);
  expect((await usageOf(endpoint)).operations["run"]).toEqual({ requests: 0, concurrent: 0 });
  await endpoint.post("purge-queue");
  expect(await usageOf(endpoint)).toMatchObject({
    queueDepth: 0,
    operations: { "purge-queue": { requests: 1, concurrent: 0 } },
  });
});

test("a request that waits is in progress, inside the object and outside", async ({ expect, fleet }) => {
  vi.useRealTimers(); // the request ends by itself
  const endpoint = await fleet.endpoint("workersMax: 0");
  const waiting = endpoint.post("runsync?wait=1000", { input: 1 });
  await channelOf(endpoint.id, "job");
  expect((await usageOf(endpoint)).operations["runsync"]).toEqual({ requests: 1, concurrent: 1 });
  await waiting;
  expect((await usageOf(endpoint)).operations["runsync"]).toEqual({ requests: 1, concurrent: 0 });
});

test("running workers raise the limits, and metrics names those that are free", async ({ expect, fleet }) => {
  const endpoint = await fleet.endpoint("workersMin: 6, workersMax: 6, idleTimeout: 3600");
  const host = await fleet.host({ gpus: ["AMPERE_16", "AMPERE_16"] });
  const [busy = "", free = ""] = await host.untilReady(endpoint, 2);
  const areNamed = async () => {
    const { readyWorkers } = await metricsOf(endpoint);
    return (readyWorkers as string[]).length === 2 || notYet(readyWorkers);
  };
  await until(areNamed, "metrics names both workers");
  expect((await endpoint.health())["limits"]).toMatchObject({ runningWorkers: 2 });

  await endpoint.submit();
  await host.agent.take(endpoint.id, busy);
  expect(await metricsOf(endpoint)).toEqual({
    readyWorkers: [free],
    workers: { ...NO_WORKERS, idle: 1, ready: 1, running: 1, throttled: 4 },
  });
});
