/** health and metrics: what an endpoint has, what it admits, and what is used of that. */
import { afterEach, beforeEach, test, vi } from "vitest";
import { LIMITED_OPERATIONS, RATE_LIMITS, RATE_WINDOW_MS } from "../../src/contract/rate-limits.ts";
import { ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { bellOf, passTime } from "./object.ts";

const api = new EdgeClient();
const { call, createEndpoint, signInAsNewAccount } = api;

beforeEach(signInAsNewAccount);
afterEach(() => void vi.useRealTimers());

type Usage = { queueDepth: number; operations: Record<string, { requests: number; concurrent: number }> };

const get = async (endpointId: string, operation: string) =>
  (await call("GET", `/v2/${endpointId}/${operation}`)).body;
const usageOf = async (endpointId: string) => (await get(endpointId, "health"))["usage"] as Usage;

const NO_WORKERS = { idle: 0, initializing: 0, ready: 0, running: 0, throttled: 0, unhealthy: 0 };

test("a fresh endpoint has all counters at zero, and the base limits", async ({ expect }) => {
  const endpointId = await createEndpoint("workersMax: 0");
  const base = LIMITED_OPERATIONS.map((operation) => {
    const { requests, concurrent } = RATE_LIMITS[operation];
    return [operation, { requests, concurrent }];
  });
  const unused = LIMITED_OPERATIONS.map((operation) => [operation, { requests: 0, concurrent: 0 }]);
  expect(await get(endpointId, "health")).toEqual({
    jobs: { completed: 0, failed: 0, inProgress: 0, inQueue: 0, retried: 0 },
    workers: NO_WORKERS,
    limits: {
      windowMs: 10_000,
      runningWorkers: 0,
      queueDepth: 1_000_000,
      operations: Object.fromEntries(base),
    },
    release: null,
    obstacle: null,
    usage: { queueDepth: 0, operations: Object.fromEntries(unused) },
  });
  expect(await get(endpointId, "metrics")).toEqual({ readyWorkers: [], workers: NO_WORKERS });
});

test("requests count while they are in the window, and jobs while they wait", async ({ expect }) => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const endpointId = await createEndpoint("workersMax: 0");
  for (let sent = 0; sent < 3; sent += 1) await call("POST", `/v2/${endpointId}/run`, { input: 1 });
  const { operations, queueDepth } = await usageOf(endpointId);
  expect([queueDepth, operations["run"]]).toEqual([3, { requests: 3, concurrent: 0 }]);
  passTime(RATE_WINDOW_MS + 100);
  expect((await usageOf(endpointId)).operations["run"]).toEqual({ requests: 0, concurrent: 0 });
  await call("POST", `/v2/${endpointId}/purge-queue`);
  expect(await usageOf(endpointId)).toMatchObject({
    queueDepth: 0,
    operations: { "purge-queue": { requests: 1, concurrent: 0 } },
  });
});

test("a request that waits is in progress, inside the object and on its doorbell", async ({ expect }) => {
  const endpointId = await createEndpoint("workersMax: 0");
  const waiting = call("POST", `/v2/${endpointId}/runsync?wait=1000`, { input: 1 });
  await bellOf(endpointId, "job");
  expect((await usageOf(endpointId)).operations["runsync"]).toEqual({ requests: 1, concurrent: 1 });
  await waiting;
  expect((await usageOf(endpointId)).operations["runsync"]).toEqual({ requests: 1, concurrent: 0 });
});

test("running workers raise the limits, and metrics names those that are free", async ({ expect }) => {
  const endpointId = await createEndpoint("workersMin: 6, workersMax: 6, idleTimeout: 3600");
  const agent = await ScriptedAgent.join(api);
  let assigned = (await agent.sync()).assignments;
  while (assigned.length < 2) ({ assignments: assigned } = await agent.sync()); // two GPUs of the tier
  const workers = assigned.map(({ workerId }) => ({
    workerId,
    endpointId,
    revision: 1,
    state: "ready" as const,
  }));
  await agent.sync({ workers });
  const ready = async () => (await get(endpointId, "metrics"))["readyWorkers"] as string[];
  await vi.waitUntil(async () => (await ready()).length === 2);
  expect((await get(endpointId, "health"))["limits"]).toMatchObject({ runningWorkers: 2 });

  const [busy = "", free] = workers.map(({ workerId }) => workerId);
  await call("POST", `/v2/${endpointId}/run`, { input: 1 });
  await agent.take(endpointId, busy);
  expect(await get(endpointId, "metrics")).toEqual({
    readyWorkers: [free],
    workers: { ...NO_WORKERS, idle: 1, ready: 1, running: 1, throttled: 4 },
  });
});
