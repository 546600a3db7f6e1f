/** The key of a flash environment: what it opens, and that it opens nothing else. */
import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { afterEach, beforeEach, describe, test, vi } from "vitest";
import { environmentKey, environmentOfKey } from "../../src/auth/derived-keys.ts";
import { openDatabase } from "../../src/db/database.ts";
import { flashEnvironment } from "../../src/db/schema.ts";
import { NEEDED_ACCESS } from "./needed-access.ts";
import { ScriptedAgent } from "./agent-client.ts";
import { freshAccount, type TestAccount } from "./accounts.ts";
import { EdgeClient } from "./edge-client.ts";
import {
  activeBuild,
  addEnvironment,
  deployEndpoint,
  freshEnvironment,
  lease,
  type FlashWorld,
} from "./flash-world.ts";
import { linkedEndpoint } from "./link-client.ts";
import { passTime } from "./object.ts";
import { CREDENTIAL_CACHE_MS } from "../../src/domain/accounts/permissions.ts";

const api = new EdgeClient();
const { call, createEndpoint, signInAs } = api;

let account: TestAccount;
let world: FlashWorld;

beforeEach(async () => {
  account = await freshAccount();
  signInAs(account);
  world = await freshEnvironment(account.accountId, { appName: "shop", environmentName: "staging" });
});
afterEach(() => void vi.useRealTimers());

const keyOf = async ({ environmentId }: { readonly environmentId: string } = world): Promise<string> =>
  (await environmentKey(env, environmentId)) ?? "";

/** An endpoint without workers, for which nobody waits. */
async function deployed(place: { readonly environmentId: string } = world, name = "worker"): Promise<string> {
  const endpointId = await createEndpoint("workersMax: 0");
  await deployEndpoint(endpointId, place, name);
  return endpointId;
}

const USE = "flashEnvironment and flashBuild";

describe("the queue API", () => {
  test("is open to it: a worker calls another, and reads the result", async ({ expect }) => {
    const endpointId = await createEndpoint("workersMin: 1");
    await deployEndpoint(endpointId, world, "worker");
    const agent = await ScriptedAgent.join(api);
    const workerId = await agent.bringUpWorker(endpointId);
    signInAs({ key: await keyOf() });
    const running = call("POST", `/v2/${endpointId}/runsync`, { input: { n: 1 } });
    await agent.complete(endpointId, await agent.take(endpointId, workerId), { n: 2 });
    const { status, body } = await running;
    expect([status, body["output"]]).toEqual([200, { n: 2 }]);
    const again = await call("GET", `/v2/${endpointId}/status/${String(body["id"])}`);
    expect(again.body["status"]).toBe("COMPLETED");
  });

  test.for(Object.keys(NEEDED_ACCESS).filter((operation) => !operation.includes("openai")))(
    "is open to it: %s",
    async (operation, { expect }) => {
      const endpointId = await deployed();
      signInAs({ key: await keyOf() });
      const [method = "", path = ""] = operation.split(" ");
      const address = `/v2/${endpointId}/${path.replaceAll(/:\w+/g, "unknown")}`;
      const { status, body } = await call(method, address, method === "GET" ? undefined : {});
      expect(status, JSON.stringify(body)).not.toBe(401);
    },
  );

  test("of another environment's endpoint is rejected with the same message wherever that is", async ({
    expect,
  }) => {
    const stranger = await freshAccount();
    signInAs(stranger);
    const theirs = await deployed(await freshEnvironment(stranger.accountId));
    signInAs(account);
    const sibling = await deployed(await addEnvironment(account.accountId, world.appId, "production"));
    const loose = await createEndpoint("workersMax: 0");
    signInAs(stranger);
    const smuggled = await deployed(world, "smuggled");
    signInAs({ key: await keyOf() });
    const texts = new Set<string>();
    for (const endpointId of [theirs, sibling, loose, smuggled, "neverwas1234567"]) {
      const { status, body } = await call("GET", `/v2/${endpointId}/health`);
      expect([status, body["code"]]).toEqual([401, "insufficient_permission"]);
      texts.add(String(body["error"]).replaceAll(endpointId, "<id>"));
    }
    expect([...texts]).toEqual([expect.stringContaining(USE)]);
  });

  test("closes when the environment is deleted", async ({ expect }) => {
    const endpointId = await deployed();
    signInAs({ key: await keyOf() });
    vi.useFakeTimers({ toFake: ["Date"] });
    expect((await call("GET", `/v2/${endpointId}/health`)).status).toBe(200);
    await openDatabase(env.DB).delete(flashEnvironment).where(eq(flashEnvironment.id, world.environmentId));
    passTime(CREDENTIAL_CACHE_MS);
    const { status, body } = await call("GET", `/v2/${endpointId}/health`);
    expect([status, body["code"]]).toEqual([401, "unauthorized"]);
    expect(body["error"]).toMatch(/environment/);
  });
});

test("closes when the lease of its session lapses, whether that was tidied up or not", async ({ expect }) => {
  const endpointId = await deployed();
  vi.useFakeTimers({ toFake: ["Date"] });
  await lease(world.environmentId, Date.now() + 60_000);
  signInAs({ key: await keyOf() });
  expect((await call("GET", `/v2/${endpointId}/health`)).status).toBe(200);
  passTime(60_000);
  const { status, body } = await call("GET", `/v2/${endpointId}/health`);
  expect([status, body["code"]]).toEqual([401, "unauthorized"]);
  expect(body["error"]).toMatch(/environment/);
});

test("requests of load-balanced endpoints are open to it, and it does not reach their worker", async ({
  expect,
}) => {
  const { endpointId, link } = await linkedEndpoint(api, `, flashEnvironmentId: "${world.environmentId}"`);
  const key = await keyOf();
  signInAs({ key });
  const asked = call("GET", `/lb/${endpointId}/path`);
  const { stream, head } = await link.open();
  expect(JSON.stringify(head)).not.toContain(key);
  link.answer(stream, '{"ok":true}');
  expect((await asked).body).toEqual({ ok: true });
});

describe("the management API", () => {
  const ask = async (query: string) => {
    const { status, body } = await call("POST", "/graphql", { query });
    const [error] = (body["errors"] as { message: string; extensions: { code: string } }[] | undefined) ?? [];
    return { status, data: body["data"], code: error?.extensions.code, message: error?.message };
  };

  test("says which build the environment has, and what is in it", async ({ expect }) => {
    const manifest = { resources: { worker: { is_load_balanced: false, functions: [] } } };
    const { buildId } = await activeBuild(account.accountId, world, manifest);
    const endpointId = await deployed();
    signInAs({ key: await keyOf() });
    // Workers of old ask with the id of their endpoint.
    for (const id of [world.environmentId, endpointId]) {
      expect((await ask(`{ flashEnvironment(flashEnvironmentId: "${id}") { activeBuildId } }`)).data).toEqual(
        {
          flashEnvironment: { activeBuildId: buildId },
        },
      );
    }
    expect((await ask(`{ flashBuild(flashBuildId: "${buildId}") { id manifest } }`)).data).toMatchObject({
      flashBuild: {
        id: buildId,
        manifest: { ...manifest, resources_endpoints: { worker: expect.stringContaining(endpointId) } },
      },
    });
  });

  test("reveals nothing of other environments and builds, with the same message wherever they are", async ({
    expect,
  }) => {
    const stranger = await freshAccount();
    const theirs = await freshEnvironment(stranger.accountId);
    const theirBuild = await activeBuild(stranger.accountId, theirs, { resources: {} });
    const sibling = { ...world, ...(await addEnvironment(account.accountId, world.appId, "production")) };
    const siblingBuild = await activeBuild(account.accountId, sibling, { resources: {} });
    signInAs({ key: await keyOf() });
    const answers = [
      ...[theirs.environmentId, sibling.environmentId, "never"].map(
        (id) => `{ flashEnvironment(flashEnvironmentId: "${id}") { id } }`,
      ),
      ...[theirBuild.buildId, siblingBuild.buildId, "never"].map(
        (id) => `{ flashBuild(flashBuildId: "${id}") { id } }`,
      ),
    ].map(ask);
    for (const answer of await Promise.all(answers)) {
      expect(answer).toMatchObject({ status: 401, code: "INSUFFICIENT_PERMISSION" });
      expect(answer.message).toMatch(/\bflash(?:Environment|Build)\b/);
      expect(answer.message).toContain(USE);
    }
  });

  test.for([
    "{ myself { id } }",
    "{ myself { endpoints { aiKey } } }",
    "{ gpuTypes { id } }",
    "{ __schema { types { name } } }",
    'mutation { createApiKey(input: { name: "x", level: ALL }) { token } }',
    "mutation { createFlashAuthRequest { id } }",
    '{ flashEnvironment(flashEnvironmentId: "ID") { endpoints { id } } }',
    '{ flashEnvironment(flashEnvironmentId: "ID") { liveToken } }',
    'mutation { renewFlashEnvironmentLease(input: { flashEnvironmentId: "ID", leaseSeconds: 60 }) { id } }',
    '{ flashEnvironment(flashEnvironmentId: "ID") { activeArtifact { downloadUrl } } }',
    '{ flashEnvironment(flashEnvironmentId: "ID") { ...f } } fragment f on FlashEnvironment { networkVolumes { id } }',
    '{ flashApp(flashAppId: "ID") { id } }',
    '{ a: flashBuild(flashBuildId: "ID") { objectKey } }',
    "{ nothing }",
  ])("does not open for it: %s", async (document, { expect }) => {
    signInAs({ key: await keyOf() });
    const answer = await ask(document.replaceAll("ID", world.environmentId));
    expect(answer).toMatchObject({ status: 401, data: null, code: "INSUFFICIENT_PERMISSION" });
    expect(answer.message).toMatch(/field '\w+'/);
    expect(answer.message).toContain(USE);
  });

  test.for(["/v1/endpoints", "/v1/hosts", "/metrics"])(
    "does not open for it: %s",
    async (path, { expect }) => {
      signInAs({ key: await keyOf() });
      const { status, body } = await call("GET", path);
      expect(status).toBe(401);
      expect(JSON.stringify(body)).toContain("flash environment");
    },
  );
});

describe("a key", () => {
  test("that was changed, or that carries another id, opens nothing", async ({ expect }) => {
    const endpointId = await deployed();
    const other = await addEnvironment(account.accountId, world.appId, "production");
    const key = await keyOf();
    const flipped = key.replace(
      /^(ere_)(.)/,
      (_, prefix: string, digit: string) => prefix + (digit === "0" ? "1" : "0"),
    );
    const signature = key.slice(0, key.lastIndexOf("_"));
    const wrong = [
      flipped,
      `${signature}_${other.environmentId}`,
      signature,
      `${key}x`,
      "ere_",
      `ere_${"0".repeat(9_000)}`,
    ];
    for (const one of wrong) {
      signInAs({ key: one });
      const { status, body } = await call("GET", `/v2/${endpointId}/health`);
      expect([status, body["code"]], one.slice(0, 100)).toEqual([401, "unauthorized"]);
    }
  });

  test("is recognised by every key of the rotated, made by the newest, and no key of an endpoint", async ({
    expect,
  }) => {
    const newer = `newer:${btoa(String.fromCharCode(...new Uint8Array(32).fill(9)))}`;
    const rotated = { ENCRYPTION_KEYS: `${newer},${env.ENCRYPTION_KEYS}` };
    const old = await keyOf();
    const fresh = (await environmentKey(rotated, world.environmentId)) ?? "";
    expect(fresh).not.toBe(old);
    expect(await environmentOfKey(rotated, old)).toBe(world.environmentId);
    expect(await environmentOfKey(rotated, fresh)).toBe(world.environmentId);
    expect(await environmentOfKey({ ENCRYPTION_KEYS: newer }, old)).toBeUndefined();
    expect(await environmentOfKey({}, old)).toBeUndefined();
    expect(await environmentKey({}, world.environmentId)).toBeUndefined();
  });
});
