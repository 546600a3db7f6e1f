/** Fleet, endpoints and hosts together: who hears of what, and what happens when one of them is gone. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { describe } from "vitest";
import type { Assignment } from "../../src/contract/agent/agent.ts";
import type { FleetReport } from "../../src/domain/jobs/queue-reason.ts";
import { INVENTORY, ScriptedAgent } from "./agent-client.ts";
import { channelsOf, endpointObject, kill, passTime } from "./object.ts";
import { test, type TestEndpoint, type TestHost } from "./support/fleet-harness.ts";
import { notYet, until } from "./support/until.ts";
import { SCALE_DOWN_INTERVAL_MS } from "../../src/domain/scaling/scaling-plan.ts";
import { HOST_GRACE_MS } from "../../src/fleet/hosts/host-presence.ts";

const slotOf = (workerId: string) => ({ slots: [{ workerId, free: 1 }] });
const readyWorker = (endpoint: TestEndpoint, workerId: string) => ({
  workers: [{ workerId, endpointId: endpoint.id, revision: 1, state: "ready" as const }],
});

/** Resolves once the host shall have so many workers; it says of none that it has it. */
async function untilAssigned({ agent }: TestHost, count: number): Promise<readonly Assignment[]> {
  const look = async () => {
    const { assignments } = await agent.sync();
    return assignments.length === count ? assignments : notYet(assignments);
  };
  return until(look, `the host shall have ${count} workers`);
}

test("an endpoint gets its workers even when the clock of Fleet is behind after a restart", async ({
  fleet,
}) => {
  const endpoint = await fleet.endpoint("workersMin: 1");
  const host = await fleet.host();
  const [workerId = ""] = await host.untilReady(endpoint, 1);
  await evictDurableObject(fleet.object);
  passTime(-10_000);
  host.set(workerId, "unhealthy");
  await host.sync();
  await endpoint.untilWorkers({ idle: 0, unhealthy: 1 });
});

/** The state of the only worker, as the endpoint has been told. */
async function reportedState({ id }: TestEndpoint): Promise<string | undefined> {
  const { json } = await runInDurableObject(endpointObject(id), (_, { storage }) =>
    storage.sql.exec<{ json: string }>("SELECT json FROM fact WHERE name = 'report'").one(),
  );
  return (JSON.parse(json) as FleetReport).workers[0]?.state;
}

describe("a host", () => {
  test("gets jobs for a worker that the endpoint does not know yet and looks up at Fleet", async ({
    expect,
    fleet,
  }) => {
    const endpoint = await fleet.endpoint("workersMin: 1");
    const { agent } = await fleet.host();
    const workerId = await agent.bringUpWorker(endpoint.id);
    await endpoint.submit();
    // As if the report had been lost: Fleet believes that it was heard.
    await runInDurableObject(endpointObject(endpoint.id), (_, { storage }) => {
      storage.sql.exec("DELETE FROM fact WHERE name = 'report'");
    });
    await kill(endpoint.id);
    const { jobs } = await agent.exchange(endpoint.id, slotOf(workerId));
    expect(jobs).toMatchObject([{ workerId, input: 1 }]);
  });

  test("gets no jobs for workers of other hosts or unknown workers", async ({ expect, fleet }) => {
    const endpoint = await fleet.endpoint("workersMin: 1");
    const workerId = await (await fleet.host()).agent.bringUpWorker(endpoint.id);
    const liar = await fleet.host({ name: "liar" });
    await endpoint.submit();
    for (const id of [workerId, "invented"]) {
      for (const holdMs of [0, 1]) {
        expect((await liar.agent.exchange(endpoint.id, { ...slotOf(id), holdMs })).jobs).toEqual([]);
      }
    }
  });

  test.for([
    ["drained", 0, "stopping"],
    ["cordoned", 1, "ready"],
  ] as const)(
    "that is %s gets %i new jobs, and its running one is completed",
    async ([change, count, state], { expect, fleet }) => {
      const endpoint = await fleet.endpoint("workersMin: 1");
      const host = await fleet.host();
      const workerId = await host.agent.bringUpWorker(endpoint.id);
      await endpoint.submit();
      const job = await host.agent.take(endpoint.id, workerId);
      await endpoint.submit();
      await fleet.updateHost(host, `${change}: true`);
      const isTold = async () => {
        const told = await reportedState(endpoint);
        return told === state || notYet(told);
      };
      await until(isTold, `the endpoint is told that its worker is ${state}`);
      expect((await host.agent.exchange(endpoint.id, slotOf(workerId))).jobs).toHaveLength(count);
      expect(await host.agent.complete(endpoint.id, job, "done")).toBe("accepted");
    },
  );
});

test("a job waits for a host, then for a GPU, then for what its worker reports", async ({
  expect,
  fleet,
}) => {
  const endpoint = await fleet.endpoint();
  const jobId = await endpoint.submit();
  await endpoint.untilWaits(jobId, "no_host");
  const host = await fleet.host({ state: "starting", gpus: [] });
  await endpoint.untilWaits(jobId, "no_matching_gpu");

  host.inventory = INVENTORY;
  const assignments = await untilAssigned(host, 1);
  expect(assignments).toMatchObject([{ endpointId: endpoint.id, gpuIndexes: [0], imageName: "test:1" }]);
  const [{ workerId } = { workerId: "" }] = assignments;
  for (const [state, reason] of [
    ["pulling", "image_pulling"],
    ["starting", "worker_starting"],
    ["crash_looping", "worker_crash_looping"],
  ] as const) {
    host.set(workerId, state, `it is ${state}`);
    await host.sync();
    expect(await endpoint.untilWaits(jobId, reason)).toMatchObject({ detail: `it is ${state}` });
  }
  expect(await endpoint.workers()).toMatchObject({ unhealthy: 1, ready: 0 });
});

describe("workers come and go with work", () => {
  test("one while there is work, none after idleTimeout", async ({ expect, fleet }) => {
    const endpoint = await fleet.endpoint("workersMax: 3, idleTimeout: 5");
    const host = await fleet.host();
    await endpoint.submit();
    const [workerId = ""] = await host.untilReady(endpoint, 1);
    const job = await host.agent.take(endpoint.id, workerId);
    expect(await endpoint.workers()).toMatchObject({ running: 1, idle: 0 });
    await host.complete(job);
    expect(await endpoint.workers()).toMatchObject({ running: 0, idle: 1, ready: 1 });
    await endpoint.later(5_000);
    await host.untilReady(endpoint, 0);
  });

  test("workersMin workers exist without work, and leave one by one when it is lowered", async ({
    expect,
    fleet,
  }) => {
    const endpoint = await fleet.endpoint("workersMin: 2, workersMax: 3");
    const host = await fleet.host();
    const assignments = await untilAssigned(host, 2);
    expect(assignments.map(({ endpointId }) => endpointId)).toEqual([endpoint.id, endpoint.id]);
    await endpoint.save("workersMin: 0");
    passTime(60_000);
    for (const left of [1, 0]) {
      await host.agent.sync();
      await endpoint.later(0);
      await untilAssigned(host, left);
      passTime(SCALE_DOWN_INTERVAL_MS);
    }
  });

  test("a removed worker stays removed until its agent has applied that, and is then forgotten", async ({
    expect,
    fleet,
  }) => {
    const endpoint = await fleet.endpoint("workersMin: 1, workersMax: 1");
    const { agent } = await fleet.host();
    const workerId = await agent.bringUpWorker(endpoint.id);
    await endpoint.save("workersMin: 0, workersMax: 0");
    const statusOf = async () => {
      const { myself } = await fleet.api.graphql<{
        myself: { endpoint: { pods: { desiredStatus: string }[] } };
      }>(`{ myself { endpoint(id: "${endpoint.id}") { pods { id desiredStatus } } } }`);
      return myself.endpoint.pods.map(({ desiredStatus }) => desiredStatus);
    };
    await until(async () => (await statusOf()).includes("EXITED"), "the worker is let go");
    const { revision } = await agent.sync(readyWorker(endpoint, workerId));
    expect(await statusOf()).toEqual(["EXITED"]);
    await agent.sync({ appliedRevision: revision - 1 });
    expect(await statusOf()).toEqual(["EXITED"]);
    await agent.sync({ appliedRevision: revision });
    expect(await statusOf()).toEqual([]);
  });

  test("a sync that waits is answered when a worker is needed, also after the fleet was evicted", async ({
    expect,
    fleet,
  }) => {
    const endpoint = await fleet.endpoint();
    const host = await fleet.host();
    const { revision } = await host.agent.sync();
    const waiting = host.agent.sync({ appliedRevision: revision, holdMs: 30_000 });
    await host.untilSyncsWait();
    await evictDurableObject(fleet.object);
    await endpoint.submit();
    expect((await waiting).assignments).toMatchObject([{ endpointId: endpoint.id }]);
  });
});

test("the worker of a silent host is placed elsewhere, and its job runs again there", async ({
  expect,
  fleet,
}) => {
  const endpoint = await fleet.endpoint();
  const { agent: lost } = await fleet.host({ name: "lost" });
  await endpoint.submit();
  const workerId = await lost.bringUpWorker(endpoint.id);
  const job = await lost.take(endpoint.id, workerId);
  await lost.sync({ appliedRevision: 99, ...readyWorker(endpoint, workerId) });

  passTime(HOST_GRACE_MS + 1);
  const { agent: other } = await fleet.host({ name: "other" });
  await fleet.fireAlarm();
  const again = await other.take(endpoint.id, await other.bringUpWorker(endpoint.id));
  expect(again).toMatchObject({ id: job.id, attempt: 2 });
  expect(await lost.complete(endpoint.id, job, "late")).toBe("refused");
  expect(await other.complete(endpoint.id, again, "good")).toBe("accepted");
  expect((await lost.sync(readyWorker(endpoint, workerId))).assignments).toEqual([]);
});

test("jobs and workers of a deleted endpoint are stopped", async ({ expect, fleet }) => {
  const endpoint = await fleet.endpoint();
  const { agent } = await fleet.host();
  await endpoint.submit();
  const workerId = await agent.bringUpWorker(endpoint.id);
  const { id: jobId, attempt } = await agent.take(endpoint.id, workerId);
  await endpoint.delete();
  const held = [{ jobId, attempt, workerId }];
  await expect(agent.exchange(endpoint.id, { held })).rejects.toThrow(/endpoint_not_found/);
  expect((await agent.sync(readyWorker(endpoint, workerId))).assignments).toEqual([]);
});

test("a host that was removed gets no job, though its agent still waits for one", async ({
  expect,
  fleet,
}) => {
  const endpoint = await fleet.endpoint();
  const hosts = [await fleet.host({ name: "first" }), await fleet.host({ name: "second" })] as const;
  await endpoint.save("workersMin: 2, workersMax: 2");
  const workers: string[] = [];
  for (const { agent } of hosts) workers.push(await agent.bringUpWorker(endpoint.id));
  const waits: Promise<unknown>[] = [];
  for (const [index, { agent }] of hosts.entries()) {
    waits.push(agent.exchange(endpoint.id, { ...slotOf(workers[index] ?? ""), holdMs: 20_000 }));
    await channelsOf(endpoint.id, "agent", index + 1);
  }
  await fleet.removeHost(hosts[0].agent);
  await channelsOf(endpoint.id, "agent", 1);
  await endpoint.submit();
  expect(await waits[1]).toMatchObject({ jobs: [{ attempt: 1, workerId: workers[1] }] });
  expect(await waits[0]).toMatchObject({ jobs: [] });
});

test("a host that is removed before its first call arrives stays removed", async ({ expect, fleet }) => {
  const endpoint = await fleet.endpoint();
  await endpoint.save("workersMin: 1, workersMax: 1");
  const agent = await ScriptedAgent.join(fleet.api);
  await fleet.removeHost(agent); // its token is still valid in this isolate
  await expect(agent.sync()).rejects.toThrow("401");
  const { hosts } = await fleet.object.snapshot(fleet.api.accountId);
  expect(hosts).toEqual([]);
});
