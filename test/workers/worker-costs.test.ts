/** What workers cost, counted by hand against what is accounted: prices, phases, restarts, clocks that jump. */
import { evictDurableObject } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { beforeEach, describe, vi } from "vitest";
import { openDatabase } from "../../src/db/database.ts";
import { usageHour, usageProgress } from "../../src/db/schema.ts";
import { collectUsage } from "../../src/management/accounts/usage-collection.ts";
import { passTime } from "./object.ts";
import { type FleetHarness, test } from "./support/fleet-harness.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const db = openDatabase(env.DB);

beforeEach(async () => {
  await db.delete(usageProgress);
  await db.delete(usageHour);
});

/** The hours of an endpoint after a collection. */
async function hoursOf(endpointId: string) {
  await collectUsage({ env, db }, Date.now());
  return await db
    .select()
    .from(usageHour)
    .where(eq(usageHour.endpointId, endpointId))
    .orderBy(usageHour.hour);
}

/** A worker on one of the two GPUs of a host, placed at the beginning of an hour and not ready yet. */
async function placedWorker(fleet: FleetHarness, price: string) {
  vi.setSystemTime(Math.ceil(Date.now() / HOUR) * HOUR);
  const host = await fleet.host({ gpus: ["AMPERE_16", "AMPERE_16"], state: "starting" });
  await fleet.updateHost(host, `price: ${price}`);
  const endpoint = await fleet.endpoint("workersMin: 1, workersMax: 1, idleTimeout: 3600");
  const [worker] = await host.sync();
  return { host, endpoint, workerId: worker?.workerId ?? "" };
}

describe("what workers cost", () => {
  test("is their time at the price of their host, which may change", async ({ expect, fleet }) => {
    const { host, endpoint, workerId } = await placedWorker(fleet, "{ perHour: 4 }");
    passTime(6 * MINUTE);
    host.set(workerId, "ready");
    await host.sync();
    passTime(24 * MINUTE);
    await fleet.updateHost(host, "price: { perGpuHour: 5 }");
    await evictDurableObject(fleet.object);
    passTime(12 * MINUTE);
    await host.sync();
    await fleet.updateHost(host, "price: { watts: 600, perKwh: 0.5 }");
    passTime(36 * MINUTE);
    await host.sync();

    const [first, second] = await hoursOf(endpoint.id);
    // By hand: 30 min at 4/2 dollars, 12 min at 5, and 600 W at 50 cents shared by two for 18 min, then 18 more.
    const expected = [30 * (2 / 60) + 12 * (5 / 60) + 18 * (0.15 / 60), 18 * (0.15 / 60)];
    expect([first, second].map((row) => row?.versions[0]?.cost)).toEqual(
      expected.map((cost) => expect.closeTo(cost, 9)),
    );
    expect(first?.versions).toMatchObject([{ workerMs: HOUR, startingMs: 6 * MINUTE }]);
    expect(second?.versions).toMatchObject([{ workerMs: 18 * MINUTE, startingMs: 0 }]);
    const { myself } = await fleet.api.graphql<{
      myself: { usage: unknown };
    }>(`{ myself { usage(input: { bucket: "year" }) {
      workerSeconds startingSeconds busySeconds idleSeconds cost versions { version workerSeconds cost } } } }`);
    const cost = expect.closeTo(2.09, 9);
    expect(myself.usage).toEqual([
      {
        ...{ workerSeconds: 4_680, startingSeconds: 360, busySeconds: 0, idleSeconds: 4_320, cost },
        versions: [{ version: 1, workerSeconds: 4_680, cost }],
      },
    ]);
  });

  test("is reported by endpoint or version, as JSON and as a table", async ({ expect, fleet }) => {
    const { host, endpoint, workerId } = await placedWorker(fleet, "{ perHour: 7.2 }");
    passTime(10_000);
    host.set(workerId, "ready");
    await host.sync();
    const time = new Date(Date.now() - 10_000).toISOString();
    passTime(20_000);
    await hoursOf(endpoint.id);
    const version = {
      endpointId: endpoint.id,
      version: 1,
      workerSeconds: 30,
      startingSeconds: 10,
      cost: 0.03,
    };
    const byVersion = await fleet.api.call("GET", "/v1/costs?grouping=version");
    expect(byVersion.body).toEqual([{ time, endpointName: expect.any(String), ...version }]);
    const byEndpoint = await fleet.api.call("GET", `/v1/costs?endpointId=${endpoint.id}`);
    expect(byEndpoint.body).toMatchObject([{ time, startingSeconds: 10, idleSeconds: 20, cost: 0.03 }]);
    const table = await exports.default.fetch("http://edge/v1/costs.csv?grouping=version", {
      headers: { Authorization: `Bearer ${fleet.api.key}` },
    });
    expect(table.headers.get("Content-Type")).toBe("text/csv; charset=utf-8");
    const [columns, row, ...more] = (await table.text()).split("\r\n");
    expect(columns).toBe("time,endpointId,endpointName,version,workerSeconds,startingSeconds,cost");
    expect(row).toMatch(new RegExp(`^${time},${endpoint.id},test-[^,]*,1,30,10,0\\.03$`));
    expect(more).toEqual([""]);
  });

  test("does not count twice where the clock goes back, and never falls", async ({ expect, fleet }) => {
    const { host, endpoint, workerId } = await placedWorker(fleet, "{ perGpuHour: 6 }");
    host.set(workerId, "ready");
    passTime(20 * MINUTE);
    await host.sync();
    await fleet.updateHost(host, "price: { perGpuHour: 12 }");
    passTime(-10 * MINUTE);
    await host.sync();
    await fleet.updateHost(host, "price: { perGpuHour: 6 }");
    await evictDurableObject(fleet.object);
    await hoursOf(endpoint.id);
    passTime(30 * MINUTE);
    await host.sync();
    const [row] = await hoursOf(endpoint.id);
    expect(row?.versions).toMatchObject([{ workerMs: 40 * MINUTE, cost: expect.closeTo(4, 9) }]);
  });

  test("ends on standby and goes on after it", async ({ expect, fleet }) => {
    vi.setSystemTime(Math.ceil(Date.now() / HOUR) * HOUR);
    const host = await fleet.host({ gpus: ["AMPERE_16"], canFreeze: true });
    await fleet.updateHost(host, "price: { perHour: 60 }");
    const endpoint = await fleet.endpoint("workersMin: 1, workersMax: 1, flashBootType: FLASHBOOT");
    await host.untilReady(endpoint, 1);
    passTime(5 * MINUTE);
    await endpoint.save("workersMin: 0, workersMax: 0");
    await endpoint.save("workersMin: 0, workersMax: 1");
    await host.sync();
    const [before] = await hoursOf(endpoint.id);
    expect(before?.versions[0]?.cost).toBeCloseTo(5, 9);
    passTime(20 * MINUTE);
    await host.sync();
    expect((await hoursOf(endpoint.id))[0]?.versions).toEqual(before?.versions);
  });
});

describe("the price of a host", () => {
  test("is shown as it was set, and removed by null", async ({ expect, fleet }) => {
    const host = await fleet.host();
    const path = `/v1/hosts/${host.agent.hostId}`;
    const none = { perHour: null, perGpuHour: null, watts: null, perKwh: null };
    const set = await fleet.api.call("PATCH", path, { price: { watts: 700, perKwh: 0.31 } });
    expect(set.body["price"]).toEqual({ ...none, watts: 700, perKwh: 0.31 });
    await fleet.updateHost(host, "cordoned: true");
    await evictDurableObject(fleet.object);
    const shown = "{ myself { hosts { price { perHour perGpuHour watts perKwh } } } }";
    expect(await fleet.api.graphql(shown)).toEqual({
      myself: { hosts: [{ price: { ...none, watts: 700, perKwh: 0.31 } }] },
    });
    expect((await fleet.api.call("PATCH", path, { price: null })).body["price"]).toBeNull();
  });

  test.for([
    [{ perHour: -1 }, "price.perHour: must not be negative"],
    [{ perHour: 10_001 }, "price.perHour: must be at most 10000"],
    [{ watts: 700 }, "price: must be perHour, or perGpuHour, or watts and perKwh"],
    [{ perHour: 1, perGpuHour: 1 }, "price: must be perHour, or perGpuHour, or watts and perKwh"],
  ] as const)("is refused as %j", async ([price, message], { expect, fleet }) => {
    const host = await fleet.host();
    const { status, body } = await fleet.api.call("PATCH", `/v1/hosts/${host.agent.hostId}`, { price });
    expect(status).toBe(400);
    expect(JSON.stringify(body)).toContain(message);
  });
});
