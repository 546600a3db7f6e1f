/** Keys that stand in answers: to whom they are shown. */
import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { test } from "vitest";
import { hashKey } from "../../src/auth/digest.ts";
import { openDatabase } from "../../src/db/database.ts";
import { apiKey } from "../../src/db/schema.ts";
import { freshClient, post, savedEndpoint } from "./graphql-client.ts";
import { keyWith } from "./key-client.ts";

const send = async (key: string, query: string) =>
  (await post(`/?api_key=${key}`, JSON.stringify({ query }))).body;

test("the secret that signs webhooks is shown to keys that may write, and to no others", async ({
  expect,
}) => {
  const { accountId } = await freshClient();
  const query = "{ myself { webhookSecret { secret } } }";
  const reader = await keyWith(accountId, { graphql: "read", endpoints: "write" });
  expect(await send(reader, query)).toEqual({ data: { myself: { webhookSecret: null } } });
  const writer = await keyWith(accountId, { graphql: "write", endpoints: "none" });
  expect((await send(writer, query)).data.myself.webhookSecret.secret).toMatch(/^whsec_/);
});

test("the endless key of an endpoint is not shown to a key that ends", async ({ expect }) => {
  const client = await freshClient();
  const { id } = await savedEndpoint(client);
  const query = `{ myself { endpoint(id: "${id}") { aiKey } } }`;
  const endless = await keyWith(client.accountId, { graphql: "read", endpoints: "write" });
  expect((await send(endless, query)).data.myself.endpoint.aiKey).toMatch(/^era_/);

  const ending = await keyWith(client.accountId, { graphql: "write", endpoints: "write" });
  const expiresAt = Date.now() + 3_600_000;
  const isEnding = eq(apiKey.hash, await hashKey(ending));
  await openDatabase(env.DB).update(apiKey).set({ expiresAt }).where(isEnding);
  expect(await send(ending, query)).toEqual({ data: { myself: { endpoint: { aiKey: null } } } });
});
