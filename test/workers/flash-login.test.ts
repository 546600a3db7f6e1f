/** Login in the browser: a client asks, a user with a key approves, the client fetches a key of its own, once. */
import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { afterEach, beforeEach, describe, test, vi } from "vitest";
import { FLASH_AUTH_TTL_MS, FLASH_AUTH_RETENTION_MS } from "../../src/auth/login-request.ts";
import { openDatabase } from "../../src/db/database.ts";
import { removeOldAuthRequests } from "../../src/db/flash/auth-requests.ts";
import { apiKey, flashAuthRequest } from "../../src/db/schema.ts";
import type { Env } from "../../src/env.ts";
import { codeOf, freshClient, post, type Answer, type Client } from "./graphql-client.ts";
import { keyWith } from "./key-client.ts";
import { passTime } from "./object.ts";
import { issueAt } from "./message-facts.ts";

const db = openDatabase(env.DB);
let user: Client;

beforeEach(async () => {
  user = await freshClient();
});
afterEach(() => void vi.useRealTimers());

/** Asks without a key, as a client that wants one. */
const ask = async (query: string, bindings: Env = env) =>
  await post("/", JSON.stringify({ query }), { "user-agent": "flash/1.0 on laptop" }, bindings);

async function opened(): Promise<{
  readonly id: string;
  readonly status: string;
  readonly expiresAt: string;
}> {
  return (await ask("mutation { createFlashAuthRequest { id status expiresAt client apiKey } }")).data
    .createFlashAuthRequest;
}

const look = async (id: string, fields = "status") =>
  (await ask(`{ flashAuthRequestStatus(flashAuthRequestId: "${id}") { ${fields} } }`)).data
    ?.flashAuthRequestStatus;

const decide = (id: string, isApproved: boolean) =>
  `mutation { approveFlashAuthRequest(input: { flashAuthRequestId: "${id}", isApproved: ${isApproved} }) { id status apiKey } }`;

const withKey = (key: string, query: string): Promise<Answer> =>
  post(`/?api_key=${key}`, JSON.stringify({ query }));

describe("a login", () => {
  test("gives back the challenge of its client, and names the key as the client has asked", async ({
    expect,
  }) => {
    const codeChallenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
    const open = (challenge: string) =>
      ask(`mutation { createFlashAuthRequest(codeChallenge: "${challenge}", codeChallengeMethod: "S256",
        apiKeyName: "tools") { id codeChallenge codeChallengeMethod } }`);
    const { id, ...shown } = (await open(codeChallenge)).data.createFlashAuthRequest;
    const challenged = { codeChallenge, codeChallengeMethod: "S256" };
    expect(shown).toEqual(challenged);
    await withKey(user.key, decide(id, true));
    const state = await look(id, "status client codeChallenge codeChallengeMethod");
    expect(state).toEqual({ status: "APPROVED", client: "flash/1.0 on laptop", ...challenged });
    expect((await user.send("{ myself { apiKeys { name } } }")).data.myself.apiKeys).toContainEqual({
      name: "tools",
    });
    expect(codeOf(await open("short"))).toBe("INVALID_INPUT");
  });

  test("begins pending, names its client and expiry, and cannot be guessed", async ({ expect }) => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const first = await opened();
    expect(first).toEqual({
      id: expect.stringMatching(/^[A-Z2-7]{32}\./),
      status: "PENDING",
      expiresAt: new Date(Date.now() + FLASH_AUTH_TTL_MS).toISOString(),
      client: "flash/1.0 on laptop",
      apiKey: null,
    });
    const second = await opened();
    expect(second.id.slice(0, 8)).not.toBe(first.id.slice(0, 8));
    expect(await look(first.id, "id status client apiKey")).toEqual({
      id: first.id,
      status: "PENDING",
      client: "flash/1.0 on laptop",
      apiKey: null,
    });
  });

  test("that is approved brings one key, once, which opens what the approver's opens", async ({ expect }) => {
    const { id } = await opened();
    const { data } = await user.send(decide(id, true));
    expect(data.approveFlashAuthRequest).toEqual({ id, status: "APPROVED", apiKey: null });
    const fetched = await look(id, "status apiKey");
    expect(fetched).toEqual({ status: "APPROVED", apiKey: expect.stringMatching(/^er_[0-9a-f]{72}$/) });
    expect(await look(id, "status apiKey")).toEqual({ status: "CONSUMED", apiKey: null });

    const me = await withKey(fetched.apiKey, "{ myself { id apiKeys { name level isCurrent expiresAt } } }");
    expect(me.data.myself.id).toBe(user.accountId);
    const today = new Date().toISOString().slice(0, 10);
    expect(me.data.myself.apiKeys).toContainEqual({
      name: `flash login ${today}`,
      level: "ALL",
      isCurrent: true,
      expiresAt: null,
    });
  });

  test("gives its key to one of many that ask at once", async ({ expect }) => {
    const { id } = await opened();
    await user.send(decide(id, true));
    const answers = await Promise.all(Array.from({ length: 5 }, () => look(id, "apiKey")));
    expect(answers.filter(({ apiKey: key }) => key !== null)).toHaveLength(1);
  });

  test("can be read without using up its key", async ({ expect }) => {
    const { id } = await opened();
    await user.send(decide(id, true));
    expect(await look(id)).toEqual({ status: "APPROVED" });
    expect(await look(id)).toEqual({ status: "APPROVED" });
    expect((await look(id, "apiKey")).apiKey).toMatch(/^er_/);
  });

  test("that is denied brings none", async ({ expect }) => {
    const { id } = await opened();
    expect((await user.send(decide(id, false))).data.approveFlashAuthRequest.status).toBe("DENIED");
    expect(await look(id, "status apiKey")).toEqual({ status: "DENIED", apiKey: null });
    expect((await user.send("{ myself { apiKeys { name } } }")).data.myself.apiKeys).toHaveLength(1);
  });

  test("is decided once by concurrent decisions", async ({ expect }) => {
    const { id } = await opened();
    const other = await freshClient();
    const answers = await Promise.all([user, other, user].map((one) => one.send(decide(id, true))));
    expect(answers.filter(({ errors }) => errors === undefined)).toHaveLength(1);
    const refused = answers.filter(({ errors }) => errors !== undefined);
    for (const answer of refused) expect(codeOf(answer)).toBe("INVALID_INPUT");
    const made = await db
      .select()
      .from(apiKey)
      .where(eq(apiKey.name, `flash login ${today()}`));
    const mine = made.filter(({ accountId }) => [user.accountId, other.accountId].includes(accountId));
    expect(mine).toHaveLength(1);
    expect((await user.send(decide(id, false))).errors[0].message).toMatch(issueAt("flashAuthRequestId"));
  });

  test("expires, whether it was approved or not", async ({ expect }) => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const [waiting, approved] = [await opened(), await opened()];
    await user.send(decide(approved.id, true));
    passTime(FLASH_AUTH_TTL_MS - 1);
    expect(await look(waiting.id)).toEqual({ status: "PENDING" });
    passTime(1);
    for (const { id } of [waiting, approved]) {
      expect(await look(id, "status apiKey")).toEqual({ status: "EXPIRED", apiKey: null });
      expect(codeOf(await user.send(decide(id, true)))).toBe("INVALID_INPUT");
    }
  });

  test("is forgotten some time after it expired, and not before", async ({ expect }) => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const { id } = await opened();
    passTime(FLASH_AUTH_TTL_MS + FLASH_AUTH_RETENTION_MS);
    await removeOldAuthRequests(db, Date.now() - FLASH_AUTH_RETENTION_MS, 100);
    expect(await look(id)).toEqual({ status: "EXPIRED" });
    passTime(1);
    await removeOldAuthRequests(db, Date.now() - FLASH_AUTH_RETENTION_MS, 100);
    const answer = await ask(`{ flashAuthRequestStatus(flashAuthRequestId: "${id}") { status } }`);
    expect(answer.errors[0].message).toMatch(issueAt("flashAuthRequestId"));
  });

  test("is kept nowhere until it is decided, so that no flood of them keeps a user out", async ({
    expect,
  }) => {
    const aliases = Array.from({ length: 24 }, (_, index) => `a${index}: createFlashAuthRequest { id }`);
    for (let document = 0; document < 42; document += 1) await ask(`mutation { ${aliases.join(" ")} }`);
    expect(await db.$count(flashAuthRequest, eq(flashAuthRequest.status, "PENDING"))).toBe(0);
    const { id } = await opened();
    await user.send(decide(id, true));
    expect((await look(id, "apiKey")).apiKey).toMatch(/^er_/);
  });

  test("is one that this edge has opened, with nothing of it changed", async ({ expect }) => {
    const { id } = await opened();
    const [random = "", expiresAt = "", client = "", signature = ""] = id.split(".");
    const forged = [
      [random.replace(/^./, (first) => (first === "A" ? "B" : "A")), expiresAt, client, signature],
      [random, `${Number(expiresAt) + 1}`, client, signature],
      [random, expiresAt, `${client}21`, signature],
      [random, expiresAt, client, signature.replace(/.$/, (last) => (last === "0" ? "1" : "0"))],
    ];
    for (const parts of forged) {
      const answer = await ask(
        `{ flashAuthRequestStatus(flashAuthRequestId: "${parts.join(".")}") { status } }`,
      );
      expect(codeOf(answer)).toBe("INVALID_INPUT");
      expect(codeOf(await user.send(decide(parts.join("."), true)))).toBe("INVALID_INPUT");
    }
    expect(await look(id)).toEqual({ status: "PENDING" });
  });

  test("is not opened where no user could approve it", async ({ expect }) => {
    const query = "mutation { createFlashAuthRequest { id } }";
    expect(codeOf(await ask(query, { ...env, ENCRYPTION_KEYS: "" }))).toBe("NOT_CONFIGURED");
  });
});

describe("an approval", () => {
  test("needs a key that may change something, and gives no more than it holds", async ({ expect }) => {
    const { id } = await opened();
    const keyless = await ask(decide(id, true));
    expect([keyless.status, codeOf(keyless)]).toEqual([401, "UNAUTHORIZED"]);
    const reader = await keyWith(user.accountId, { graphql: "read", endpoints: "read" });
    expect(codeOf(await withKey(reader, decide(id, true)))).toBe("INSUFFICIENT_PERMISSION");
    expect(await look(id)).toEqual({ status: "PENDING" });

    const narrow = await keyWith(user.accountId, { graphql: "write", endpoints: "none" });
    await withKey(narrow, decide(id, true));
    const { apiKey: key } = await look(id, "apiKey");
    const own = "{ myself { apiKeys { isCurrent permissions { graphql allEndpoints } } } }";
    const current = (await withKey(key, own)).data.myself.apiKeys.find(
      ({ isCurrent }: { isCurrent: boolean }) => isCurrent,
    );
    expect(current.permissions).toEqual({ graphql: "WRITE", allEndpoints: "NONE" });
  });

  test("by a key that ends gives one that ends with it", async ({ expect }) => {
    const expiresAt = Date.now() + 3_600_000;
    await db.update(apiKey).set({ expiresAt }).where(eq(apiKey.hash, user.keyHash));
    const { id } = await opened();
    await user.send(decide(id, true));
    const { apiKey: key } = await look(id, "apiKey");
    const keys = (await withKey(key, "{ myself { apiKeys { expiresAt } } }")).data.myself.apiKeys;
    expect(keys[0].expiresAt).toBe(new Date(expiresAt).toISOString());
  });

  test("by a key that was revoked a moment ago does nothing", async ({ expect }) => {
    const { id } = await opened();
    await user.send("{ myself { id } }"); // remembered here
    await db.update(apiKey).set({ revokedAt: Date.now() }).where(eq(apiKey.hash, user.keyHash));
    expect(codeOf(await user.send(decide(id, true)))).toBe("UNAUTHORIZED");
    expect(codeOf(await user.send(decide(id, false)))).toBe("UNAUTHORIZED");
    expect(await look(id)).toEqual({ status: "PENDING" });
  });

  test("is recorded with the key that it created, a denial with the login", async ({ expect }) => {
    const [first, second] = [await opened(), await opened()];
    await user.send(decide(first.id, true));
    await user.send(decide(second.id, false));
    const { data } = await user.send("{ myself { auditLog { operation subjectKind subjectName } } }");
    expect(data.myself.auditLog).toEqual([
      {
        operation: "approveFlashAuthRequest",
        subjectKind: "flash_auth_request",
        subjectName: "flash/1.0 on laptop",
      },
      {
        operation: "approveFlashAuthRequest",
        subjectKind: "api_key",
        subjectName: `flash login ${today()}`,
      },
    ]);
  });

  test("keeps the key sealed until it is fetched, and nothing of it afterwards", async ({ expect }) => {
    const { id } = await opened();
    await user.send(decide(id, true));
    const row = async () => await db.select().from(flashAuthRequest).where(eq(flashAuthRequest.id, id)).get();
    const before = await row();
    expect(before?.sealedKey).toMatch(/^v1:test:/);
    const { apiKey: key } = await look(id, "apiKey");
    expect(JSON.stringify(before)).not.toContain(key.slice(3));
    expect(await row()).toMatchObject({ status: "CONSUMED", sealedKey: null });
  });

  test("where nothing can be sealed is refused, and the login waits on", async ({ expect }) => {
    const { id } = await opened();
    const answer = await post(
      `/?api_key=${user.key}`,
      JSON.stringify({ query: decide(id, true) }),
      {},
      {
        ...env,
        ENCRYPTION_KEYS: "",
      },
    );
    expect(codeOf(answer)).toBe("NOT_CONFIGURED");
    expect(await look(id)).toEqual({ status: "PENDING" });
  });

  test("of a login that never was is refused", async ({ expect }) => {
    expect(codeOf(await user.send(decide("NEVER", true)))).toBe("INVALID_INPUT");
    expect(codeOf(await user.send("mutation { approveFlashAuthRequest { id } }"))).toBe("INVALID_INPUT");
  });
});

function today(): string {
  return new Date().toISOString().slice(0, 10);
}
