/** What workers of flash apps are given: the files of their build, the names they go by, and a key where they call. */
import { env, exports } from "cloudflare:workers";
import { beforeEach, describe, test } from "vitest";
import { eq } from "drizzle-orm";
import { environmentKey } from "../../src/auth/derived-keys.ts";
import type { Assignment } from "../../src/contract/agent/agent.ts";
import { openDatabase } from "../../src/db/database.ts";
import { endpoint, template, type Json } from "../../src/db/schema.ts";
import type { Env } from "../../src/env.ts";
import { resolveAssignments } from "../../src/management/assignments/assignments.ts";
import { freshAccount, type TestAccount } from "./accounts.ts";
import { ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { withMeantimeBefore } from "./tapped-database.ts";
import {
  activeBuild,
  addEnvironment,
  deployEndpoint,
  freshEnvironment,
  lease,
  type FlashWorld,
} from "./flash-world.ts";

const api = new EdgeClient();
const { createEndpoint, graphql, signInAs } = api;

const EDGE = "https://edge.example";
let account: TestAccount;
let world: FlashWorld;

beforeEach(async () => {
  account = await freshAccount();
  signInAs(account);
  world = await freshEnvironment(account.accountId, { appName: "shop", environmentName: "staging" });
});

const manifestOf = (resource: { readonly [member: string]: Json }): Json => ({
  resources: { worker: { is_load_balanced: false, functions: [], ...resource } },
});

/** An endpoint "worker" of the environment with a build that says this of it. */
async function deployed(resource: { readonly [member: string]: Json }, settings = "") {
  const build = await activeBuild(account.accountId, world, manifestOf(resource));
  const endpointId = await createEndpoint(settings);
  await deployEndpoint(endpointId, world, "worker", build.buildId);
  return { ...build, endpointId };
}

/** What a host is handed for a worker of the endpoint. */
async function receivedAssignment(endpointId: string, bindings: Env = env): Promise<Assignment | undefined> {
  const worker = { workerId: "w", endpointId, version: 1, gpuIndexes: [] };
  const assignments = await resolveAssignments(bindings, account.accountId, [worker], EDGE);
  return assignments[0];
}

test("a live endpoint without a session takes calls with source, unless its template says how it starts", async ({
  expect,
}) => {
  const saved = async (dockerArgs: string) => {
    const { saveEndpoint } = await graphql<{ saveEndpoint: { id: string } }>(
      `mutation { saveEndpoint(input: { name: "live-adder", instanceIds: ["cpu3c-1-2"], template: { dockerArgs: "${dockerArgs}",
        imageName: "runpod/flash-cpu:py3.12-latest", env: [{ key: "FLASH_LIVE", value: "true" }] } }) { id } }`,
    );
    return await receivedAssignment(saveEndpoint.id);
  };
  expect((await saved(""))?.env).toEqual({
    FLASH_LIVE: "source",
    FLASH_RESOURCE_NAME: "live-adder",
    FLASH_ENDPOINT_TYPE: "qb",
    FLASH_PYTHON_VERSION: "3.12",
  });
  expect((await saved("python mine.py"))?.env).toEqual({});
});

describe("a worker of a flash app", () => {
  test("gets the files of its build, and the names it goes by, over the agent's own call", async ({
    expect,
  }) => {
    const { endpointId, sha256 } = await deployed({ makes_remote_calls: false }, "workersMin: 1");
    const agent = await ScriptedAgent.join(api);
    const workerId = await agent.bringUpWorker(endpointId);
    const { assignments } = await agent.sync();
    const assignment = assignments.find((one) => one.workerId === workerId);
    expect(assignment?.artifact).toEqual({ sha256, sizeBytes: 1_000 });
    expect(assignment?.env).toEqual({
      FLASH_ENVIRONMENT_ID: world.environmentId,
      FLASH_APP: "shop",
      FLASH_ENV: "staging",
      FLASH_RESOURCE_NAME: "worker",
      FLASH_ENDPOINT_TYPE: "qb",
    });
    expect(assignment?.masked).toBeUndefined();
  });

  test("keeps the build that its release was made with, whatever is active now", async ({ expect }) => {
    const { endpointId, sha256 } = await deployed({ makes_remote_calls: false });
    await activeBuild(account.accountId, world, manifestOf({ makes_remote_calls: true }));
    const assignment = await receivedAssignment(endpointId);
    expect(assignment?.artifact?.sha256).toBe(sha256);
    expect(assignment?.env).not.toHaveProperty("SVC_API_KEY");
  });

  test("gets variables and files of one release, though another one is made meanwhile", async ({
    expect,
  }) => {
    const db = openDatabase(env.DB);
    const { endpointId, sha256 } = await deployed({ makes_remote_calls: false });
    const next = await activeBuild(account.accountId, world, manifestOf({ makes_remote_calls: false }));
    const changeVersion = async () => {
      await db.update(template).set({ env: [{ key: "RELEASE", value: "2" }] });
      const change = { flashBuildId: next.buildId, version: 2 };
      await db.update(endpoint).set(change).where(eq(endpoint.id, endpointId));
    };
    const assignment = await receivedAssignment(endpointId, withMeantimeBefore(2, changeVersion));
    expect(assignment?.artifact?.sha256).toBe(sha256);
    expect(assignment?.env).not.toHaveProperty("RELEASE");
  });

  test("is called as its template or its endpoint says, where they say it", async ({ expect }) => {
    const { endpointId } = await deployed({ makes_remote_calls: true });
    const db = openDatabase(env.DB);
    await db.update(template).set({ env: [{ key: "FLASH_APP", value: "theirs" }] });
    await db.update(endpoint).set({ env: [{ key: "RUNPOD_API_KEY", value: "theirs" }] });
    const assignment = await receivedAssignment(endpointId);
    expect(assignment?.env).toMatchObject({ FLASH_APP: "theirs", FLASH_ENV: "staging" });
    expect(assignment?.env).toMatchObject({ RUNPOD_API_KEY: "theirs", SVC_API_KEY: expect.anything() });
  });

  test("gets the names but no files where it has its own image", async ({ expect }) => {
    const { endpointId } = await deployed({ client_mode: true }, 'type: "LB"');
    const assignment = await receivedAssignment(endpointId);
    expect(assignment).not.toHaveProperty("artifact");
    expect(assignment?.env).toMatchObject({ FLASH_RESOURCE_NAME: "worker", FLASH_ENDPOINT_TYPE: "lb" });
    expect(assignment?.problem).toBeUndefined();
  });

  test("gets nothing of an environment of another account", async ({ expect }) => {
    const other = await freshAccount();
    const theirs = await freshEnvironment(other.accountId);
    const build = await activeBuild(other.accountId, theirs, manifestOf({ makes_remote_calls: true }));
    const endpointId = await createEndpoint();
    await deployEndpoint(endpointId, theirs, "worker", build.buildId);
    const assignment = await receivedAssignment(endpointId);
    expect(assignment?.env).toEqual({});
    expect(assignment).not.toHaveProperty("artifact");
  });
});

describe("the key of the environment", () => {
  test("is handed over only where the manifest says that the code calls others", async ({ expect }) => {
    const calling = await receivedAssignment((await deployed({ makes_remote_calls: true })).endpointId);
    const key = await environmentKey(env, world.environmentId);
    expect(key).toMatch(/^ere_[0-9a-f]{64}_[a-z0-9]{14}$/);
    expect(calling?.env).toMatchObject({ SVC_API_KEY: key, RUNPOD_API_KEY: key, EDGERUN_URL: EDGE });
    expect(calling?.masked).toEqual([key]);

    world = await freshEnvironment(account.accountId);
    const quiet = await receivedAssignment((await deployed({ makes_remote_calls: false })).endpointId);
    expect(Object.keys(quiet?.env ?? {}).filter((name) => /KEY|URL/.test(name))).toEqual([]);
  });

  test("goes to workers of both kinds", async ({ expect }) => {
    const endpoint = await deployed({ makes_remote_calls: true, is_load_balanced: true }, 'type: "LB"');
    const { endpointId } = endpoint;
    expect((await receivedAssignment(endpointId))?.env).toMatchObject({
      FLASH_ENDPOINT_TYPE: "lb",
      SVC_API_KEY: await environmentKey(env, world.environmentId),
    });
  });

  test("is not guessed: a manifest that says nothing of calls is an error", async ({ expect }) => {
    const { endpointId } = await deployed({});
    const assignment = await receivedAssignment(endpointId);
    expect(assignment?.problem).toMatch(/'worker'.*makes_remote_calls/);
    expect(assignment?.env).toEqual({});
  });

  test("is stored in no row", async ({ expect }) => {
    const { endpointId } = await deployed({ makes_remote_calls: true });
    const key = (await receivedAssignment(endpointId))?.env["SVC_API_KEY"] ?? "";
    const { results: tables } = await env.DB.prepare(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_%' ESCAPE '\\'",
    ).all<{ name: string }>();
    const dump = await Promise.all(tables.map(({ name }) => env.DB.prepare(`SELECT * FROM "${name}"`).all()));
    expect(JSON.stringify(dump)).toContain(world.environmentId);
    expect(JSON.stringify(dump)).not.toContain(key.slice(4, 40));
  });

  test("is left out where nothing can sign it, and the worker starts all the same", async ({ expect }) => {
    const { endpointId } = await deployed({ makes_remote_calls: true });
    for (const encryptionKeys of ["", "unreadable"]) {
      const assignment = await receivedAssignment(endpointId, { ...env, ENCRYPTION_KEYS: encryptionKeys });
      expect(assignment?.problem).toBeUndefined();
      expect(assignment?.env).not.toHaveProperty("SVC_API_KEY");
      expect(assignment?.env).toHaveProperty("FLASH_APP");
    }
  });
});

describe("a worker of a session", () => {
  /** An endpoint of a session, which has no build. */
  async function live(settings = ""): Promise<string> {
    await lease(world.environmentId);
    const endpointId = await createEndpoint(settings);
    await deployEndpoint(endpointId, world, "live-worker");
    return endpointId;
  }

  test.for(["QB", "LB"])(
    "of type %s gets names, live mode, its token and the key",
    async (type, { expect }) => {
      const endpointId = await live(`type: "${type}"`);
      const assignment = await receivedAssignment(endpointId);
      const key = await environmentKey(env, world.environmentId);
      const { flashEnvironment: shown } = await graphql<{ flashEnvironment: { liveToken: string } }>(
        `{ flashEnvironment(flashEnvironmentId: "${world.environmentId}") { liveToken } }`,
      );
      expect(assignment?.env).toEqual({
        FLASH_ENVIRONMENT_ID: world.environmentId,
        FLASH_APP: "shop",
        FLASH_ENV: "staging",
        FLASH_RESOURCE_NAME: "live-worker",
        FLASH_ENDPOINT_TYPE: type.toLowerCase(),
        FLASH_LIVE: "true",
        FLASH_LIVE_TOKEN: shown.liveToken,
        SVC_API_KEY: key,
        RUNPOD_API_KEY: key,
        EDGERUN_URL: EDGE,
      });
      expect(assignment?.masked).toEqual([key, shown.liveToken]);
      expect(assignment).not.toHaveProperty("artifact");
      expect(assignment?.problem).toBeUndefined();
      const { results } = await env.DB.prepare("SELECT * FROM flash_environment").all();
      expect(JSON.stringify(results)).not.toContain(shown.liveToken.slice(4, 40));
    },
  );

  test("is not overridden by its template or endpoint, in a session or outside", async ({ expect }) => {
    const outside = await createEndpoint();
    const deployedId = (await deployed({ makes_remote_calls: true })).endpointId;
    world = await freshEnvironment(account.accountId);
    const inside = await live();
    const db = openDatabase(env.DB);
    const theirs = [
      { key: "FLASH_LIVE", value: "theirs" },
      { key: "FLASH_LIVE_TOKEN", value: "theirs" },
      { key: "FLASH_LIVELY", value: "theirs" },
    ];
    await db.update(template).set({ env: theirs.slice(0, 2) });
    await db.update(endpoint).set({ env: theirs.slice(1) });
    for (const endpointId of [outside, deployedId]) {
      const given = (await receivedAssignment(endpointId))?.env;
      expect(given).toMatchObject({ FLASH_LIVELY: "theirs" });
      expect(given).not.toHaveProperty("FLASH_LIVE");
      expect(given).not.toHaveProperty("FLASH_LIVE_TOKEN");
    }
    expect((await receivedAssignment(inside))?.env).toMatchObject({
      FLASH_LIVE: "true",
      FLASH_LIVE_TOKEN: expect.stringMatching(/^erl_/),
      FLASH_LIVELY: "theirs",
    });
  });

  test("is replaced when its endpoint leaves the session, or comes into it", async ({ expect }) => {
    const endpointId = await live();
    const lasting = await addEnvironment(account.accountId, world.appId, "production");
    const moved = async (environmentId: string) => {
      const document = `mutation { saveEndpoint(input: { id: "${endpointId}", flashEnvironmentId: "${environmentId}" }) { version } }`;
      return (await graphql<{ saveEndpoint: { version: number } }>(document)).saveEndpoint.version;
    };
    expect(await moved(lasting.environmentId)).toBe(2);
    expect(await moved(lasting.environmentId)).toBe(2);
    expect(await moved(world.environmentId)).toBe(3);
  });
});

describe("an artifact", () => {
  async function download(sha256: string, headers: Record<string, string> = {}, agent?: ScriptedAgent) {
    const host = agent ?? (await ScriptedAgent.join(api));
    return await host.download(`/agent/v1/artifacts/${sha256}`, headers);
  }

  test("reaches hosts of its account whole, or from where they were", async ({ expect }) => {
    const { sha256, bytes, endpointId } = await deployed({ makes_remote_calls: false }, "workersMin: 1");
    const agent = await ScriptedAgent.join(api);
    await agent.bringUpWorker(endpointId);
    const whole = await download(sha256, {}, agent);
    expect(whole.status).toBe(200);
    expect(new Uint8Array(await whole.arrayBuffer())).toEqual(bytes);
    expect(Object.fromEntries(whole.headers)).toMatchObject({
      etag: `"${sha256}"`,
      "content-length": "1000",
      "accept-ranges": "bytes",
    });

    const rest = await download(sha256, { Range: "bytes=600-", "If-Range": `"${sha256}"` }, agent);
    expect(rest.status).toBe(206);
    expect(rest.headers.get("Content-Range")).toBe("bytes 600-999/1000");
    expect(new Uint8Array(await rest.arrayBuffer())).toEqual(bytes.subarray(600));

    const other = await download(sha256, { Range: "bytes=600-", "If-Range": '"another"' }, agent);
    expect([other.status, (await other.arrayBuffer()).byteLength]).toEqual([200, 1_000]);

    const beyond = await download(sha256, { Range: "bytes=1000-" }, agent);
    expect([beyond.status, beyond.headers.get("Content-Range")]).toEqual([416, "bytes */1000"]);
  });

  test("does not reach a host that has no worker of the app, or has it no more", async ({ expect }) => {
    const { sha256, endpointId } = await deployed({ makes_remote_calls: false }, "workersMin: 1");
    const agent = await ScriptedAgent.join(api);
    await agent.bringUpWorker(endpointId);
    const other = await ScriptedAgent.join(api);
    await other.sync();
    expect((await download(sha256, {}, other)).status).toBe(404);
    await agent.ask("POST", "/agent/v1/host/drain");
    expect((await download(sha256, {}, agent)).status).toBe(404);
  });

  test("of another account, lost, or never uploaded is not found", async ({ expect }) => {
    const { sha256 } = await deployed({ makes_remote_calls: false });
    signInAs(await freshAccount());
    const agent = await ScriptedAgent.join(api);
    const theirs = await download(sha256, {}, agent);
    const never = await download("0".repeat(64), {}, agent);
    expect([theirs.status, never.status]).toEqual([404, 404]);
    expect((await theirs.text()).replaceAll(sha256, "")).toBe(
      (await never.text()).replaceAll("0".repeat(64), ""),
    );
    expect((await download("../secrets", {}, agent)).status).toBe(404);
    expect((await download("F".repeat(64), {}, agent)).status).toBe(400);
  });

  test("is given to hosts alone", async ({ expect }) => {
    const { sha256 } = await deployed({ makes_remote_calls: false });
    const response = await exports.default.fetch(`http://edge/agent/v1/artifacts/${sha256}`, {
      headers: { Authorization: `Bearer ${account.key}` },
    });
    expect(response.status).toBe(401);
    await graphql("{ myself { id } }"); // which the key opens
  });
});
