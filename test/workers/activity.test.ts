/** What an endpoint did: counted without rows for jobs, and exact whatever the object forgets. */
import { afterEach, beforeEach, describe, test, vi } from "vitest";
import type { DispatchedJob } from "../../src/contract/agent/agent.ts";
import type { RequestMetrics, WorkerMetrics } from "../../src/contract/metrics.ts";
import { ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { endpointObject, evict, fireAlarm, kill, passTime } from "./object.ts";
import { issueAt } from "./message-facts.ts";

const api = new EdgeClient();
const { call, createEndpoint, signInAsNewAccount } = api;

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

beforeEach(signInAsNewAccount);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

/** The clock stands at the beginning of an hour, so that a test knows in which its jobs are. */
beforeEach(() => vi.setSystemTime(Math.ceil(Date.now() / HOUR) * HOUR));

async function requestsOf(endpointId: string, window = "1h"): Promise<RequestMetrics> {
  const { body } = await call("GET", `/v2/${endpointId}/metrics/requests?window=${window}`);
  return body as unknown as RequestMetrics;
}

async function workersOf(endpointId: string, window = "1h"): Promise<WorkerMetrics> {
  const { body } = await call("GET", `/v2/${endpointId}/metrics/workers?window=${window}`);
  return body as unknown as WorkerMetrics;
}

async function warmEndpoint() {
  const endpointId = await createEndpoint("workersMin: 1, workersMax: 1, idleTimeout: 3600");
  const agent = await ScriptedAgent.join(api);
  const workerId = await agent.bringUpWorker(endpointId);
  const submit = async () => String((await call("POST", `/v2/${endpointId}/run`, { input: 1 })).body["id"]);
  /** A job that waits and runs as long as it is said. */
  const runJob = async (waitMs: number, runMs: number) => {
    await submit();
    passTime(waitMs);
    const job = await agent.take(endpointId, workerId);
    passTime(runMs);
    await agent.complete(endpointId, job, 1);
  };
  return { endpointId, agent, workerId, submit, runJob };
}

const failed = (job: DispatchedJob) => ({
  kind: "failed" as const,
  jobId: job.id,
  attempt: job.attempt,
  workerId: job.workerId,
  error: "no",
});

describe("requests", () => {
  test("are counted by how they ended, with their times", async ({ expect }) => {
    const { endpointId, agent, workerId, submit, runJob } = await warmEndpoint();
    for (let count = 0; count < 10; count += 1) await runJob(100, 1_000);
    await submit();
    await agent.report(endpointId, failed(await agent.take(endpointId, workerId)));
    await call("POST", `/v2/${endpointId}/cancel/${await submit()}`);
    await submit();

    const told = await requestsOf(endpointId);
    expect(told).toMatchObject({ requests: 13, completed: 10, failed: 1, cancelled: 1, timedOut: 0 });
    expect(told.delayTime).toMatchObject({ count: 11, mean: Math.round(1_000 / 11) });
    expect(told.delayTime.p50).toBeGreaterThan(95);
    expect(told.delayTime.p50).toBeLessThan(105);
    expect(told.executionTime.p99).toBeGreaterThan(955);
    expect(told.executionTime.p99).toBeLessThan(1_045);
    expect(told.coldStartTime).toMatchObject({ count: 0, p50: null });
  });

  test("are counted by minutes and hours, and leave the window when they are older", async ({ expect }) => {
    const { endpointId, runJob } = await warmEndpoint();
    await runJob(0, 10);
    passTime(10 * MINUTE);
    await runJob(0, 10);
    expect((await requestsOf(endpointId, "5m")).completed).toBe(1);
    const hour = await requestsOf(endpointId, "1h");
    expect(hour.completed).toBe(2);
    expect(hour.points.map(({ completed }) => completed).filter((count) => count > 0)).toEqual([1, 1]);

    passTime(2 * HOUR);
    await runJob(0, 10);
    expect((await requestsOf(endpointId, "1h")).completed).toBe(1);
    const day = await requestsOf(endpointId, "24h");
    expect(day.completed).toBe(3);
    expect(day.points.slice(-3).map(({ completed }) => completed)).toEqual([2, 0, 1]);
    passTime(25 * HOUR);
    expect((await requestsOf(endpointId, "24h")).completed).toBe(0);
    expect((await requestsOf(endpointId, "7d")).completed).toBe(3);
  });

  test("that are purged or expire are counted", async ({ expect }) => {
    const { endpointId, submit } = await warmEndpoint();
    for (let count = 0; count < 3; count += 1) await submit();
    await call("POST", `/v2/${endpointId}/purge-queue`);
    await call("POST", `/v2/${endpointId}/run`, { input: 1, policy: { ttl: 10_000 } });
    passTime(11_000);
    await fireAlarm(endpointId);
    expect(await requestsOf(endpointId)).toMatchObject({ requests: 4, cancelled: 3, expired: 1 });
  });

  test("of an unknown window are rejected", async ({ expect }) => {
    const endpointId = await createEndpoint();
    expect(await call("GET", `/v2/${endpointId}/metrics/requests?window=2h`)).toMatchObject({
      status: 400,
      body: { error: expect.stringMatching(issueAt("window", "5m", "1h", "24h", "7d")) },
    });
  });

  test("that waited for a worker to come up have a cold start", async ({ expect }) => {
    const endpointId = await createEndpoint("idleTimeout: 3600");
    await call("POST", `/v2/${endpointId}/run`, { input: 1 });
    const agent = await ScriptedAgent.join(api);
    const { assignments, revision } = await agent.sync();
    const { workerId = "", revision: version = 0 } = assignments[0] ?? {};
    passTime(20_000);
    const ago = { pullStarted: 19_000, pullEnded: 4_000, containerStarted: 3_000, ready: 0 };
    const worker = { workerId, endpointId, revision: version, state: "ready" as const, ago };
    await agent.sync({ appliedRevision: revision, workers: [worker] });
    await agent.complete(endpointId, await agent.take(endpointId, workerId), 1);
    await call("POST", `/v2/${endpointId}/run`, { input: 1 });
    await agent.complete(endpointId, await agent.take(endpointId, workerId), 1);

    const { coldStartTime, completed } = await requestsOf(endpointId);
    expect(completed).toBe(2);
    expect(coldStartTime).toMatchObject({ count: 1, mean: 19_000 });
  });
});

describe("an object that loses its memory", () => {
  test.for([
    ["is evicted", evict],
    ["is killed", kill],
  ] as const)("and %s between jobs has counted each once, in its minute", async ([, lose], { expect }) => {
    const { endpointId, runJob, submit } = await warmEndpoint();
    for (let count = 0; count < 8; count += 1) {
      await runJob(50, 500);
      await lose(endpointId);
      passTime(MINUTE / 2);
    }
    await submit();
    await lose(endpointId);
    const told = await requestsOf(endpointId);
    expect(told).toMatchObject({ requests: 9, completed: 8 });
    expect(told.delayTime).toMatchObject({ count: 8, mean: 50 });
    expect(told.executionTime).toMatchObject({ count: 8, mean: 500 });
    const perMinute = told.points.map(({ completed }) => completed).filter((count) => count > 0);
    expect(perMinute).toEqual([2, 2, 2, 2]);
  });

  test("reports how long jobs waited and ran, and which workers ran them", async ({ expect }) => {
    const { endpointId, submit, agent, workerId, runJob } = await warmEndpoint();
    passTime(2 * MINUTE);
    await runJob(15_000, 30_000);
    passTime(15_000);
    await submit();
    const job = await agent.take(endpointId, workerId);
    passTime(30_000);
    await agent.complete(endpointId, job, 1);
    passTime(30_000);
    await kill(endpointId);
    const { points } = await workersOf(endpointId, "5m");
    expect(points.slice(2, 4)).toMatchObject([
      {
        mean: { busy: 0.5, idle: 0.5, queued: 0.25, running: 0.5, wanted: 1 },
        max: { busy: 1, idle: 1, queued: 1 },
      },
      { mean: { busy: 0.5, idle: 0.5, queued: 0, running: 0.5 } },
    ]);
  });

  test("counts a waiting job in its minute, however often it loses its memory", async ({ expect }) => {
    const endpointId = await createEndpoint("workersMin: 0, workersMax: 0");
    passTime(5 * MINUTE);
    await call("POST", `/v2/${endpointId}/run`, { input: 1 });
    for (let round = 0; round < 3; round += 1) {
      await kill(endpointId);
      passTime(MINUTE);
      expect((await requestsOf(endpointId)).requests).toBe(1);
    }
    const { points } = await requestsOf(endpointId);
    expect(points.slice(-4).map(({ requests }) => requests)).toEqual([1, 0, 0, 0]);
    const levels = (await workersOf(endpointId)).points.slice(-5).map(({ mean }) => mean.queued);
    expect(levels).toEqual([0, 1, 1, 1, 1]);
  });

  test("keeps its activity over hours, whenever it loses its memory", async ({ expect }) => {
    const { endpointId, runJob } = await warmEndpoint();
    for (let count = 0; count < 12; count += 1) {
      await runJob(50, 500);
      if (count % 3 !== 0) await evict(endpointId);
      if (count % 5 === 0) await fireAlarm(endpointId);
      passTime(17 * MINUTE);
    }
    const day = await requestsOf(endpointId, "24h");
    expect(day).toMatchObject({ requests: 12, completed: 12 });
    expect(day.points.map(({ completed }) => completed).filter((count) => count > 0)).toEqual([4, 4, 3, 1]);
  });
});

describe("workers", () => {
  test("are reported by state, weighted by duration", async ({ expect }) => {
    const { endpointId, runJob } = await warmEndpoint();
    passTime(MINUTE);
    await runJob(15_000, 30_000);
    passTime(15_000);
    const { points, now } = await workersOf(endpointId, "5m");
    expect(now).toMatchObject({ idle: 1, busy: 0, queued: 0, wanted: 1 });
    expect(points.at(-2)).toMatchObject({
      mean: { busy: 0.5, idle: 0.5, queued: 0.25, running: 0.5, wanted: 1 },
      max: { busy: 1, idle: 1, queued: 1 },
    });
  });

  test("that do not change cost no writes and are still reported", async ({ expect }) => {
    const { endpointId, runJob } = await warmEndpoint();
    await runJob(0, 1_000);
    await evict(endpointId);
    const before = (await endpointObject(endpointId).vitals()).rowsWritten;
    passTime(30 * HOUR);
    const { points } = await workersOf(endpointId, "24h");
    expect(points.every(({ mean }) => mean.idle === 1)).toBe(true);
    expect((await endpointObject(endpointId).vitals()).rowsWritten).toBe(before);
  });
});

test("the metrics of an endpoint cost no row while its workers stay, and one after they changed", async ({
  expect,
}) => {
  const { endpointId, agent, workerId, submit } = await warmEndpoint();
  const stub = endpointObject(endpointId);
  const run = async (jobs: number) => {
    const before = (await stub.vitals()).rowsWritten;
    await Promise.all(Array.from({ length: jobs }, submit));
    const taken = await agent.exchange(endpointId, { slots: [{ workerId, free: jobs }] });
    const reports = taken.jobs.map(({ id: jobId, attempt }) => ({
      kind: "completed" as const,
      jobId,
      attempt,
      workerId,
      output: 1,
    }));
    await agent.exchange(endpointId, { reports });
    return (await stub.vitals()).rowsWritten - before;
  };
  await run(10);
  const inOneMinute = await run(10);
  passTime(2 * MINUTE);
  const withNote = await run(10);
  passTime(2 * MINUTE);
  const inAnother = await run(10);
  console.info(
    `rows of ten jobs: ${inOneMinute} in the first minute, ${withNote} and ${inAnother} in later ones`,
  );
  expect(withNote - inOneMinute).toBeLessThanOrEqual(1);
  expect(inAnother).toBe(inOneMinute);
});
