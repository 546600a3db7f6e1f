/** Accounts that shared one Fleet object get one each, while their workers run. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { describe } from "vitest";
import { EdgeClient } from "./edge-client.ts";
import { configOf, fleetObject } from "./object.ts";
import { podConfig } from "./pod-hosts.ts";
import { FleetHarness, test, type TestHost } from "./support/fleet-harness.ts";

const TABLES = ["host", "worker", "desired_workers", "unsent", "ended_worker", "gone_worker", "pod"];

type Row = Record<string, string | number | null>;
type FleetStub = ReturnType<typeof fleetObject>;

const shared = () => fleetObject("default");

async function rowsOf(fleet: FleetStub): Promise<[string, Row][]> {
  return await runInDurableObject(fleet, (_, { storage: { sql } }) =>
    TABLES.flatMap((table) =>
      sql
        .exec<Row>(`SELECT * FROM ${table}`)
        .toArray()
        .map((row): [string, Row] => [table, row]),
    ),
  );
}

/** Gives the shared object all rows of the account, as an earlier version had them, which neither object has woken to. */
async function share(accountId: string): Promise<void> {
  const rows = await rowsOf(fleetObject(accountId));
  await runInDurableObject(fleetObject(accountId), (_, { storage }) => storage.deleteAll());
  await runInDurableObject(shared(), (_, { storage: { sql } }) => {
    sql.exec("DELETE FROM step");
    for (const [table, row] of rows) {
      const places = Object.keys(row).map(() => "?");
      sql.exec(
        `INSERT INTO ${table} (${Object.keys(row).join(", ")}) VALUES (${places.join(", ")})`,
        ...Object.values(row),
      );
    }
  });
  await evictDurableObject(shared());
  await evictDurableObject(fleetObject(accountId));
}

/** A host with a worker of an endpoint, another that is gone, and a pod. */
async function furnish(fleet: FleetHarness) {
  const endpoint = await fleet.endpoint("workersMin: 1, workersMax: 2");
  const host: TestHost = await fleet.host({ gpus: ["AMPERE_16", "AMPERE_16", "AMPERE_16"] });
  host.inventory = { ...host.inventory, canRunPods: true };
  const [workerId = ""] = await host.untilReady(endpoint, 1);
  const { accountId } = await configOf(endpoint.id);
  const podId = `pod${accountId}`;
  await fleet.object.createPod(podConfig(podId, { accountId, gpuModels: ["NVIDIA RTX A4000"] }));
  await host.sync();
  return { endpoint, host, workerId, podId, accountId };
}

describe("an account that shared its Fleet object", () => {
  test("has its hosts, workers and pods in its own one, as they were, and others have theirs", async ({
    expect,
    fleet,
  }) => {
    const first = await furnish(new FleetHarness(new EdgeClient()));
    const { endpoint, host, workerId, podId, accountId } = await furnish(fleet);
    const before = await host.agent.sync();
    const rows = await rowsOf(fleet.object);
    const rowsOfFirst = await rowsOf(shared());
    await share(accountId);

    const after = await host.agent.sync();
    expect(after).toEqual(before);
    const assigned = await fleet.object.assignments(host.agent.hostId);
    const workers = assigned.kind === "assignments" ? assigned.workers : [];
    expect(new Set(workers.map((one) => one.workerId))).toEqual(new Set([workerId, podId]));
    expect(await rowsOf(fleet.object)).toEqual(rows);
    expect(await rowsOf(shared())).toEqual(rowsOfFirst);
    expect(await fleet.object.podsOf(accountId, [podId])).toMatchObject([{ desired: "running" }]);
    expect(await host.work(endpoint)).toBe(workerId);
    expect(await first.host.work(first.endpoint)).toBe(first.workerId);
    expect(await shared().rowsOfAccount(accountId)).toEqual([]);
  });

  test("takes its rows over once", async ({ expect, fleet }) => {
    const { host, accountId, endpoint, workerId } = await furnish(fleet);
    await share(accountId);
    await endpoint.save("workersMin: 0, workersMax: 0");
    const look = await host.agent.sync();
    expect(look.assignments.map((one) => one.workerId)).not.toContain(workerId);
    await evictDurableObject(fleet.object);
    expect((await host.agent.sync()).assignments).toEqual(look.assignments);
  });

  test("is not served by the shared one any more", async ({ expect, fleet }) => {
    const { host, accountId } = await furnish(fleet);
    const change = { hostId: host.agent.hostId, accountId, name: "h", cordoned: true };
    const answer = runInDurableObject(shared(), (object) => object.changeHost(change).catch(String));
    expect(await answer).toContain(accountId);
  });
});
