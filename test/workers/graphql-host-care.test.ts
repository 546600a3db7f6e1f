import { afterEach, beforeEach, describe, test, vi } from "vitest";
import { INVENTORY, ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { codeOf, freshClient } from "./graphql-client.ts";
import { fleetObject, passTime } from "./object.ts";
import { CREDENTIAL_CACHE_MS } from "../../src/domain/accounts/permissions.ts";
import { until } from "./support/until.ts";

const api = new EdgeClient();
const { call, createEndpoint, graphql, signInAsNewAccount } = api;

beforeEach(signInAsNewAccount);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

type Host = Readonly<Record<string, unknown>> & { readonly id: string };

async function hosts(selection = "id cordoned drained workers isPresent"): Promise<readonly Host[]> {
  const data = await graphql<{ myself: { hosts: readonly Host[] } }>(`{ myself { hosts { ${selection} } } }`);
  return data.myself.hosts;
}

const update = async (id: string, fields: string) =>
  await graphql<{ hostUpdate: Host }>(
    `mutation { hostUpdate(input: { id: "${id}", ${fields} }) { id cordoned drained } }`,
  );

async function reasonOf(endpointId: string, id: unknown): Promise<string> {
  const { body } = await call("GET", `/v2/${endpointId}/status/${String(id)}`);
  return (body["queue"] as { detail: string }).detail;
}

describe("the hosts of an account", () => {
  test("are listed with what they have and how much of it is free", async ({ expect }) => {
    expect(await hosts()).toEqual([]);
    const agent = await ScriptedAgent.join(api, "rack-1");
    expect(await hosts("id name isPresent agentVersion dataCenterId lastSeenAt")).toEqual([
      {
        id: agent.hostId,
        name: "rack-1",
        isPresent: false,
        agentVersion: null,
        dataCenterId: null,
        lastSeenAt: null,
      },
    ]);

    const gpus = INVENTORY.gpus.slice(0, 2);
    const inventory = { ...INVENTORY, gpus, dataCenterId: "US-KS-2" };
    await agent.sync({ inventory });
    await createEndpoint("workersMin: 1");
    await until(
      async () => (await agent.sync({ inventory })).assignments.length === 1,
      "the host has a worker",
    );
    expect(
      await hosts(
        "name isPresent agentVersion dataCenterId workers cordoned drained gpus { name tier isSimulated total free } lastSeenAt",
      ),
    ).toEqual([
      {
        name: "rack-1",
        isPresent: true,
        agentVersion: "test",
        dataCenterId: "US-KS-2",
        workers: 1,
        cordoned: false,
        drained: false,
        gpus: [{ name: "Simulated AMPERE_16", tier: "AMPERE_16", isSimulated: true, total: 2, free: 1 }],
        lastSeenAt: expect.any(String),
      },
    ]);
  });

  test("are unknown to other accounts", async ({ expect }) => {
    const agent = await ScriptedAgent.join(api);
    const stranger = await freshClient();
    expect((await stranger.send("{ myself { hosts { id } } }")).data.myself.hosts).toEqual([]);
    for (const mutation of [
      `hostUpdate(input: { id: "${agent.hostId}", cordoned: true }) { id }`,
      `hostRemove(input: { id: "${agent.hostId}" })`,
      'hostUpdate(input: { id: "never" }) { id }',
    ]) {
      const answer = await stranger.send(`mutation { ${mutation} }`);
      expect(codeOf(answer)).toBe("HOST_NOT_FOUND");
      expect(answer.errors[0].message).toMatch(/^id: .*'.+'/);
    }
    expect(await hosts("id cordoned")).toEqual([{ id: agent.hostId, cordoned: false }]);
  });

  test("a change is noted, and needs an id", async ({ expect }) => {
    const agent = await ScriptedAgent.join(api, "rack-1");
    await update(agent.hostId, "cordoned: true");
    await graphql(`mutation { hostRemove(input: { id: "${agent.hostId}" }) }`);
    const { myself } = await graphql<{ myself: { auditLog: unknown } }>(`
      {
        myself {
          auditLog(input: { subjectKind: "host" }) {
            operation
            subjectId
            subjectName
            fields
          }
        }
      }
    `);
    expect(myself.auditLog).toEqual([
      { operation: "hostRemove", subjectId: agent.hostId, subjectName: "rack-1", fields: [] },
      { operation: "hostUpdate", subjectId: agent.hostId, subjectName: "rack-1", fields: ["cordoned"] },
    ]);
    const client = await freshClient();
    const answer = await client.send("mutation { hostUpdate(input: { cordoned: true }) { id } }");
    expect(codeOf(answer)).toBe("INVALID_INPUT");
    expect(answer.errors[0].message).toMatch(/^id: /);
  });
});

describe("a cordoned host", () => {
  test("gets no new worker and says so, also when it was cordoned before its first word", async ({
    expect,
  }) => {
    const agent = await ScriptedAgent.join(api, "rack-1");
    expect(await update(agent.hostId, "cordoned: true")).toEqual({
      hostUpdate: { id: agent.hostId, cordoned: true, drained: false },
    });
    const endpointId = await createEndpoint();
    await agent.sync();
    const { body } = await call("POST", `/v2/${endpointId}/run`, { input: 1 });
    await until(async () => {
      expect(await reasonOf(endpointId, body["id"])).toContain("Host rack-1 is cordoned.");
      return true;
    }, "the job says that its host is cordoned");
    expect((await agent.sync()).assignments).toEqual([]);

    await update(agent.hostId, "cordoned: false");
    expect((await agent.sync()).assignments).toMatchObject([{ endpointId }]);
  });

  test("keeps the workers that it has", async ({ expect }) => {
    const endpointId = await createEndpoint("workersMin: 1");
    const agent = await ScriptedAgent.join(api);
    await agent.sync();
    await agent.bringUpWorker(endpointId);
    await update(agent.hostId, "cordoned: true");
    expect((await agent.sync()).assignments).toMatchObject([{ endpointId }]);
  });
});

describe("a drained host", () => {
  test("loses its workers to another one, and both know at once", async ({ expect }) => {
    const endpointId = await createEndpoint("workersMin: 1");
    const first = await ScriptedAgent.join(api, "first");
    await first.sync();
    const workerId = await first.bringUpWorker(endpointId);
    passTime(1);
    const second = await ScriptedAgent.join(api, "second");
    await second.sync();

    await update(first.hostId, "drained: true");
    const drained = await first.sync({
      workers: [{ workerId, endpointId, revision: 1, state: "stopping" }],
    });
    expect(drained.assignments).toEqual([]);
    expect((await second.sync()).assignments).toMatchObject([{ endpointId }]);
    expect(await hosts("name drained workers")).toEqual([
      { name: "first", drained: true, workers: 1 },
      { name: "second", drained: false, workers: 1 },
    ]);

    await first.sync({ appliedRevision: drained.revision });
    expect(await hosts("name workers")).toEqual([
      { name: "first", workers: 0 },
      { name: "second", workers: 1 },
    ]);
    const { evictDurableObject } = await import("cloudflare:test");
    await evictDurableObject(fleetObject(api.accountId));
    expect(await hosts("name drained")).toMatchObject([{ drained: true }, { drained: false }]);
  });
});

describe("a removed host", () => {
  test("is not listed, its worker is placed elsewhere, and its token opens nothing", async ({ expect }) => {
    const endpointId = await createEndpoint("workersMin: 1");
    const gone = await ScriptedAgent.join(api, "gone");
    await gone.sync();
    await gone.bringUpWorker(endpointId);
    const other = await ScriptedAgent.join(api, "other");
    await other.sync();
    await graphql(`mutation { hostRemove(input: { id: "${gone.hostId}" }) }`);
    await graphql(`mutation { hostRemove(input: { id: "${gone.hostId}" }) }`);

    expect(await hosts("name")).toEqual([{ name: "other" }]);
    expect((await other.sync()).assignments).toMatchObject([{ endpointId }]);
    await expect(gone.sync()).rejects.toThrow(/unauthorized/);
    // Elsewhere the token may be taken for good a while longer; the fleet knows better.
    expect(await fleetObject(api.accountId).assignments(gone.hostId)).toEqual({ kind: "removed" });
    expect(await hosts("name")).toEqual([{ name: "other" }]);

    passTime(CREDENTIAL_CACHE_MS + 1);
    await expect(gone.sync()).rejects.toThrow(/unauthorized/);
  });
});
