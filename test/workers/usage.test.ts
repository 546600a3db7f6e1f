/** Usage by the hour: collected once, however often and however badly the collection runs. */
import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import fc from "fast-check";
import { afterEach, beforeEach, describe, test, vi } from "vitest";
import { openDatabase } from "../../src/db/database.ts";
import { usageHour, usageProgress } from "../../src/db/schema.ts";
import { removeOldUsage } from "../../src/db/usage.ts";
import type { Env } from "../../src/env.ts";
import { collectUsage } from "../../src/management/accounts/usage-collection.ts";
import { ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { evict, passTime } from "./object.ts";
import { withFailure } from "./tapped-database.ts";

const api = new EdgeClient();
const { call, createEndpoint, graphql, signInAsNewAccount } = api;

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const db = openDatabase(env.DB);

beforeEach(signInAsNewAccount);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());
beforeEach(() => void vi.setSystemTime(Math.ceil(Date.now() / HOUR) * HOUR));
/** The clock of the test before may have been ahead of this one's. */
beforeEach(async () => {
  await db.delete(usageProgress);
  await db.delete(usageHour);
});

const collect = async (bindings: Env = env) =>
  await collectUsage({ env: bindings, db: openDatabase(bindings.DB) }, Date.now());

async function workingEndpoint() {
  const endpointId = await createEndpoint("workersMin: 1, workersMax: 1, idleTimeout: 3600");
  const agent = await ScriptedAgent.join(api);
  const workerId = await agent.bringUpWorker(endpointId);
  const keepAlive = () => agent.sync({ workers: [{ workerId, endpointId, revision: 1, state: "ready" }] });
  const runJob = async (runMs = 1_000) => {
    await call("POST", `/v2/${endpointId}/run`, { input: 1 });
    const job = await agent.take(endpointId, workerId);
    passTime(runMs);
    await agent.complete(endpointId, job, 1);
  };
  return { endpointId, agent, workerId, keepAlive, runJob };
}

async function rowsOf(endpointId: string) {
  return await db
    .select()
    .from(usageHour)
    .where(eq(usageHour.endpointId, endpointId))
    .orderBy(usageHour.hour);
}

describe("usage", () => {
  test("of an hour has its jobs and the time of its workers and their GPUs", async ({ expect }) => {
    const startedAt = Date.now();
    const { endpointId, runJob } = await workingEndpoint();
    for (let count = 0; count < 5; count += 1) await runJob();
    passTime(10 * MINUTE);
    await collect();

    const [row, ...more] = await rowsOf(endpointId);
    expect(more).toEqual([]);
    expect(row).toMatchObject({ hour: startedAt, requests: 5, completed: 5, failed: 0, executionMs: 5_000 });
    expect(row?.endpointName).toMatch(/^test-/);
    expect(row?.workerMs).toBe(Date.now() - startedAt);
    const cost = ((row?.workerMs ?? 0) / HOUR) * 0.016;
    expect(row?.gpus).toEqual([
      { model: "Simulated AMPERE_16", tier: "AMPERE_16", ms: row?.workerMs, cost: expect.closeTo(cost, 9) },
    ]);
    expect(row?.busyMs).toBe(5_000);
  });

  test("that is collected again and again, by several at once, is the same", async ({ expect }) => {
    const { endpointId, runJob } = await workingEndpoint();
    await runJob();
    await Promise.all([collect(), collect(), collect()]);
    const before = await rowsOf(endpointId);
    await collect();
    expect(await rowsOf(endpointId)).toEqual(before);
    expect(before).toMatchObject([{ completed: 1 }]);
  });

  test("of hours that were not collected is found later, hour by hour", async ({ expect }) => {
    const { endpointId, runJob, keepAlive } = await workingEndpoint();
    for (let hour = 0; hour < 4; hour += 1) {
      await keepAlive();
      await runJob();
      passTime(HOUR - 1_000);
      await keepAlive();
    }
    await collect();
    await collect();
    const rows = await rowsOf(endpointId);
    expect(rows.slice(0, 4).map(({ completed, workerMs }) => [completed, workerMs])).toEqual([
      [1, HOUR],
      [1, HOUR],
      [1, HOUR],
      [1, HOUR],
    ]);
  });

  test("is kept, with its name, when the endpoint is deleted", async ({ expect }) => {
    const { endpointId, runJob } = await workingEndpoint();
    await runJob();
    await collect();
    await runJob();
    passTime(MINUTE);
    await graphql(
      `mutation { saveEndpoint(input: { id: "${endpointId}", workersMin: 0, workersMax: 0 }) { id } }`,
    );
    await graphql(`mutation { deleteEndpoint(id: "${endpointId}") }`);
    const before = await rowsOf(endpointId);
    expect(before).toMatchObject([{ completed: 2, endpointName: expect.stringMatching(/^test-/) }]);
    passTime(3 * HOUR);
    await collect();
    const [after] = await rowsOf(endpointId);
    expect(after).toMatchObject({ completed: 2, endpointName: before[0]?.endpointName });
    expect(after?.workerMs).toBeGreaterThanOrEqual(before[0]?.workerMs ?? 0);
  });

  test("of a lost host ends when the host is declared lost, and a late report of it changes nothing", async ({
    expect,
  }) => {
    const { endpointId, agent, workerId } = await workingEndpoint();
    passTime(5 * MINUTE);
    await env.FLEET.getByName(api.accountId).removeHost({
      id: agent.hostId,
      accountId: api.accountId,
      name: "host",
    });
    await collect();
    const before = await rowsOf(endpointId);
    expect(before).toMatchObject([{ workerMs: 5 * MINUTE }]);
    passTime(MINUTE);
    const late = agent.sync({ workers: [{ workerId, endpointId, revision: 1, state: "ready" }] });
    await expect(late).rejects.toThrow("removed");
    await collect();
    expect((await rowsOf(endpointId))[0]?.workerMs).toBe(5 * MINUTE);
  });

  test("is shown by day and endpoint, with a nominal price, and never to others", async ({ expect }) => {
    const { endpointId, runJob } = await workingEndpoint();
    await runJob();
    passTime(HOUR / 2 - 1_000);
    await collect();
    const document = `{ myself { usage(input: { from: "${new Date(0).toISOString()}" }) { endpointId endpointName
      requests completed executionSeconds workerSeconds cost gpus { model tier seconds cost } }
      endpoint(id: "${endpointId}") { metrics(window: LAST_24_HOURS) { requests workers } } } }`;
    type Shown = {
      myself: { usage: unknown[]; endpoint: { metrics: { requests: unknown; workers: unknown } } | null };
    };
    const { myself } = await graphql<Shown>(document);
    expect(myself.usage).toMatchObject([
      {
        endpointId,
        requests: 1,
        completed: 1,
        executionSeconds: 1,
        workerSeconds: 1_800,
        cost: 0.008,
        gpus: [{ tier: "AMPERE_16", seconds: 1_800, cost: 0.008 }],
      },
    ]);
    expect(myself.endpoint?.metrics).toMatchObject({
      requests: { completed: 1 },
      workers: { now: { idle: 1 } },
    });
    const bills = await call("GET", "/v1/billing/endpoints?bucketSize=hour&grouping=gpuTypeId");
    expect(bills.body).toMatchObject([
      { amount: 0.008, timeBilledMs: 1_800_000, gpuTypeId: "Simulated AMPERE_16" },
    ]);

    await signInAsNewAccount();
    const others = await graphql<Shown>(document);
    expect(others.myself).toEqual({ usage: [], endpoint: null });
    expect((await call("GET", `/v1/billing/endpoints?endpointId=${endpointId}`)).body).toEqual([]);
  });

  test("of a worker without GPUs costs what its vCPUs do", async ({ expect }) => {
    const { saveEndpoint } = await graphql<{ saveEndpoint: { id: string } }>(`
      mutation {
        saveEndpoint(
          input: {
            name: "cpu"
            instanceIds: ["cpu3c-4-8"]
            workersMin: 1
            workersMax: 1
            idleTimeout: 3600
            template: { imageName: "test:1", containerDiskInGb: 5 }
          }
        ) {
          id
        }
      }
    `);
    const agent = await ScriptedAgent.join(api);
    await agent.bringUpWorker(saveEndpoint.id);
    passTime(HOUR / 2);
    await collect();
    const { myself } = await graphql<{ myself: { usage: unknown } }>(
      "{ myself { usage(input: {}) { vcpuSeconds cost gpus { model } } } }",
    );
    expect(myself.usage).toEqual([{ vcpuSeconds: 7_200, cost: 0.002, gpus: [] }]);
    const bills = await call("GET", "/v2/billing/serverless");
    expect(bills.body).toMatchObject({
      metadata: { totals: { totalAmount: 0.002, gpuAmount: 0, cpuAmount: 0.002 } },
    });
  });

  test("of an invalid span is rejected with the name of the field", async ({ expect }) => {
    const refused = await call("GET", "/v1/billing/endpoints?startTime=yesterday");
    expect(refused.status).toBe(400);
    expect(JSON.stringify(refused.body)).toContain("startTime");
  });

  test("of long ago is removed", async ({ expect }) => {
    const { endpointId, runJob } = await workingEndpoint();
    await runJob();
    await collect();
    expect(await removeOldUsage(db, Date.now() - 2 * HOUR, 100)).toBe(0);
    expect(await removeOldUsage(db, Date.now() + HOUR, 1_000)).toBeGreaterThan(0);
    expect(await rowsOf(endpointId)).toEqual([]);
  });
});

describe("a collection that is cut off", () => {
  type Step = {
    readonly jobs: number;
    readonly passMs: number;
    readonly failsAt: number;
    readonly evicts: boolean;
  };
  const step = fc.record({
    jobs: fc.nat(3),
    passMs: fc.nat(50 * MINUTE),
    failsAt: fc.nat(8),
    evicts: fc.boolean(),
  });

  test("anywhere, any number of times, counts every job and every millisecond once", async ({ expect }) => {
    const silent = vi.spyOn(console, "error").mockImplementation(() => {});
    const live = async (steps: readonly Step[]) => {
      await signInAsNewAccount();
      vi.setSystemTime(Math.ceil(Date.now() / HOUR) * HOUR);
      const startedAt = Date.now();
      const { endpointId, agent, runJob, keepAlive } = await workingEndpoint();
      let jobs = 0;
      for (const { jobs: more, passMs, failsAt, evicts } of steps) {
        await keepAlive();
        for (let count = 0; count < more; count += 1) await runJob();
        jobs += more;
        passTime(passMs);
        await keepAlive();
        if (evicts && more > 0) await evict(endpointId).catch(() => {});
        const { bindings, arm } = withFailure();
        arm(failsAt);
        await collect(bindings).catch(() => {});
      }
      await env.FLEET.getByName(api.accountId).removeHost({
        id: agent.hostId,
        accountId: api.accountId,
        name: "host",
      });
      const endedAt = Date.now();
      passTime(2 * HOUR);
      for (let count = 0; count < 3; count += 1) await collect();
      const rows = await rowsOf(endpointId);
      const sum = (valueOf: (row: (typeof rows)[number]) => number) =>
        rows.reduce((total, row) => total + valueOf(row), 0);
      expect(sum(({ requests }) => requests)).toBe(jobs);
      expect(sum(({ completed }) => completed)).toBe(jobs);
      expect(sum(({ executionMs }) => executionMs)).toBe(jobs * 1_000);
      expect(sum(({ workerMs }) => workerMs)).toBe(endedAt - startedAt);
    };
    await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), live), {
      numRuns: 5,
    });
    silent.mockRestore();
  });
});
