/** Changing the key of an installation, step by step, on rows of all kinds. */
import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { beforeEach, test } from "vitest";
import { open } from "../../src/auth/envelope.ts";
import { readEncryptionKeys } from "../../src/auth/encryption-keys.ts";
import { openDatabase } from "../../src/db/database.ts";
import { registryAuth, secret, webhookSecret } from "../../src/db/schema.ts";
import type { Env } from "../../src/env.ts";
import { resealOlder } from "../../src/management/secrets/reseal.ts";
import { ensureWebhookSecrets } from "../../src/management/secrets/webhook-secrets.ts";
import { ROOT_API_KEY } from "./edge-client.ts";
import { freshClient, post, type Client } from "./graphql-client.ts";

const db = openDatabase(env.DB);
const NOW = 1_000;
const key = (id: string, byte: number) => `${id}:${btoa(String.fromCharCode(byte).repeat(32))}`;
const OLD = { ...env, ENCRYPTION_KEYS: key("old", 1) };
const BOTH = { ...env, ENCRYPTION_KEYS: `${key("new", 2)},${key("old", 1)}` };
const NEW = { ...env, ENCRYPTION_KEYS: key("new", 2) };

beforeEach(async () => {
  await db.batch([db.delete(secret), db.delete(registryAuth), db.delete(webhookSecret)]);
});

async function createSecret(client: Client, name: string, value: string): Promise<string> {
  const { data, errors } = await client.send(
    `mutation { secretCreate(input: { name: "${name}", value: "${value}" }) { id } }`,
  );
  if (errors) throw new Error(JSON.stringify(errors));
  return data.secretCreate.id;
}

async function opened(bindings: { ENCRYPTION_KEYS: string }, id: string): Promise<unknown> {
  const row = await db.select().from(secret).where(eq(secret.id, id)).get();
  if (!row) return undefined;
  const place = { accountId: row.accountId, kind: "secret" as const, rowId: id };
  return await open(readEncryptionKeys(bindings), place, row.sealedValue);
}

async function encryptionOf(bindings: Env): Promise<unknown> {
  const query = "{ myself { encryption { keyId sealedUnderOlderKeys } } }";
  const { data } = await post(`/?api_key=${ROOT_API_KEY}`, JSON.stringify({ query }), {}, bindings);
  return data.myself.encryption;
}

test("a key is changed without a pause, and the old one may go when nothing is sealed under it", async ({
  expect,
}) => {
  const before = await freshClient(OLD);
  const { accountId } = before;
  const first = await createSecret(before, "FIRST", "one");
  await before.send(
    'mutation { saveRegistryAuth(input: { name: "a", username: "b", password: "c" }) { id } }',
  );
  const signing = await ensureWebhookSecrets(OLD, accountId, NOW);
  expect(await encryptionOf(OLD)).toEqual({ keyId: "old", sealedUnderOlderKeys: 0 });
  const ofAnAccount = await before.send("{ myself { encryption { keyId sealedUnderOlderKeys } } }");
  expect(ofAnAccount.body).toEqual({ data: { myself: { encryption: null } } });

  const during = await freshClient(BOTH);
  const second = await createSecret(during, "SECOND", "two");
  expect(await opened(BOTH, first)).toEqual({ kind: "opened", plaintext: "one" });
  expect(await opened(NEW, second)).toEqual({ kind: "opened", plaintext: "two" });
  expect(await encryptionOf(BOTH)).toEqual({ keyId: "new", sealedUnderOlderKeys: 3 });

  expect(await resealOlder(BOTH, 100)).toEqual({ resealed: 3, unopenable: 0, mayBeMore: false });
  expect(await encryptionOf(BOTH)).toEqual({ keyId: "new", sealedUnderOlderKeys: 0 });
  expect(await resealOlder(BOTH, 100)).toEqual({ resealed: 0, unopenable: 0, mayBeMore: false });
  expect(await opened(NEW, first)).toEqual({ kind: "opened", plaintext: "one" });
  expect(await ensureWebhookSecrets(NEW, accountId, NOW)).toEqual(signing);
  expect(await opened(OLD, first)).toEqual({ kind: "key_missing", keyId: "new" });
});

test("a batch is bounded, and batches come to an end", async ({ expect }) => {
  const client = await freshClient(OLD);
  for (const name of ["A", "B", "C", "D", "E"]) await createSecret(client, name, "x");
  expect(await resealOlder(BOTH, 2)).toEqual({ resealed: 2, unopenable: 0, mayBeMore: true });
  expect(await resealOlder(BOTH, 2)).toEqual({ resealed: 2, unopenable: 0, mayBeMore: true });
  expect(await resealOlder(BOTH, 2)).toEqual({ resealed: 1, unopenable: 0, mayBeMore: false });
});

test("two runs at once and a change in between leave the newest value", async ({ expect }) => {
  const client = await freshClient(OLD);
  const ids = await Promise.all(
    Array.from({ length: 10 }, async (_, index) => await createSecret(client, `S${index}`, `${index}`)),
  );
  const update = `mutation { secretValueUpdate(input: { id: "${ids[3]}", value: "changed" }) { id } }`;
  await Promise.all([resealOlder(BOTH, 100), client.send(update), resealOlder(BOTH, 100)]);
  await resealOlder(BOTH, 100); // the change may have been sealed under the old key, last
  for (const [index, id] of ids.entries()) {
    const text = index === 3 ? "changed" : `${index}`;
    expect(await opened(NEW, id)).toEqual({ kind: "opened", plaintext: text });
  }
});

test("what does not open stays as it is and holds up nothing else", async ({ expect }) => {
  const client = await freshClient(OLD);
  const ids = [await createSecret(client, "A", "a"), await createSecret(client, "B", "b")];
  const [damaged = "", whole = ""] = ids;
  await db.update(secret).set({ sealedValue: "v1:old:AAAA:AAAA" }).where(eq(secret.id, damaged));
  await db.insert(registryAuth).values({
    id: "lost",
    accountId: client.accountId,
    name: "lost",
    sealedCredentials: "v1:lost:AAAA:AAAA",
    createdAt: 1,
    updatedAt: 1,
  });
  expect(await resealOlder(BOTH, 100)).toEqual({ resealed: 1, unopenable: 1, mayBeMore: false });
  expect(await opened(NEW, whole)).toEqual({ kind: "opened", plaintext: "b" });
  expect(await encryptionOf(BOTH)).toEqual({ keyId: "new", sealedUnderOlderKeys: 2 });
});

test("a webhook secret of the time before there was a key is sealed, and stays the same", async ({
  expect,
}) => {
  const { accountId } = await freshClient();
  const bare = { ...env, ENCRYPTION_KEYS: "" };
  const signing = await ensureWebhookSecrets(bare, accountId, NOW);
  const stored = async () =>
    await db.select().from(webhookSecret).where(eq(webhookSecret.accountId, accountId)).get();
  expect((await stored())?.secret).toBe(`plain:${signing[0]?.secret}`);
  expect(await resealOlder(bare, 100)).toEqual({ resealed: 0, unopenable: 0, mayBeMore: false });

  expect(await ensureWebhookSecrets(NEW, accountId, NOW)).toEqual(signing);
  expect(await resealOlder(NEW, 100)).toMatchObject({ resealed: 1 });
  expect((await stored())?.secret).toMatch(/^v1:new:/);
  expect(await ensureWebhookSecrets(NEW, accountId, NOW)).toEqual(signing);
});

test("a webhook secret whose key is missing is reported, and rotating creates a new one", async ({
  expect,
}) => {
  const client = await freshClient(NEW);
  await ensureWebhookSecrets(OLD, client.accountId, NOW);
  const { errors } = await client.send("{ myself { webhookSecret { secret } } }");
  expect(errors[0]).toMatchObject({ extensions: { code: "NOT_CONFIGURED" } });
  const { data } = await client.send("mutation { webhookSecretRotate { secret } }");
  expect(data.webhookSecretRotate.secret).toMatch(/^whsec_/);
});
