import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, test, vi } from "vitest";
import type { FleetReport } from "../../src/domain/queue-reason.ts";
import { HOST_GRACE_MS, LEAVE_GAP_MS } from "../../src/contract/limits.ts";
import { INVENTORY, ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { bellsOf, endpointObject, fireAlarm, fleetObject, kill, passTime } from "./object.ts";

const api = new EdgeClient();
const { call, createEndpoint, graphql, signInAsNewAccount } = api;

beforeEach(signInAsNewAccount);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

const queueOf = async (endpointId: string, id: unknown) =>
  (await call("GET", `/v2/${endpointId}/status/${String(id)}`)).body["queue"] as {
    reason: string;
    detail: string;
  };
const workersOf = async (endpointId: string) =>
  (await call("GET", `/v2/${endpointId}/health`)).body["workers"];
const refOf = ({ id, attempt, workerId }: { id: string; attempt: number; workerId: string }) => ({
  jobId: id,
  attempt,
  workerId,
});

/** Polls what objects tell each other in the background until it is there. */
async function eventually<T>(look: () => Promise<T>, isThere: (value: T) => boolean): Promise<T> {
  for (;;) {
    const value = await look();
    if (isThere(value)) return value;
    await scheduler.wait(5);
  }
}

test("an endpoint hears of its workers though Fleet wakes where the clock is behind", async ({ expect }) => {
  const endpointId = await createEndpoint("workersMin: 1");
  const agent = await ScriptedAgent.join(api);
  const workerId = await agent.bringUpWorker(endpointId);
  const isReady = (workers: unknown) => (workers as { idle: number }).idle === 1;
  await eventually(() => workersOf(endpointId), isReady);
  await evictDurableObject(fleetObject());
  passTime(-10_000);
  await agent.sync({ workers: [{ workerId, endpointId, revision: 1, state: "unhealthy" }] });
  const workers = await eventually(
    () => workersOf(endpointId),
    (told) => !isReady(told),
  );
  expect(workers).toMatchObject({ idle: 0, unhealthy: 1 });
});

/** The state of the only worker, as the endpoint has been told. */
async function toldState(endpointId: string): Promise<string | undefined> {
  const { json } = await runInDurableObject(endpointObject(endpointId), (_, { storage }) =>
    storage.sql.exec<{ json: string }>("SELECT json FROM fact WHERE name = 'report'").one(),
  );
  return (JSON.parse(json) as FleetReport).workers[0]?.state;
}

describe("a host", () => {
  const slotOf = (workerId: string) => ({ slots: [{ workerId, free: 1 }] });

  test("gets jobs for a worker of which the endpoint has not been told, and of which Fleet is asked", async ({
    expect,
  }) => {
    const endpointId = await createEndpoint("workersMin: 1");
    const agent = await ScriptedAgent.join(api);
    const workerId = await agent.bringUpWorker(endpointId);
    await call("POST", `/v2/${endpointId}/run`, { input: 1 });
    // As if the report had been lost: Fleet believes that it was heard.
    await runInDurableObject(endpointObject(endpointId), (_, { storage }) => {
      storage.sql.exec("DELETE FROM fact WHERE name = 'report'");
    });
    await kill(endpointId);
    const { jobs } = await agent.exchange(endpointId, slotOf(workerId));
    expect(jobs).toMatchObject([{ workerId, input: 1 }]);
  });

  test("gets none for workers of others, or for invented ones, whatever it is told of", async ({
    expect,
  }) => {
    const endpointId = await createEndpoint("workersMin: 1");
    const workerId = await (await ScriptedAgent.join(api)).bringUpWorker(endpointId);
    const liar = await ScriptedAgent.join(api, "liar");
    await call("POST", `/v2/${endpointId}/run`, { input: 1 });
    for (const id of [workerId, "invented"]) {
      expect((await liar.exchange(endpointId, slotOf(id))).jobs).toEqual([]);
      expect((await liar.exchange(endpointId, { ...slotOf(id), holdMs: 1 })).jobs).toEqual([]);
    }
  });

  test.for([
    ["drained", 0, "completed"],
    ["cordoned", 1, "completed"],
  ] as const)(
    "that is %s gets %i new jobs, and its running one is %s",
    async ([change, count], { expect }) => {
      const endpointId = await createEndpoint("workersMin: 1");
      const agent = await ScriptedAgent.join(api);
      const workerId = await agent.bringUpWorker(endpointId);
      await call("POST", `/v2/${endpointId}/run`, { input: 1 });
      const job = await agent.take(endpointId, workerId);
      await call("POST", `/v2/${endpointId}/run`, { input: 2 });
      await graphql(`mutation { hostUpdate(input: { id: "${agent.hostId}", ${change}: true }) { id } }`);
      await eventually(
        () => toldState(endpointId),
        (state) => state === (count === 0 ? "stopping" : "ready"),
      );
      expect((await agent.exchange(endpointId, slotOf(workerId))).jobs).toHaveLength(count);
      expect(await agent.complete(endpointId, job, "done")).toBe("accepted");
    },
  );
});

describe("why a job waits", () => {
  test("no host, then no matching GPU, then a worker's own words", async ({ expect }) => {
    const endpointId = await createEndpoint();
    const { body } = await call("POST", `/v2/${endpointId}/run`, { input: 1 });
    const told = await eventually(
      () => queueOf(endpointId, body["id"]),
      ({ reason }) => reason === "no_host",
    );
    expect(told.detail).toContain("No host of this account");

    const agent = await ScriptedAgent.join(api);
    await agent.sync({ inventory: { ...INVENTORY, gpus: [] }, holdMs: 0 });
    await eventually(
      () => queueOf(endpointId, body["id"]),
      ({ reason }) => reason === "no_matching_gpu",
    );

    const { revision, assignments } = await agent.sync();
    const [assigned] = assignments;
    if (!assigned) throw new Error("Nothing was assigned.");
    expect(assigned).toMatchObject({ endpointId, gpuIndexes: [0], imageName: "test:1" });
    for (const [state, reason] of [
      ["pulling", "image_pulling"],
      ["starting", "worker_starting"],
      ["crash_looping", "worker_crash_looping"],
    ] as const) {
      const workers = [
        { workerId: assigned.workerId, endpointId, revision: 1, state, detail: `it is ${state}` },
      ];
      await agent.sync({ appliedRevision: revision, workers });
      const queue = await eventually(
        () => queueOf(endpointId, body["id"]),
        (value) => value.reason === reason,
      );
      expect(queue.detail).toBe(`it is ${state}`);
    }
    expect(await workersOf(endpointId)).toMatchObject({ unhealthy: 1, ready: 0 });
  });
});

describe("workers come and go with work", () => {
  test("one while there is work, none after idleTimeout", async ({ expect }) => {
    const endpointId = await createEndpoint("workersMax: 3, idleTimeout: 5");
    const agent = await ScriptedAgent.join(api);
    await agent.sync();
    await call("POST", `/v2/${endpointId}/run`, { input: 1 });
    const workerId = await agent.bringUpWorker(endpointId);
    const job = await agent.take(endpointId, workerId);
    expect(await workersOf(endpointId)).toMatchObject({ running: 1, idle: 0 });
    await agent.complete(endpointId, job, 1);
    expect(await workersOf(endpointId)).toMatchObject({ running: 0, idle: 1, ready: 1 });

    passTime(5_000);
    await fireAlarm(endpointId);
    const emptied = await eventually(
      () => agent.sync({ workers: [{ workerId, endpointId, revision: 1, state: "ready" }] }),
      ({ assignments }) => assignments.length === 0,
    );
    await agent.sync({ appliedRevision: emptied.revision });
    await eventually(
      () => workersOf(endpointId),
      (workers) => (workers as { idle: number }).idle === 0,
    );
  });

  test("workersMin are there without work, and leave with it", async ({ expect }) => {
    const endpointId = await createEndpoint("workersMin: 2, workersMax: 3");
    const agent = await ScriptedAgent.join(api);
    const { assignments } = await eventually(
      () => agent.sync(),
      (reply) => reply.assignments.length === 2,
    );
    expect(assignments.map((assignment) => assignment.endpointId)).toEqual([endpointId, endpointId]);
    await graphql(
      `mutation { saveEndpoint(input: { id: "${endpointId}", name: "x", gpuIds: "AMPERE_16", workersMin: 0 }) { id } }`,
    );
    passTime(60_000);
    for (const left of [1, 0]) {
      await agent.sync();
      await fireAlarm(endpointId);
      await eventually(
        () => agent.sync(),
        (reply) => reply.assignments.length === left,
      );
      passTime(LEAVE_GAP_MS);
    }
  });

  test("who was let go stays so, though its agent has not heard of it yet", async ({ expect }) => {
    const endpointId = await createEndpoint("workersMin: 1, workersMax: 1");
    const agent = await ScriptedAgent.join(api);
    const workerId = await agent.bringUpWorker(endpointId);
    await graphql(
      `mutation { saveEndpoint(input: { id: "${endpointId}", name: "x", gpuIds: "AMPERE_16", workersMin: 0, workersMax: 0 }) { id } }`,
    );
    const statusOf = async () =>
      await graphql(`{ myself { endpoint(id: "${endpointId}") { pods { id desiredStatus } } } }`);
    const isLetGo = (reply: unknown) => JSON.stringify(reply).includes("EXITED");
    await eventually(statusOf, isLetGo);
    await agent.sync({
      appliedRevision: 0,
      workers: [{ workerId, endpointId, revision: 1, state: "ready" }],
    });
    expect(await statusOf()).toMatchObject({ myself: { endpoint: { pods: [{ desiredStatus: "EXITED" }] } } });
  });

  test("a parked sync is answered when a worker is wanted, also after the fleet was evicted", async ({
    expect,
  }) => {
    const endpointId = await createEndpoint();
    const agent = await ScriptedAgent.join(api);
    const { revision } = await agent.sync();
    const parked = agent.sync({ appliedRevision: revision, holdMs: 30_000 });
    await eventually(
      async () => fleetBells(agent.hostId),
      (count) => count === 1,
    );
    const { evictDurableObject } = await import("cloudflare:test");
    await evictDurableObject(fleetObject());
    await call("POST", `/v2/${endpointId}/run`, { input: 1 });
    expect((await parked).assignments).toMatchObject([{ endpointId }]);
  });
});

describe("a host that falls silent", () => {
  test("its worker is placed elsewhere and its job runs again there", async ({ expect }) => {
    const endpointId = await createEndpoint();
    const lost = await ScriptedAgent.join(api, "lost");
    await call("POST", `/v2/${endpointId}/run`, { input: 1 });
    const workerId = await lost.bringUpWorker(endpointId);
    const job = await lost.take(endpointId, workerId);
    await lost.sync({
      appliedRevision: 99,
      workers: [{ workerId, endpointId, revision: 1, state: "ready" }],
    });

    passTime(HOST_GRACE_MS + 1);
    const other = await ScriptedAgent.join(api, "other");
    await other.sync();
    await runDurableObjectAlarm(fleetObject());
    const secondWorker = await other.bringUpWorker(endpointId);
    const again = await other.take(endpointId, secondWorker);
    expect(again).toMatchObject({ id: job.id, attempt: 2 });
    expect(await lost.complete(endpointId, job, "late")).toBe("refused");
    expect(await other.complete(endpointId, again, "good")).toBe("accepted");

    const back = await lost.sync({ workers: [{ workerId, endpointId, revision: 1, state: "ready" }] });
    expect(back.assignments).toEqual([]);
  });
});

async function fleetBells(hostId: string): Promise<number> {
  const { runInDurableObject } = await import("cloudflare:test");
  return runInDurableObject(fleetObject(), (_, state) => state.getWebSockets(`host:${hostId}`).length);
}

test("held jobs and workers of a deleted endpoint are stopped", async ({ expect }) => {
  const endpointId = await createEndpoint();
  const agent = await ScriptedAgent.join(api);
  await call("POST", `/v2/${endpointId}/run`, { input: 1 });
  const workerId = await agent.bringUpWorker(endpointId);
  const job = await agent.take(endpointId, workerId);
  await graphql(
    `mutation { saveEndpoint(input: { id: "${endpointId}", name: "x", gpuIds: "AMPERE_16", workersMax: 0 }) { id } }`,
  );
  await graphql(`mutation { deleteEndpoint(id: "${endpointId}") }`);
  await expect(agent.exchange(endpointId, { held: [refOf(job)] })).rejects.toThrow(/endpoint_not_found/);
  const workers = [{ workerId, endpointId, revision: 1, state: "ready" as const }];
  expect((await agent.sync({ workers })).assignments).toEqual([]);
});

test("a host that was removed gets no job, though its agent still waits for one", async ({ expect }) => {
  const endpointId = await createEndpoint();
  const hosts = [await ScriptedAgent.join(api, "first"), await ScriptedAgent.join(api, "second")] as const;
  for (const host of hosts) await host.sync();
  await graphql(
    `mutation { saveEndpoint(input: { id: "${endpointId}", name: "x", gpuIds: "AMPERE_16", workersMin: 2, workersMax: 2 }) { id } }`,
  );
  const workers = [];
  for (const host of hosts) workers.push(await host.bringUpWorker(endpointId));
  const waits: Promise<unknown>[] = [];
  for (const [index, host] of hosts.entries()) {
    const slots = [{ workerId: workers[index] ?? "", free: 1 }];
    waits.push(host.exchange(endpointId, { slots, holdMs: 20_000 }));
    await bellsOf(endpointId, "agent", index + 1);
  }
  await fleetObject().removeHost(hosts[0].hostId);
  await bellsOf(endpointId, "agent", 1);
  await call("POST", `/v2/${endpointId}/run`, { input: 1 });
  expect(await waits[1]).toMatchObject({ jobs: [{ attempt: 1, workerId: workers[1] }] });
  expect(await waits[0]).toMatchObject({ jobs: [] });
});
