import { env } from "cloudflare:workers";
import { getIntrospectionQuery } from "graphql";
import { test } from "vitest";
import type { Env } from "../../src/env.ts";
import { freshAccount } from "./accounts.ts";
import { codeOf, post } from "./graphql-client.ts";
import { keyWith } from "./key-client.ts";
import { holding } from "./message-facts.ts";

const CATALOG = [
  "{ gpuTypes { id } }",
  "{ g0: gpuTypes { id } more: cpuFlavors { id } __typename }",
  "{ dataCenters { id } countryCodes serverlessGpuPools { id } }",
  "{ ...C } fragment C on Query { countryCodes }",
];
const LOGIN = [
  "mutation { createFlashAuthRequest { id } }",
  'query { flashAuthRequestStatus(flashAuthRequestId: "x") { status } }',
];
const CLOSED = [
  "{ myself { id } }",
  "{ countryCodes myself { id } }",
  "{ countryCodes: myself { id } }",
  "{ countryCodes ...A } fragment A on Query { apiKeys { id } }",
  "{ __typename }",
  "{ countryCodes __schema { types { name } } }",
  getIntrospectionQuery(),
  "{ not a document",
];

const closedCatalog: Env = { ...env, CATALOG_REQUIRES_KEY: "true" };

async function ask(query: string, path = "/", bindings: Env = env) {
  return await post(path, JSON.stringify({ query }), {}, bindings);
}

test("the catalog and the login are answered without a key, and nothing else is", async ({ expect }) => {
  for (const query of [...CATALOG, ...LOGIN]) expect((await ask(query)).status, query).not.toBe(401);
  for (const query of CLOSED) {
    const answer = await ask(query);
    expect([query, answer.status, codeOf(answer)]).toEqual([query, 401, "UNAUTHORIZED"]);
    expect(answer.errors[0].message).toMatch(holding("Authorization: Bearer"));
  }
});

test("without a key only a short document is parsed, even for public fields", async ({ expect }) => {
  const comment = (length: number) => `{ countryCodes } #${"x".repeat(length)}`;
  expect((await ask(comment(15_000))).status).toBe(200);
  const long = await ask(comment(16_400));
  expect([long.status, codeOf(long)]).toEqual([401, "UNAUTHORIZED"]);
  const unmeasured = new ReadableStream({
    type: "bytes",
    start(controller) {
      controller.enqueue(new TextEncoder().encode(JSON.stringify({ query: comment(20_000) })));
      controller.close();
    },
  });
  expect((await post("/", unmeasured)).status).toBe(401);
});

test("CATALOG_REQUIRES_KEY closes the catalog, but not the login", async ({ expect }) => {
  for (const query of CATALOG) expect((await ask(query, "/", closedCatalog)).status, query).toBe(401);
  for (const query of LOGIN) expect((await ask(query, "/", closedCatalog)).status, query).not.toBe(401);
});

test("a wrong key is refused for the catalog as well", async ({ expect }) => {
  for (const query of [...CATALOG, ...LOGIN]) {
    expect((await ask(query, "/?api_key=er_wrong")).status, query).toBe(401);
  }
});

test("any key sees the catalog, closed or not", async ({ expect }) => {
  const { accountId } = await freshAccount();
  const key = await keyWith(accountId, { graphql: "none", endpoints: "read" });
  for (const bindings of [env, closedCatalog]) {
    for (const query of CATALOG) {
      expect((await ask(query, `/?api_key=${key}`, bindings)).status, query).not.toBe(401);
    }
  }
});
