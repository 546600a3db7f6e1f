import { env, exports } from "cloudflare:workers";
import { beforeAll, describe, test } from "vitest";
import { endpointKey } from "../../src/auth/derived-keys.ts";
import type { OpenaiErrorBody } from "../../src/contract/openai.ts";
import type { Access } from "../../src/domain/accounts/permissions.ts";
import { NEEDED_ACCESS } from "./needed-access.ts";
import { queueRoutes } from "../../src/gateway/queue/routes.ts";
import { codeOf, freshClient, post, savedEndpoint, type Client } from "./graphql-client.ts";
import { keyWith } from "./key-client.ts";
import { holding } from "./message-facts.ts";

const WORKER_LOGS = "/serverless/:endpointId/workers/:workerId/logs";

let client: Client;
let endpointId: string;

beforeAll(async () => {
  client = await freshClient();
  // Without workers nobody waits for one.
  endpointId = (await savedEndpoint(client, ", workersMax: 0")).id;
});

/** Calls an operation as the table names it, with ids that exist nowhere. */
async function call(operation: string, key: string, query = "", endpoint = endpointId) {
  const [method = "", path = ""] = operation.split(" ");
  const filled = path.replaceAll(/:\w+/g, "unknown");
  const response = await exports.default.fetch(`http://edge/v2/${endpoint}/${filled}${query}`, {
    method,
    headers: { Authorization: `Bearer ${key}` },
    ...(method !== "GET" && { body: "{}" }),
  });
  const body = await response.json<{ code?: string; error?: string | OpenaiErrorBody["error"] }>();
  const { error = "" } = body;
  if (typeof error === "object") return { status: response.status, code: error.code, error: error.message };
  return { status: response.status, code: body.code, error };
}

const limitedTo = (access: Access) =>
  keyWith(client.accountId, { graphql: "none", endpoints: { [endpointId]: access } });

test("every route of the queue API stands in the table of needed access, and the reverse", ({ expect }) => {
  const isMiddleware = (path: string) => path.endsWith("/*");
  const routes = queueRoutes().routes.filter(({ path }) => !isMiddleware(path));
  const operations = new Set(
    routes.map(({ method, path }) => `${method} ${path.replace(/^\/:endpointId\//, "")}`),
  );
  expect([...operations].toSorted()).toEqual(Object.keys(NEEDED_ACCESS).toSorted());
});

test("logs of a worker need read, at the address where other clients look for them", async ({ expect }) => {
  const address = `http://edge/v2${WORKER_LOGS.replace(":endpointId", endpointId).replace(":workerId", "w")}`;
  const statusFor = async (access: Access) => {
    const headers = { Authorization: `Bearer ${await limitedTo(access)}` };
    const response = await exports.default.fetch(address, { headers });
    await response.body?.cancel();
    return response.status;
  };
  expect(await statusFor("none")).toBe(403);
  expect(await statusFor("read"), "allowed, and there is no worker w").toBe(404);
});

describe.each(Object.entries(NEEDED_ACCESS))("%s", (operation, needed) => {
  test(`needs ${needed}`, async ({ expect }) => {
    const [none, read, write] = await Promise.all((["none", "read", "write"] as const).map(limitedTo));
    for (const [key, held] of [
      [none, "none"],
      [read, "read"],
      [write, "write"],
    ] as const) {
      const answer = await call(operation, key ?? "");
      const isAllowed = held === "write" || held === needed;
      expect(answer.code === "insufficient_permission", `${held}: ${JSON.stringify(answer)}`).toBe(
        !isAllowed,
      );
      expect(answer.status === 401).toBe(!isAllowed);
      expect(answer.status).not.toBe(403);
    }
  });
});

test("a status that sets the ttl needs write, one that does not is read", async ({ expect }) => {
  const read = await limitedTo("read");
  expect((await call("GET status/:jobId", read, "?ttl=60000")).code).toBe("insufficient_permission");
  expect((await call("GET status/:jobId", read)).code).toBe("job_not_found");
  expect((await call("GET status/:jobId", await limitedTo("write"), "?ttl=60000")).code).toBe(
    "job_not_found",
  );
});

test("the error names the key, the endpoint and what is missing", async ({ expect }) => {
  expect((await call("POST run", await limitedTo("read"))).error).toMatch(
    holding("'limited'", endpointId, "write"),
  );
  const { id: other } = await savedEndpoint(client);
  expect(await call("GET health", await limitedTo("write"), "", other)).toEqual({
    status: 401,
    code: "insufficient_permission",
    error: expect.stringMatching(holding("'limited'", other, "read")),
  });
});

test("an endpoint of another account looks unknown, whatever the key may do in its own", async ({
  expect,
}) => {
  const { id: foreign } = await savedEndpoint(await freshClient());
  const key = await keyWith(client.accountId, { graphql: "none", endpoints: "none" });
  for (const holder of [client.key, key]) {
    expect(await call("GET health", holder, "", foreign)).toMatchObject({
      status: 404,
      code: "endpoint_not_found",
    });
  }
});

test("access to all endpoints holds for those made later", async ({ expect }) => {
  const key = await keyWith(client.accountId, { graphql: "none", endpoints: "read" });
  const { id } = await savedEndpoint(client);
  expect((await call("GET health", key, "", id)).status).toBe(200);
  expect((await call("POST run", key, "", id)).code).toBe("insufficient_permission");
});

describe("the key of an endpoint", () => {
  const shownKey = async (shownTo: Client, id = endpointId): Promise<string | null> =>
    (await shownTo.send(`{ myself { endpoint(id: "${id}") { aiKey } } }`)).data.myself.endpoint.aiKey;

  test("opens its endpoint for reading and writing, and no other", async ({ expect }) => {
    const key = (await shownKey(client)) ?? "";
    expect(key).toMatch(/^era_[0-9a-f]{64}$/);
    expect((await call("GET health", key)).status).toBe(200);
    expect((await call("POST purge-queue", key)).status).toBe(200);

    const { id: other } = await savedEndpoint(client);
    const refused = await call("GET health", key, "", other);
    expect([refused.status, refused.code]).toEqual([401, "unauthorized"]);
    expect(refused.error).toContain(other);
    expect(await shownKey(client, other)).not.toBe(key);
  });

  test("one digit off it opens nothing", async ({ expect }) => {
    const key = (await shownKey(client)) ?? "";
    const changed = key.slice(0, -1) + (key.endsWith("0") ? "1" : "0");
    for (const wrong of [changed, `${key}0`, key.slice(0, -1), "era_"]) {
      expect((await call("GET health", wrong)).code).toBe("unauthorized");
    }
  });

  test("is shown only to keys with write access to the endpoint", async ({ expect }) => {
    const shown = async (endpoints: Access | Record<string, Access>) => {
      const key = await keyWith(client.accountId, { graphql: "read", endpoints });
      const query = `{ myself { endpoint(id: "${endpointId}") { aiKey } } }`;
      return (await post(`/?api_key=${key}`, JSON.stringify({ query }))).data.myself.endpoint.aiKey;
    };
    expect(await shown("write")).toBe(await shownKey(client));
    expect(await shown({ [endpointId]: "write" })).toBe(await shownKey(client));
    expect(await shown({ [endpointId]: "read" })).toBeNull();
    expect(await shown("read")).toBeNull();
    expect(await shown({})).toBeNull();
  });

  test("opens no management API, and the error says what it is", async ({ expect }) => {
    const key = await shownKey(client);
    const answer = await post("/", '{"query":"{ myself { id } }"}', { authorization: `Bearer ${key}` });
    expect([answer.status, codeOf(answer)]).toEqual([401, "UNAUTHORIZED"]);
    expect(answer.errors[0].message).toContain("the key of a single endpoint");
  });

  test("ends with its endpoint", async ({ expect }) => {
    const { id } = await savedEndpoint(client, ", workersMax: 0");
    const key = (await shownKey(client, id)) ?? "";
    await client.send(`mutation { deleteEndpoint(id: "${id}") }`);
    const answer = await call("GET health", key, "", id);
    expect([answer.status, answer.code]).toEqual([401, "unauthorized"]);
  });

  test("each rotated key verifies its own tokens, the newest creates them, and without keys there are none", async ({
    expect,
  }) => {
    const [older, newer] = [
      env.ENCRYPTION_KEYS,
      `newer:${btoa(String.fromCharCode(...new Uint8Array(32).fill(9)))}`,
    ];
    const rotated = { ...env, ENCRYPTION_KEYS: `${newer},${older}` };
    const old = (await endpointKey({ ENCRYPTION_KEYS: older }, endpointId)) ?? "";
    const fresh = (await endpointKey(rotated, endpointId)) ?? "";
    expect(fresh).not.toBe(old);

    const open = async (bindings: object, key: string) => {
      const headers = { Authorization: `Bearer ${key}` };
      const url = `/${endpointId}/health`;
      const routes = queueRoutes().onError((error) => new Response(error.message, { status: 401 }));
      return (await routes.request(url, { headers }, bindings)).status;
    };
    expect([await open(rotated, old), await open(rotated, fresh)]).toEqual([200, 200]);
    expect([await open(env, old), await open(env, fresh)]).toEqual([200, 401]);
    const { ENCRYPTION_KEYS: _, ...ringless } = env;
    expect(await open(ringless, fresh)).toBe(401);
    expect(await endpointKey({}, endpointId)).toBeUndefined();
  });
});
