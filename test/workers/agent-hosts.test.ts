/** Hosts that join, look after themselves and leave, and the agents that the edge serves. */
import { env, exports } from "cloudflare:workers";
import { afterEach, beforeEach, describe, test, vi } from "vitest";
import { AGENT_VERSION } from "../../src/contract/agent/agent-version.ts";
import { hostReplySchema } from "../../src/contract/agent/agent.ts";
import { HOSTS_MAX } from "../../src/db/hosts.ts";
import { maintain } from "../../src/maintenance/tasks.ts";
import { INVENTORY, ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { codeOf, freshClient } from "./graphql-client.ts";
import { passTime } from "./object.ts";
import { CREDENTIAL_CACHE_MS } from "../../src/domain/accounts/permissions.ts";

const api = new EdgeClient();
const { call, createEndpoint, graphql, signInAs, signInAsNewAccount } = api;

beforeEach(signInAsNewAccount);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

type Made = { readonly token: string; readonly id: string; readonly installCommand: string };

function get(path: string, headers: Record<string, string> = {}, origin = "http://edge"): Promise<Response> {
  return exports.default.fetch(`${origin}${path}`, { headers });
}

async function makeToken(input = ""): Promise<Made> {
  const { joinTokenCreate } = await graphql<{ joinTokenCreate: Made }>(
    `mutation { joinTokenCreate${input} { token id installCommand } }`,
  );
  return joinTokenCreate;
}

async function join(token: string, agentVersion = "test") {
  return await call("POST", "/agent/v1/join", {
    joinToken: token,
    name: "rack",
    agentVersion,
    inventory: INVENTORY,
  });
}

async function onlyHost(): Promise<Record<string, unknown>> {
  const { myself } = await graphql<{ myself: { hosts: Record<string, unknown>[] } }>(
    "{ myself { hosts { id drained workers agentVersion isAgentOutdated isAgentRefused } } }",
  );
  return myself.hosts.at(-1) ?? {};
}

describe("a host and the key that let it in", () => {
  const keyFor = async (fields: string) => {
    const { createApiKey } = await graphql<{ createApiKey: { token: string; apiKey: { id: string } } }>(
      `mutation { createApiKey(input: { name: "installer", ${fields} }) { token apiKey { id } } }`,
    );
    return { id: createApiKey.apiKey.id, key: createApiKey.token };
  };
  /** What is done with another key, and then goes on with the earlier one. */
  const as = async <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const own = api.key;
    signInAs({ key });
    try {
      return await work();
    } finally {
      signInAs({ key: own });
    }
  };
  const hostsOf = async (keyId: string) => {
    const { apiKeys } = await graphql<{
      apiKeys: { id: string; hosts: { id: string; apiKeyId: string }[] }[];
    }>("{ apiKeys { id hosts { id apiKeyId } } }");
    return apiKeys.find(({ id }) => id === keyId)?.hosts;
  };
  /** All that a host could be given. */
  const errorCodes = async (agent: ScriptedAgent, endpointId: string) => [
    await errorCodeOf(agent.sync()),
    await errorCodeOf(agent.exchange(endpointId, { slots: [{ workerId: "any", free: 1 }] })),
    await errorCodeOf(agent.openLink(endpointId)),
    await errorCodeOf(agent.ask("GET", "/agent/v1/host")),
    await errorCodeOf(agent.ask("GET", `/agent/v1/artifacts/${"0".repeat(64)}`)),
  ];
  const errorCodeOf = (work: Promise<unknown>) =>
    work.then(
      () => "given",
      (error: unknown) => /"code":"([a-z_]+)"/.exec(String(error))?.[1],
    );
  const ALL_REFUSED = Array.from({ length: 5 }, () => "unauthorized");

  test("ends when the key expires, and so does what would let others in", async ({ expect }) => {
    const endpointId = await createEndpoint("workersMin: 1");
    const { id, key } = await keyFor("level: ALL, expiresInSeconds: 60");
    const late = await as(key, makeToken);
    const agent = await as(key, () => ScriptedAgent.join(api, "short"));
    const workerId = await agent.bringUpWorker(endpointId);
    await call("POST", `/v2/${endpointId}/run`, { input: 1 });
    await agent.take(endpointId, workerId);
    expect(await hostsOf(id)).toEqual([{ id: agent.hostId, apiKeyId: id }]);

    passTime(60_000);
    expect(await errorCodes(agent, endpointId)).toEqual(ALL_REFUSED);
    expect((await join(late.token)).body["code"]).toBe("unauthorized");
    expect(await hostsOf(id)).toEqual([]);
    await maintain(env, Date.now());
    expect((await call("GET", `/v2/${endpointId}/health`)).body["workers"]).toMatchObject({
      running: 0,
      idle: 0,
    });
  });

  test("is removed when the key is revoked, unless it is kept", async ({ expect }) => {
    const endpointId = await createEndpoint("workersMin: 1");
    const { id, key } = await keyFor("level: ALL");
    const late = await as(key, makeToken);
    const agent = await as(key, () => ScriptedAgent.join(api, "leaked"));
    const workerId = await agent.bringUpWorker(endpointId);
    await call("POST", `/v2/${endpointId}/run`, { input: 1 });
    await agent.take(endpointId, workerId);

    await graphql(`mutation { revokeApiKey(id: "${id}", keepHosts: true) }`);
    expect((await join(late.token)).body["code"]).toBe("unauthorized");
    expect(await errorCodeOf(agent.sync())).toBe("given");
    expect(await hostsOf(id)).toHaveLength(1);
    await graphql(`mutation { revokeApiKey(id: "${id}") }`);
    expect(await errorCodes(agent, endpointId)).toEqual(ALL_REFUSED);
    expect(await hostsOf(id)).toEqual([]);
  });

  test("is rejected with the join token of a key that has lost the permission", async ({ expect }) => {
    const { id, key } = await keyFor("level: ALL");
    const late = await as(key, makeToken);
    await graphql(`mutation { updateApiKey(input: { id: "${id}", level: READ_ONLY }) { id } }`);
    expect((await join(late.token)).body["code"]).toBe("unauthorized");
    await graphql(`mutation { updateApiKey(input: { id: "${id}", level: ALL }) { id } }`);
    expect((await join(late.token)).status).toBe(200);
  });
});

describe("what a machine needs to become a host", () => {
  test("is a script that knows the edge it came from, and nothing of it stands open", async ({ expect }) => {
    const response = await get("/agent/install.sh", {}, "https://gpu.example:8443");
    expect(response.status).toBe(200);
    const script = await response.text();
    expect(script).toContain("\nEDGE=https://gpu.example:8443\n");
    expect(script.trimEnd().split("\n").at(-1)).toBe('install_edgerun "$@"');
  });

  test("is an agent whose hash is served beside it, and that need not come twice", async ({ expect }) => {
    const response = await get("/agent/edgerun-agent.mjs");
    const bytes = await response.arrayBuffer();
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    const hash = [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    const served = await get("/agent/edgerun-agent.mjs.sha256");
    expect(served.headers.get("Content-Type")).toBe("text/plain; charset=utf-8");
    expect((await served.text()).trim()).toBe(hash);
    const again = await get("/agent/edgerun-agent.mjs", {
      "If-None-Match": response.headers.get("ETag") ?? "",
    });
    expect(again.status).toBe(304);
    expect(await call("GET", "/agent/else.mjs")).toMatchObject({ status: 404 });
    // Only a deployment signs it.
    expect(await call("GET", "/agent/edgerun-agent.mjs.sig")).toMatchObject({ status: 404 });
  });
});

describe("a join token", () => {
  test("comes with the line to paste, and serves one host", async ({ expect }) => {
    const { token, installCommand } = await makeToken();
    expect(installCommand).toBe(
      `(echo EDGERUN_JOIN_TOKEN=${token}; curl --proto '=https' --tlsv1.2 -fsSL https://edge/agent/install.sh) | sudo sh -s --`,
    );
    expect((await join(token)).status).toBe(200);
    const second = await join(token);
    expect(second).toMatchObject({ status: 401, body: { error: expect.stringMatching(/\b2\d{3}-/) } });
  });

  test("that has expired names the time of its expiry", async ({ expect }) => {
    const { token } = await makeToken("(input: { expiresInSeconds: 60 })");
    passTime(61_000);
    expect(await join(token)).toMatchObject({
      status: 401,
      body: { error: expect.stringMatching(/\b2\d{3}-.*joinTokenCreate/) },
    });
    expect(await join("erj_never")).toMatchObject({
      status: 401,
      body: { error: expect.not.stringMatching(/\b2\d{3}-/) },
    });
  });

  test("is listed until it is used, and can be taken back by its account alone", async ({ expect }) => {
    const client = await freshClient();
    const made = (await client.send('mutation { joinTokenCreate(input: { name: "rack" }) { token id } }'))
      .data.joinTokenCreate;
    const list = async () =>
      (await client.send("{ myself { joinTokens { id name createdAt expiresAt } } }")).data.myself.joinTokens;
    expect(await list()).toEqual([
      { id: made.id, name: "rack", createdAt: expect.any(String), expiresAt: expect.any(String) },
    ]);
    const revoke = `mutation { joinTokenRevoke(input: { id: "${made.id}" }) }`;
    expect(codeOf(await (await freshClient()).send(revoke))).toBe("JOIN_TOKEN_NOT_FOUND");
    expect((await client.send(revoke)).errors).toBeUndefined();
    expect(await list()).toEqual([]);
    expect((await join(made.token)).status).toBe(401);
    expect(codeOf(await client.send(revoke))).toBe("JOIN_TOKEN_NOT_FOUND");

    const used = (await client.send("mutation { joinTokenCreate { token id } }")).data.joinTokenCreate;
    await join(used.token);
    expect(await list()).toEqual([]);
    const late = await client.send(`mutation { joinTokenRevoke(input: { id: "${used.id}" }) }`);
    expect(codeOf(late)).toBe("JOIN_TOKEN_NOT_FOUND");
  });
});

describe("an account with as many hosts as it may have", () => {
  test("gets no more until one is removed", async ({ expect }) => {
    const { myself } = await graphql<{ myself: { id: string } }>("{ myself { id } }");
    const own = await ScriptedAgent.join(api);
    await env.DB.prepare(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
       INSERT INTO host (id, account_id, name, token_hash, created_at)
       SELECT ?2 || i, ?2, 'rack', ?2 || i, 0 FROM n`,
    )
      .bind(HOSTS_MAX - 1, myself.id)
      .run();
    const refused = await join((await makeToken()).token);
    expect(refused).toMatchObject({ status: 400, body: { code: "invalid_input" } });
    await graphql(`mutation { hostRemove(input: { id: "${own.hostId}" }) }`);
    expect(await join((await makeToken()).token)).toMatchObject({ status: 200 });
  });
});

describe("a host", () => {
  test("sees that it is known, gives its workers away, and leaves", async ({ expect }) => {
    const endpointId = await createEndpoint("workersMin: 1");
    const agent = await ScriptedAgent.join(api, "leaving");
    expect(hostReplySchema.parse(await agent.ask("GET", "/agent/v1/host"))).toMatchObject({
      hostId: agent.hostId,
      name: "leaving",
      agent: { current: AGENT_VERSION },
    });
    await agent.sync();
    await agent.bringUpWorker(endpointId);

    await agent.ask("POST", "/agent/v1/host/drain");
    expect((await agent.sync()).assignments).toEqual([]);
    expect(await onlyHost()).toMatchObject({ id: agent.hostId, drained: true });

    await agent.ask("POST", "/agent/v1/host/leave");
    expect(await onlyHost()).not.toMatchObject({ id: agent.hostId });
    passTime(CREDENTIAL_CACHE_MS + 1);
    await expect(agent.ask("GET", "/agent/v1/host")).rejects.toThrow(/401/);
  });

  test("with an older agent works, and its owner sees a warning", async ({ expect }) => {
    const agent = await ScriptedAgent.join(api);
    const { notice } = await agent.sync({ agentVersion: "0.1.0" });
    expect(notice).toMatchObject({
      kind: "outdated",
      message: expect.stringContaining("edgerun-agent upgrade"),
    });
    expect(await onlyHost()).toMatchObject({ isAgentOutdated: true, isAgentRefused: false });
    expect(await agent.sync({ agentVersion: AGENT_VERSION })).not.toHaveProperty("notice");
    expect(await onlyHost()).toMatchObject({ isAgentOutdated: false });
    await agent.ask("POST", "/agent/v1/host/leave");
  });

  test("with an agent that is too old loses its workers, and has them again when it is upgraded", async ({
    expect,
  }) => {
    const endpointId = await createEndpoint("workersMin: 1");
    const agent = await ScriptedAgent.join(api);
    await agent.sync();
    const workerId = await agent.bringUpWorker(endpointId);
    const workers = [{ workerId, endpointId, revision: 1, state: "ready" as const }];
    const old = await agent.sync({ agentVersion: "0.0.9", workers });
    expect(old).toMatchObject({ assignments: [], notice: { kind: "refused" } });
    expect(await onlyHost()).toMatchObject({ isAgentOutdated: true, isAgentRefused: true, drained: false });

    const upgraded = await agent.sync({ agentVersion: AGENT_VERSION, appliedRevision: old.revision });
    expect(upgraded.assignments).toMatchObject([{ endpointId }]);
    await agent.ask("POST", "/agent/v1/host/leave");
  });

  test("with an agent that is too old does not join", async ({ expect }) => {
    const { token } = await makeToken();
    expect(await join(token, "0.0.9")).toMatchObject({
      status: 400,
      body: { error: expect.stringContaining("too old") },
    });
    expect((await join(token)).status).toBe(200);
  });
});
