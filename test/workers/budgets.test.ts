/** Budgets: what stops when one is reached, when, and what goes on. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { beforeEach, describe, vi } from "vitest";
import { passTime } from "./object.ts";
import { type FleetHarness, test, type TestEndpoint } from "./support/fleet-harness.ts";

const DAY = 86_400_000;

/** A worker costs 0.001 dollars per second. */
async function pricedHost(fleet: FleetHarness) {
  vi.setSystemTime(Math.ceil(Date.now() / DAY) * DAY + DAY / 2);
  const host = await fleet.host({ gpus: ["AMPERE_16", "AMPERE_16"] });
  await fleet.updateHost(host, "price: { perGpuHour: 3.6 }");
  return host;
}

async function saveBudget(fleet: FleetHarness, fields: string) {
  await fleet.api.graphql(`mutation { budgetSave(input: { ${fields} }) { state } }`);
}

type Shown = { readonly endpointId: string | null; readonly spent: number; readonly state: string };

async function budgets(fleet: FleetHarness): Promise<readonly Shown[]> {
  const { myself } = await fleet.api.graphql<{ myself: { budgets: readonly Shown[] } }>(
    "{ myself { budgets { endpointId spent state } } }",
  );
  return myself.budgets;
}

const alarmOf = (fleet: FleetHarness) =>
  runInDurableObject(fleet.object, (_, { storage }) => storage.getAlarm());

const noticeOf = async (endpoint: TestEndpoint) => (await endpoint.health())["budget"];

/** Two endpoints' worth of load on one: a job that runs since the worker was placed, and one that waits. */
async function busyEndpoint(fleet: FleetHarness, budget: string) {
  const host = await pricedHost(fleet);
  const endpoint = await fleet.endpoint("workersMax: 1, idleTimeout: 3600");
  await saveBudget(fleet, budget.replace("ENDPOINT", `"${endpoint.id}"`));
  const first = await endpoint.submit();
  const workerIds = await host.untilReady(endpoint, 1);
  const [worker] = await fleet.object.workersOf([endpoint.id]);
  const placedAt = worker?.createdAt ?? 0;
  const [job] = await host.offer(workerIds);
  if (!job) throw new Error("The worker got no job.");
  const second = await endpoint.submit();
  /** So long after the worker was placed; its host is never silent for long. */
  const untilAge = async (ms: number) => {
    for (const at = placedAt + ms; Date.now() < at; await host.sync())
      vi.setSystemTime(Math.min(at, Date.now() + 4_000));
    await fleet.fireAlarm();
  };
  return { host, endpoint, first, second, job, workerIds, placedAt, untilAge };
}

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));

describe("a budget that is reached", () => {
  test.for(["", "endpointId: ENDPOINT, "])(
    "(%s) starts no job and no worker, to the second, and running jobs end normally",
    async (scope, { expect, fleet }) => {
      const { host, endpoint, first, second, job, workerIds, placedAt, untilAge } = await busyEndpoint(
        fleet,
        `${scope}limit: 0.02, period: "day"`,
      );
      await untilAge(15_999);
      expect(await noticeOf(endpoint)).toBeNull();
      await untilAge(16_000);
      await endpoint.untilWorkers({ running: 1 });
      await vi.waitFor(async () => expect(await noticeOf(endpoint)).toMatchObject({ state: "warning" }));
      // By hand: 0.02 dollars at 0.001 per second are 20 s.
      expect(await alarmOf(fleet)).toBeLessThanOrEqual(placedAt + 20_000);
      await evictDurableObject(fleet.object);
      await untilAge(20_000);
      const { detail } = await endpoint.untilWaits(second, "budget_reached");
      expect(detail).toMatch(/budget of 0\.02 \$ for this day/);
      expect(await budgets(fleet)).toMatchObject([{ spent: 0.02, state: "reached" }]);

      expect(await host.offer(workerIds)).toEqual([]);
      await untilAge(23_000);
      await host.complete(job);
      const ended = await endpoint.status(first);
      expect([ended["status"], ended["retries"]]).toEqual(["COMPLETED", undefined]);
      await vi.waitFor(async () => expect(await host.sync()).toEqual([]));
      await host.sync();
      await endpoint.submit();
      await untilAge(60_000);
      expect(await host.sync()).toEqual([]);
      expect(await budgets(fleet)).toMatchObject([{ spent: expect.closeTo(0.023, 3), state: "reached" }]);
    },
  );

  test.for([
    ["the next day", (_: FleetHarness) => passTime(DAY / 2)],
    ["reset", (fleet: FleetHarness) => fleet.api.graphql("mutation { budgetReset(input: {}) { state } }")],
    ["raised", (fleet: FleetHarness) => saveBudget(fleet, 'limit: 1, period: "day"')],
    ["removed", (fleet: FleetHarness) => fleet.api.graphql("mutation { budgetRemove(input: {}) }")],
  ] as const)("lets jobs start again when it is %s", async ([, lift], { expect, fleet }) => {
    const { host, endpoint, second, job, untilAge } = await busyEndpoint(fleet, 'limit: 0.02, period: "day"');
    await untilAge(20_000);
    await endpoint.untilWaits(second, "budget_reached");
    await host.complete(job);
    await vi.waitFor(async () => expect(await host.sync()).toEqual([]));
    await lift(fleet);
    await host.sync();
    await fleet.fireAlarm();
    const workerIds = await host.untilReady(endpoint, 1);
    const [next] = await host.offer(workerIds);
    expect(next?.id).toBe(second);
    expect(await noticeOf(endpoint)).toBeNull();
  });

  test("counts what was collected and forgotten since, and nothing twice", async ({ expect, fleet }) => {
    const { host, endpoint, second, job, untilAge } = await busyEndpoint(
      fleet,
      'limit: 0.02, period: "month"',
    );
    await untilAge(20_000);
    await endpoint.untilWaits(second, "budget_reached");
    await host.complete(job);
    await vi.waitFor(async () => expect(await host.sync()).toEqual([]));
    await host.sync();
    const before = await budgets(fleet);
    expect(before).toMatchObject([{ spent: expect.closeTo(0.02, 3), state: "reached" }]);
    const now = Date.now();
    for (const storedUntil of [now - 10_000, now + 1, now + 1]) {
      await fleet.object.usage({ since: now - DAY, until: now + DAY, storedUntil });
      await evictDurableObject(fleet.object);
      expect(await budgets(fleet)).toEqual(before);
    }
    passTime(-5_000);
    expect(await budgets(fleet)).toEqual(before);
  });

  test("of one endpoint leaves others alone", async ({ expect, fleet }) => {
    const { host, endpoint, second, untilAge } = await busyEndpoint(
      fleet,
      'endpointId: ENDPOINT, limit: 0.02, period: "day"',
    );
    await untilAge(20_000);
    await endpoint.untilWaits(second, "budget_reached");
    const other = await fleet.endpoint("workersMin: 1, workersMax: 1");
    await host.untilReady(other, 1);
    expect(await noticeOf(other)).toBeNull();
  });
});

describe("the operations of budgets", () => {
  test("set, show, reset and remove them, and say so in the audit log", async ({ expect, fleet }) => {
    const { call } = fleet.api;
    const endpoint = await fleet.endpoint();
    expect((await call("PUT", "/v1/budgets/account", { limit: 5 })).body).toMatchObject({
      ...{ id: "account", endpointId: null, limit: 5, period: "month", warnPercent: 80, spent: 0 },
      state: "within",
    });
    const put = await call("PUT", `/v1/budgets/${endpoint.id}`, { limit: 0, period: "day" });
    expect(put.body).toMatchObject({ state: "reached" });
    expect((await call("POST", `/v1/budgets/${endpoint.id}/reset`)).status).toBe(200);
    await evictDurableObject(fleet.object);
    expect(await budgets(fleet)).toMatchObject([{ endpointId: null }, { endpointId: endpoint.id }]);
    expect((await call("DELETE", "/v1/budgets/account")).status).toBe(204);
    await endpoint.delete();
    expect(await budgets(fleet)).toEqual([]);
    const { myself } = await fleet.api.graphql<{ myself: { auditLog: readonly { fields: string[] }[] } }>(
      "{ myself { auditLog(input: {}) { operation subjectKind fields } } }",
    );
    expect(myself.auditLog.filter(({ fields }) => fields.includes("budget"))).toHaveLength(4);
  });

  test.for([
    ["PUT", "account", { limit: -1 }, 400, "limit: must not be negative"],
    ["PUT", "account", { limit: 1, warnPercent: 0 }, 400, "warnPercent"],
    ["PUT", "account", { limit: 1, period: "week" }, 400, "period"],
    ["PUT", "never", { limit: 1 }, 404, "endpoint 'never' was not found"],
    ["DELETE", "account", undefined, 404, "there is no budget of the account"],
  ] as const)("refuse %s %s with %j", async ([method, id, body, status, message], { expect, fleet }) => {
    const refused = await fleet.api.call(method, `/v1/budgets/${id}`, body);
    expect(refused.status).toBe(status);
    expect(JSON.stringify(refused.body)).toContain(message);
  });
});
