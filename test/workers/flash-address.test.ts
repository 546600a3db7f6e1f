/** The reserved endpoint id `flash`: requests that name app, environment and endpoint instead of an id. */
import { createExecutionContext } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { afterEach, beforeEach, describe, test, vi } from "vitest";
import { environmentKey } from "../../src/auth/derived-keys.ts";
import { FLASH_URL_CACHE_MS } from "../../src/management/flash/qualified-names.ts";
import edge from "../../src/index.ts";
import { ScriptedAgent } from "./agent-client.ts";
import { freshAccount, type TestAccount } from "./accounts.ts";
import { EdgeClient } from "./edge-client.ts";
import { addEnvironment, deployEndpoint, freshEnvironment, lease, type FlashWorld } from "./flash-world.ts";
import { keyWith } from "./key-client.ts";
import { linkedEndpoint } from "./link-client.ts";
import { passTime } from "./object.ts";
import { withTap } from "./tapped-database.ts";
import { holding } from "./message-facts.ts";

const api = new EdgeClient();
const { call, createEndpoint, graphql, signInAs } = api;

let account: TestAccount;
let world: FlashWorld;

beforeEach(async () => {
  account = await freshAccount();
  signInAs(account);
  world = await freshEnvironment(account.accountId, { appName: "shop", environmentName: "staging" });
});
afterEach(() => void vi.useRealTimers());

const naming = (endpoint = "worker", environment = "staging", app = "shop"): Record<string, string> => ({
  "X-Flash-App": app,
  "X-Flash-Environment": environment,
  "X-Flash-Endpoint": endpoint,
});

async function deployed(name = "worker", settings = "workersMax: 0"): Promise<string> {
  const endpointId = await createEndpoint(settings);
  await deployEndpoint(endpointId, world, name);
  return endpointId;
}

const health = async (headers: Record<string, string>) =>
  await call("GET", "/v2/flash/health", undefined, headers);

describe("a job by names", () => {
  test("goes to the endpoint that they mean, and the answer says its id", async ({ expect }) => {
    const endpointId = await deployed("worker", "workersMin: 1");
    const agent = await ScriptedAgent.join(api);
    const workerId = await agent.bringUpWorker(endpointId);
    const running = call("POST", "/v2/flash/runsync", { input: {} }, naming());
    await agent.complete(endpointId, await agent.take(endpointId, workerId), "done");
    const { status, body, headers } = await running;
    expect([status, body["output"]]).toEqual([200, "done"]);
    expect(headers.get("X-Flash-Endpoint-Id")).toBe(endpointId);
    const own = await call("GET", `/v2/${endpointId}/status/${String(body["id"])}`);
    const named = await call("GET", `/v2/flash/status/${String(body["id"])}`, undefined, naming());
    expect(named.body).toEqual(own.body);
    expect(own.headers.has("X-Flash-Endpoint-Id")).toBe(false);
  });

  test("is answered with an error as by the id, which the answer says as well", async ({ expect }) => {
    const endpointId = await deployed();
    const { status, body, headers } = await call("GET", "/v2/flash/status/unknown", undefined, naming());
    expect([status, body["code"]]).toEqual([404, "job_not_found"]);
    expect(headers.get("X-Flash-Endpoint-Id")).toBe(endpointId);
  });

  test("asks the database nothing once names, keys and endpoint are known, as by the id", async ({
    expect,
  }) => {
    const endpointId = await deployed();
    const keys = [api.key, (await environmentKey(env, world.environmentId)) ?? ""];
    const requests = [endpointId, "flash"].flatMap((id) =>
      [`POST /v2/${id}/run`, `GET /v2/${id}/status/unknown`].flatMap((operation) =>
        keys.map((key) => ({ operation, key })),
      ),
    );
    let questions = 0;
    const bindings = withTap(async () => void (questions += 1));
    const send = async () => {
      const before = questions;
      for (const { operation, key } of requests) {
        const [method = "", path = ""] = operation.split(" ");
        const headers = { ...naming(), Authorization: `Bearer ${key}` };
        const body = method === "POST" ? JSON.stringify({ input: {} }) : null;
        const request = new Request(`http://edge${path}`, { method, headers, body });
        const { status } = await edge.fetch(request, bindings, createExecutionContext());
        expect([operation, status]).toEqual([operation, method === "POST" ? 200 : 404]);
      }
      return questions - before;
    };
    expect(await send()).toBeGreaterThan(0);
    expect(await send()).toBe(0);
  });

  test("whose names mean nothing finds nothing, and the answer repeats them", async ({ expect }) => {
    await deployed();
    for (const names of [
      naming("absent"),
      naming("worker", "absent"),
      naming("worker", "staging", "absent"),
    ]) {
      const { status, body } = await health(names);
      expect([status, body["code"]]).toEqual([404, "endpoint_not_found"]);
      expect(body["error"]).toMatch(holding(...Object.values(names).map((name) => `'${name}'`)));
    }
  });

  test.for(["X-Flash-App", "X-Flash-Environment", "X-Flash-Endpoint"])(
    "without %s gets an error that names it",
    async (header, { expect }) => {
      await deployed();
      for (const value of ["", "x".repeat(192)]) {
        const { status, body } = await health({ ...naming(), [header]: value });
        expect([status, body["code"]]).toEqual([400, "invalid_input"]);
        expect(body["error"]).toMatch(holding(header, ...(value === "" ? [] : [191])));
      }
    },
  );

  test("without a key is rejected before its names are resolved", async ({ expect }) => {
    const response = await exports.default.fetch("http://edge/v2/flash/health");
    expect(response.status).toBe(401);
    expect(await response.text()).toContain("Authorization: Bearer");
  });

  test("needs a key that is allowed this of the endpoint", async ({ expect }) => {
    const endpointId = await deployed();
    signInAs({
      key: await keyWith(account.accountId, { graphql: "write", endpoints: { [endpointId]: "read" } }),
    });
    expect((await health(naming())).status).toBe(200);
    const refused = await call("POST", "/v2/flash/run", { input: {} }, naming());
    expect(refused.body["code"]).toBe("insufficient_permission");
  });
});

describe("names", () => {
  test("mean what they mean in the caller's account", async ({ expect }) => {
    const mine = await deployed();
    const stranger = await freshAccount();
    signInAs(stranger);
    await deployed("smuggled");
    signInAs(account);
    expect((await health(naming("smuggled"))).body["code"]).toBe("endpoint_not_found");
    signInAs(stranger);
    expect((await health(naming())).status).toBe(404);
    world = await freshEnvironment(stranger.accountId, { appName: "shop", environmentName: "staging" });
    const theirs = await deployed();
    expect((await health(naming())).headers.get("X-Flash-Endpoint-Id")).toBe(theirs);
    signInAs(account);
    expect((await health(naming())).headers.get("X-Flash-Endpoint-Id")).toBe(mine);
  });

  test("mean another endpoint soon after it was deployed again", async ({ expect }) => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const first = await deployed();
    expect((await health(naming())).status).toBe(200);
    await graphql(`mutation { deleteEndpoint(id: "${first}") }`);
    const second = await deployed();
    passTime(FLASH_URL_CACHE_MS);
    expect((await health(naming())).headers.get("X-Flash-Endpoint-Id")).toBe(second);
  });

  test("mean the live endpoint of a session too, unless it has one of the very name", async ({ expect }) => {
    const live = await deployed("live-worker");
    expect((await health(naming())).status).toBe(404);
    await lease(world.environmentId);
    expect((await health(naming())).headers.get("X-Flash-Endpoint-Id")).toBe(live);
    expect((await health(naming("live-worker"))).headers.get("X-Flash-Endpoint-Id")).toBe(live);
    expect((await health(naming("live-live-worker"))).status).toBe(404);

    world = await freshEnvironment(account.accountId, { appName: "own", environmentName: "staging" });
    await lease(world.environmentId);
    for (const name of ["live-worker", "worker", "live-live-worker"]) {
      const endpointId = await deployed(name);
      const found = await health(naming(name, "staging", "own"));
      expect([name, found.headers.get("X-Flash-Endpoint-Id")]).toEqual([name, endpointId]);
    }
  });

  test("whose endpoint was removed are resolved again at the next call", async ({ expect }) => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const first = await deployed();
    expect((await health(naming())).status).toBe(200);
    await graphql(`mutation { deleteEndpoint(id: "${first}") }`);
    const second = await deployed();
    expect((await health(naming())).body["code"]).toBe("endpoint_not_found");
    expect((await health(naming())).headers.get("X-Flash-Endpoint-Id")).toBe(second);
  });
});

describe("a request to a load-balanced endpoint by names", () => {
  test.for(["http://edge/lb/flash", "http://flash.lb.localhost:8787"])(
    "comes by %s",
    async (base, { expect }) => {
      const { endpointId, link } = await linkedEndpoint(api);
      await deployEndpoint(endpointId, world, "api");
      const headers = { Authorization: `Bearer ${api.key}`, ...naming("api") };
      const asked = exports.default.fetch(`${base}/items/1?x=y`, { headers });
      const { stream, head } = await link.open();
      expect(head.target).toBe("/items/1?x=y");
      link.answer(stream, "made", { status: 201, statusText: "Created", headers: [["X-Own", "1"]] });
      const answer = await asked;
      expect([answer.status, await answer.text(), answer.headers.get("X-Own")]).toEqual([201, "made", "1"]);
      expect(answer.headers.get("X-Flash-Endpoint-Id")).toBe(endpointId);
    },
  );

  test("gets the same error for a missing worker as by the id", async ({ expect }) => {
    await deployed("queue");
    const { status, body } = await call("GET", "/lb/flash/path", undefined, naming("queue"));
    expect([status, body["code"], body["status"]]).toEqual([400, "wrong_endpoint_type", 400]);
    const absent = await call("GET", "/lb/flash/path", undefined, naming("absent"));
    expect([absent.status, absent.body["error"]]).toEqual([404, expect.stringContaining("not found")]);
  });
});

describe("the key of an environment", () => {
  test("finds endpoints of its own environment by their names, and of no other", async ({ expect }) => {
    const endpointId = await deployed();
    await addEnvironment(account.accountId, world.appId, "production");
    signInAs({ key: (await environmentKey(env, world.environmentId)) ?? "" });
    expect((await health(naming())).headers.get("X-Flash-Endpoint-Id")).toBe(endpointId);
    expect((await health(naming("absent"))).body["code"]).toBe("endpoint_not_found");
    const beyond = [
      naming("worker", "production"),
      naming("worker", "never"),
      naming("worker", "staging", "never"),
    ];
    for (const names of beyond) {
      const { status, body } = await health(names);
      expect([status, body["code"]]).toEqual([401, "insufficient_permission"]);
      expect(body["error"]).toContain("flashEnvironment and flashBuild");
    }
  });
});
