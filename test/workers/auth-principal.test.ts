import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { describe, test } from "vitest";
import { generateCredential } from "../../src/auth/credential.ts";
import { hashKey } from "../../src/auth/digest.ts";
import { authenticateHost } from "../../src/auth/host-principal.ts";
import { authenticate, forgetApiKey } from "../../src/auth/principal.ts";
import { CREDENTIAL_REJECTION_CACHE_MS } from "../../src/auth/credential-cache.ts";
import { openDatabase } from "../../src/db/database.ts";
import { createHost } from "../../src/db/hosts.ts";
import { insertJoinTokenWithinQuota } from "../../src/db/credentials/join-tokens.ts";
import { account, apiKey, host } from "../../src/db/schema.ts";
import {
  FULL_PERMISSIONS,
  NO_PERMISSIONS,
  CREDENTIAL_CACHE_MS,
} from "../../src/domain/accounts/permissions.ts";
import { freshAccount } from "./accounts.ts";

const db = openDatabase(env.DB);
const NOW = Date.UTC(2026, 10, 1);

async function freshHost(accountId: string) {
  const token = generateCredential("host-token");
  const tokenHash = await hashKey(token);
  const host = await createHost(db, { accountId, name: "host", tokenHash, apiKeyId: null }, NOW);
  return { token, hostId: host?.id ?? "" };
}

describe("API keys", () => {
  test("a key opens its account in every form of the header", async ({ expect }) => {
    const { key, accountId } = await freshAccount();
    for (const header of [key, `Bearer ${key}`, `bearer ${key}`, `BEARER   ${key}`]) {
      expect(await authenticate(env, header, NOW)).toEqual({
        kind: "principal",
        accountId,
        apiKeyId: expect.any(String),
        name: "test",
        isRoot: false,
        permissions: FULL_PERMISSIONS,
        expiresAt: null,
      });
    }
  });

  test("a missing or wrong key is refused without repeating it", async ({ expect }) => {
    for (const header of [undefined, null, "", "Bearer ", "Bearer er_wrong", "er_wrong"]) {
      const outcome = await authenticate(env, header, NOW);
      expect(outcome).toEqual({ kind: "unauthorized", message: expect.stringContaining("API key") });
      expect(JSON.stringify(outcome)).not.toContain("er_wrong");
    }
  });

  test("a revoked key works until its cached answer ends, and never after", async ({ expect }) => {
    const { key, keyHash } = await freshAccount();
    expect((await authenticate(env, key, NOW)).kind).toBe("principal");
    await db.update(apiKey).set({ revokedAt: NOW }).where(eq(apiKey.hash, keyHash));

    expect((await authenticate(env, key, NOW + CREDENTIAL_CACHE_MS - 1)).kind).toBe("principal");
    expect((await authenticate(env, key, NOW + CREDENTIAL_CACHE_MS)).kind).toBe("unauthorized");
  });

  test("a key created after it was rejected works once the rejection has expired", async ({ expect }) => {
    const { accountId } = await freshAccount();
    const key = generateCredential("api-key");
    expect((await authenticate(env, key, NOW)).kind).toBe("unauthorized");
    await db.insert(apiKey).values({
      id: crypto.randomUUID(),
      accountId,
      hash: await hashKey(key),
      name: "late",
      isRoot: false,
      createdAt: NOW,
    });

    expect((await authenticate(env, key, NOW + CREDENTIAL_REJECTION_CACHE_MS - 1)).kind).toBe("unauthorized");
    expect((await authenticate(env, key, NOW + CREDENTIAL_REJECTION_CACHE_MS)).kind).toBe("principal");
  });

  test("a cached answer asks D1 nothing", async ({ expect }) => {
    const { key, accountId } = await freshAccount();
    await authenticate(env, key, NOW);
    const withoutDatabase = { ...env, DB: undefined as unknown as D1Database };
    expect(await authenticate(withoutDatabase, key, NOW + 1)).toMatchObject({ accountId });
  });

  test("the last use is recorded, about once an hour", async ({ expect }) => {
    const { key, keyHash } = await freshAccount();
    const lastUse = async () =>
      (await db.select().from(apiKey).where(eq(apiKey.hash, keyHash)).get())?.lastUsedAt;

    await authenticate(env, key, NOW);
    expect(await lastUse()).toBe(NOW);
    await authenticate(env, key, NOW + CREDENTIAL_CACHE_MS);
    expect(await lastUse()).toBe(NOW);
    await authenticate(env, key, NOW + 3_600_000);
    expect(await lastUse()).toBe(NOW + 3_600_000);
  });

  test("a cached key expires on time", async ({ expect }) => {
    const { key, keyHash } = await freshAccount();
    await db
      .update(apiKey)
      .set({ expiresAt: NOW + 5 })
      .where(eq(apiKey.hash, keyHash));
    expect((await authenticate(env, key, NOW)).kind).toBe("principal");
    expect((await authenticate(env, key, NOW + 4)).kind).toBe("principal");
    expect((await authenticate(env, key, NOW + 5)).kind).toBe("unauthorized");
    // And one that nothing is remembered of.
    const other = await freshAccount();
    await db.update(apiKey).set({ expiresAt: NOW }).where(eq(apiKey.hash, other.keyHash));
    expect((await authenticate(env, other.key, NOW)).kind).toBe("unauthorized");
  });

  test("a narrowed key has lost what it lost once its cached answer ends", async ({ expect }) => {
    const { key, keyHash } = await freshAccount();
    const held = async (now: number) => {
      const outcome = await authenticate(env, key, now);
      return outcome.kind === "principal" ? outcome.permissions : undefined;
    };
    expect(await held(NOW)).toEqual(FULL_PERMISSIONS);
    await db.update(apiKey).set({ permissions: NO_PERMISSIONS }).where(eq(apiKey.hash, keyHash));
    expect(await held(NOW + CREDENTIAL_CACHE_MS - 1)).toEqual(FULL_PERMISSIONS);
    expect(await held(NOW + CREDENTIAL_CACHE_MS)).toEqual(NO_PERMISSIONS);
  });

  test("a key that is forgotten is looked up again at once, and no other is", async ({ expect }) => {
    const [one, other] = [await freshAccount(), await freshAccount()];
    const first = await authenticate(env, one.key, NOW);
    await authenticate(env, other.key, NOW);
    forgetApiKey(first.kind === "principal" ? first.apiKeyId : "");

    const withoutDatabase = { ...env, DB: undefined as unknown as D1Database };
    await expect(authenticate(withoutDatabase, one.key, NOW)).rejects.toThrow();
    expect((await authenticate(withoutDatabase, other.key, NOW)).kind).toBe("principal");
  });
});

describe("the key of the environment", () => {
  test("it creates the default account on first use, even with concurrent requests", async ({ expect }) => {
    const first = await Promise.all(
      [1, 2, 3].map(async () => await authenticate(env, env.ROOT_API_KEY, NOW)),
    );
    for (const outcome of first) expect(outcome).toMatchObject({ kind: "principal", accountId: "default" });

    expect(await db.select().from(account).where(eq(account.id, "default"))).toHaveLength(1);
    expect(await db.select().from(apiKey).where(eq(apiKey.isRoot, true))).toHaveLength(1);
  });

  test("it is good only while it stands there", async ({ expect }) => {
    const old = { ...env, ROOT_API_KEY: "old root" };
    expect((await authenticate(old, "old root", NOW)).kind).toBe("principal");

    const later = NOW + CREDENTIAL_CACHE_MS;
    const renewed = { ...env, ROOT_API_KEY: "new root" };
    expect((await authenticate(renewed, "old root", later)).kind).toBe("unauthorized");
    expect(await authenticate(renewed, "new root", later)).toMatchObject({ accountId: "default" });
    const gone = { DB: env.DB };
    expect((await authenticate(gone, "new root", later + CREDENTIAL_CACHE_MS)).kind).toBe("unauthorized");
  });

  test("revoked, it stays revoked", async ({ expect }) => {
    const bindings = { ...env, ROOT_API_KEY: "root to revoke" };
    await authenticate(bindings, "root to revoke", NOW);
    const hash = await hashKey("root to revoke");
    await db.update(apiKey).set({ revokedAt: NOW }).where(eq(apiKey.hash, hash));

    const outcome = await authenticate(bindings, "root to revoke", NOW + CREDENTIAL_CACHE_MS);
    expect(outcome.kind).toBe("unauthorized");
  });

  test("an empty one opens nothing", async ({ expect }) => {
    expect((await authenticate({ ...env, ROOT_API_KEY: "" }, "", NOW)).kind).toBe("unauthorized");
  });
});

describe("host tokens", () => {
  test("a host token opens its host", async ({ expect }) => {
    const { accountId } = await freshAccount();
    const { token, hostId } = await freshHost(accountId);
    expect(await authenticateHost(env, `Bearer ${token}`, NOW)).toEqual({
      kind: "host",
      expiresAt: null,
      hostId,
      accountId,
      name: "host",
    });
  });

  test("a missing, wrong or revoked token is refused", async ({ expect }) => {
    const { accountId } = await freshAccount();
    const { token, hostId } = await freshHost(accountId);
    await db.update(host).set({ revokedAt: NOW }).where(eq(host.id, hostId));

    for (const header of [undefined, "", "Bearer erh_wrong", `Bearer ${token}`]) {
      const outcome = await authenticateHost(env, header, NOW);
      expect(outcome).toEqual({ kind: "unauthorized", message: expect.stringContaining("host token") });
    }
  });
});

test("no credential works in another kind's place", async ({ expect }) => {
  const { accountId, key } = await freshAccount();
  const { token } = await freshHost(accountId);
  const joinToken = generateCredential("join-token");
  const joinHash = await hashKey(joinToken);
  await insertJoinTokenWithinQuota(
    db,
    { accountId, apiKeyId: "", operation: "joinTokenCreate", now: NOW },
    { hash: joinHash, name: null, expiresAt: NOW + 1_000, apiKeyId: null },
  );

  // Even a key row with a host token's hash opens nothing: the prefix decides first.
  await db.insert(apiKey).values({
    id: crypto.randomUUID(),
    accountId,
    hash: await hashKey(token),
    name: "planted",
    isRoot: false,
    createdAt: NOW,
  });
  expect((await authenticate(env, token, NOW)).kind).toBe("unauthorized");
  expect((await authenticate(env, joinToken, NOW)).kind).toBe("unauthorized");
  expect((await authenticateHost(env, key, NOW)).kind).toBe("unauthorized");
  expect((await authenticateHost(env, joinToken, NOW)).kind).toBe("unauthorized");
});
