/** What load-balanced endpoints answer themselves, and which calls fit which kind of endpoint. */
import { env, exports } from "cloudflare:workers";
import { expect, test } from "vitest";
import { LOAD_BALANCED_BODY_MAX_BYTES } from "../../src/contract/limits.ts";
import { openDatabase } from "../../src/db/database.ts";
import { findEndpoint } from "../../src/db/endpoints.ts";
import { NEEDED_ACCESS } from "./needed-access.ts";
import { EdgeClient } from "./edge-client.ts";
import { keyWith } from "./key-client.ts";
import {
  LOAD_BALANCED_HEADERS_MAX,
  LOAD_BALANCED_TARGET_MAX_CHARACTERS,
} from "../../src/link/link-messages.ts";

const api = new EdgeClient();
const { call, createEndpoint } = api;

const LB = 'type: "LB", scalerType: "REQUEST_COUNT", scalerValue: 1, workersMin: 0, workersMax: 1';

async function ask(
  address: string,
  init: Omit<RequestInit, "headers"> & { headers?: Record<string, string> } = {},
): Promise<{ status: number; body: unknown }> {
  const headers = { Authorization: `Bearer ${api.key}`, ...init.headers };
  const response = await exports.default.fetch(address, { ...init, headers });
  return { status: response.status, body: await response.json() };
}

async function ownEndpoint(endpointId: string): Promise<{ accountId?: string }> {
  return (await findEndpoint(openDatabase(env.DB), endpointId)) ?? {};
}

test("an unknown endpoint is not found, by its path and by its host", async () => {
  for (const address of [
    "http://edge/lb/nobody",
    "http://edge/lb/nobody/",
    "http://nobody.lb.localhost/v2/x/run",
  ]) {
    expect(await ask(address)).toMatchObject({
      status: 404,
      body: { status: 404, code: "endpoint_not_found" },
    });
  }
});

test("a missing or wrong key gets the error format of load-balanced endpoints", async () => {
  for (const authorization of ["", "Bearer wrong"]) {
    const { status, body } = await ask("http://abc.localhost/", {
      headers: { Authorization: authorization },
    });
    expect(status).toBe(401);
    expect(body).toMatchObject({ status: 401, title: "Unauthorized", code: "unauthorized" });
    expect(body).toMatchObject({ detail: expect.any(String), error: expect.any(String) });
  }
});

test("a key that may only read an endpoint reaches none of its workers", async () => {
  const endpointId = await createEndpoint(LB);
  const { accountId = "" } = await ownEndpoint(endpointId);
  const key = await keyWith(accountId, { graphql: "none", endpoints: { [endpointId]: "read" } });
  const headers = { Authorization: `Bearer ${key}` };
  expect(await ask(`http://edge/lb/${endpointId}/`, { headers })).toMatchObject({
    status: 401,
    body: { code: "insufficient_permission", status: 401 },
  });
  expect((await call("GET", `/v2/${endpointId}/health`, undefined, headers)).status).toBe(200);
});

test("an endpoint with a queue is not reached as a load-balanced one", async () => {
  const endpointId = await createEndpoint();
  expect(await ask(`http://edge/lb/${endpointId}/run`, { method: "POST", body: "{}" })).toMatchObject({
    status: 400,
    body: { code: "wrong_endpoint_type", status: 400 },
  });
});

const FOR_BOTH = [
  "GET health",
  "GET metrics",
  "GET metrics/requests",
  "GET metrics/workers",
  "GET logs",
  "POST trial",
  "DELETE trial",
];

test("a load-balanced endpoint has the operations that need no queue, and rejects each of the others", async () => {
  const endpointId = await createEndpoint(LB);
  const outcomes: Record<string, string> = {};
  // OpenAI's routes are those of both kinds.
  const operations = Object.keys(NEEDED_ACCESS).filter((operation) => !operation.includes("openai/"));
  for (const operation of operations) {
    const [method = "", path = ""] = operation.split(" ");
    const content = method === "GET" ? undefined : {};
    const { status, body } = await call(
      method,
      `/v2/${endpointId}/${path.replaceAll(/:\w+/g, "x")}`,
      content,
    );
    outcomes[operation] = status === 200 ? "200" : `${status} ${String(body["code"])}`;
  }
  const expected = operations.map((operation) => [
    operation,
    FOR_BOTH.includes(operation) ? "200" : "400 wrong_endpoint_type",
  ]);
  expect(outcomes).toEqual(Object.fromEntries(expected));
});

test("a body announced as too long is rejected before it is sent", async () => {
  const endpointId = await createEndpoint(LB);
  const body = new Uint8Array(LOAD_BALANCED_BODY_MAX_BYTES + 1);
  expect(await ask(`http://edge/lb/${endpointId}/`, { method: "POST", body })).toMatchObject({
    status: 413,
    body: { code: "payload_too_large", status: 413 },
  });
});

test("a request for a worker that does not exist names the header", async () => {
  const endpointId = await createEndpoint(LB);
  const headers = { "X-Runpod-Worker-Id": "strict" };
  expect(await ask(`http://edge/lb/${endpointId}/`, { headers })).toMatchObject({
    status: 400,
    body: { code: "invalid_input", detail: expect.stringContaining("X-Runpod-Worker-Id") },
  });
});

test("a head that no host would accept is rejected, and the error names what is too large", async () => {
  const endpointId = await createEndpoint(LB);
  const target = `/${"x".repeat(LOAD_BALANCED_TARGET_MAX_CHARACTERS)}`;
  expect(await ask(`http://edge/lb/${endpointId}${target}`)).toMatchObject({
    status: 400,
    body: { code: "invalid_input", detail: expect.stringContaining("Path and query") },
  });
  const names = Array.from({ length: LOAD_BALANCED_HEADERS_MAX }, (_, index) => [`x-${index}`, "1"]);
  expect(await ask(`http://edge/lb/${endpointId}/`, { headers: Object.fromEntries(names) })).toMatchObject({
    status: 400,
    body: { code: "invalid_input", detail: expect.stringContaining("headers") },
  });
});
