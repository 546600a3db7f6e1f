import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { describe, test } from "vitest";
import { hashKey } from "../../src/auth/digest.ts";
import { openDatabase } from "../../src/db/database.ts";
import { apiKey } from "../../src/db/schema.ts";
import { codeOf, freshClient, post, savedEndpoint, type Answer, type Client } from "./graphql-client.ts";
import { OWNER_PERMISSIONS } from "../../src/domain/accounts/permissions.ts";
import { keyWith } from "./key-client.ts";
import { passTime } from "./object.ts";
import { holding, type Issue, issueAt } from "./message-facts.ts";

const db = openDatabase(env.DB);
const SHOWN =
  "id name hint level permissions { graphql allEndpoints endpoints { endpointId access } shell } createdAt lastUsedAt expiresAt revokedAt isCurrent";

async function create(client: Pick<Client, "send">, fields: string): Promise<Answer> {
  return await client.send(`mutation { createApiKey(input: { ${fields} }) { token apiKey { ${SHOWN} } } }`);
}

/** A client of the same account with a key of its own. */
async function withKey(client: Client, fields: string): Promise<Client & { readonly id: string }> {
  const { data, errors } = await create(client, `name: "other", ${fields}`);
  if (errors) throw new Error(JSON.stringify(errors));
  const { token, apiKey: made } = data.createApiKey;
  return {
    ...client,
    key: token,
    id: made.id,
    send: async (query) => await post("/", JSON.stringify({ query }), { authorization: `Bearer ${token}` }),
  };
}

const update = async (client: Client, fields: string) =>
  await client.send(`mutation { updateApiKey(input: { ${fields} }) { name level } }`);
const revoke = async (client: Client, id: string) =>
  await client.send(`mutation { revokeApiKey(id: "${id}") }`);

describe("creating", () => {
  test("a key is shown once, works at once and is stored as a hash", async ({ expect }) => {
    const client = await freshClient();
    const { data, errors } = await create(client, 'name: "ci", level: ALL');
    expect(errors).toBeUndefined();
    const { token, apiKey: made } = data.createApiKey;
    expect(token).toMatch(/^er_[0-9a-f]{72}$/);
    expect(made).toEqual({
      id: expect.stringMatching(/^[a-z0-9]{14}$/),
      name: "ci",
      hint: token.slice(0, 9),
      level: "ALL",
      permissions: { graphql: "WRITE", allEndpoints: "WRITE", endpoints: null, shell: false },
      createdAt: expect.any(String),
      lastUsedAt: null,
      expiresAt: null,
      revokedAt: null,
      isCurrent: false,
    });
    const answer = await post("/", '{"query":"{ myself { id } }"}', { authorization: `Bearer ${token}` });
    expect(answer.data.myself.id).toBe(client.accountId);

    const row = await db.select().from(apiKey).where(eq(apiKey.id, made.id)).get();
    expect(row?.hash).toBe(await hashKey(token));
    expect(JSON.stringify(row)).not.toContain(token);
    const listed = await client.send(`{ apiKeys { ${SHOWN} } myself { apiKeys { id } } }`);
    expect(JSON.stringify(listed.body)).not.toContain(token);
    expect(listed.data.apiKeys[0].id).toBe(made.id);
    expect(listed.data.apiKeys[0].lastUsedAt).not.toBeNull();
    expect(listed.data.apiKeys.map((key: { isCurrent: boolean }) => key.isCurrent)).toEqual([false, true]);
    expect(listed.data.myself.apiKeys).toHaveLength(2);
  });

  test("every way to say what a key may do is shown as it was said", async ({ expect }) => {
    const client = await freshClient();
    const { id } = await savedEndpoint(client);
    const cases = {
      "level: READ_ONLY": [
        "READ_ONLY",
        { graphql: "READ", allEndpoints: "READ", endpoints: null, shell: false },
      ],
      "permissions: { graphql: READ }": [
        "RESTRICTED",
        { graphql: "READ", allEndpoints: "NONE", endpoints: null, shell: false },
      ],
      "level: RESTRICTED, permissions: { allEndpoints: WRITE }": [
        "RESTRICTED",
        { graphql: "NONE", allEndpoints: "WRITE", endpoints: null, shell: false },
      ],
      "permissions: { shell: false, graphql: READ }": [
        "RESTRICTED",
        { graphql: "READ", allEndpoints: "NONE", endpoints: null, shell: false },
      ],
      [`permissions: { endpoints: [{ endpointId: "${id}", access: READ }] }`]: [
        "RESTRICTED",
        {
          graphql: "NONE",
          allEndpoints: null,
          endpoints: [{ endpointId: id, access: "READ" }],
          shell: false,
        },
      ],
    };
    for (const [fields, [level, permissions]] of Object.entries(cases)) {
      const { data } = await create(client, `name: "k", ${fields}`);
      expect(data.createApiKey.apiKey).toMatchObject({ level, permissions });
    }
  });

  test("shell is given by a key that has it, and by no other", async ({ expect }) => {
    const client = await freshClient();
    const shell = 'name: "k", permissions: { graphql: WRITE, allEndpoints: WRITE, shell: true }';
    expect(codeOf(await create(client, shell))).toBe("INSUFFICIENT_PERMISSION");
    const key = await keyWith(client.accountId, OWNER_PERMISSIONS);
    const send = async (query: string) =>
      await post("/", JSON.stringify({ query }), { authorization: `Bearer ${key}` });
    const { data } = await create({ send }, shell);
    expect(data.createApiKey.apiKey).toMatchObject({ level: "ALL", permissions: { shell: true } });
    const { data: all } = await create({ send }, 'name: "k", level: ALL');
    expect(all.createApiKey.apiKey.permissions.shell).toBe(false);
    const { id } = data.createApiKey.apiKey;
    const narrowed = await send(`mutation { updateApiKey(input: { id: "${id}", level: ALL }) { level } }`);
    expect(narrowed.errors).toBeUndefined();
    const authorization = `Bearer ${data.createApiKey.token}`;
    const query = `mutation { createApiKey(input: { ${shell} }) { token } }`;
    expect(codeOf(await post("/", JSON.stringify({ query }), { authorization }))).toBe(
      "INSUFFICIENT_PERMISSION",
    );
  });

  test("what is ambiguous, empty or unknown is refused by name", async ({ expect }) => {
    const client = await freshClient();
    const other = await freshClient();
    const { id } = await savedEndpoint(other);
    const listed = (endpointId: string) =>
      `permissions: { endpoints: [{ endpointId: "${endpointId}", access: READ }] }`;
    const cases: Record<string, Issue> = {
      'level: ALL, name: ""': ["name"],
      'name: "k"': ["level", "ALL", "READ_ONLY", "RESTRICTED"],
      'name: "k", level: RESTRICTED': ["level", "ALL", "READ_ONLY", "RESTRICTED"],
      'name: "k", level: ALL, permissions: { graphql: READ }': ["level", "ALL"],
      'name: "k", permissions: {}': ["permissions"],
      'name: "k", permissions: { endpoints: [] }': ["permissions"],
      'name: "k", permissions: { allEndpoints: READ, endpoints: [] }': [
        "permissions.endpoints",
        "allEndpoints",
      ],
      'name: "k", permissions: { endpoints: [{ endpointId: "a", access: READ }, { endpointId: "a", access: WRITE }] }':
        ["permissions.endpoints"],
      'name: "k", level: ALL, expiresAt: "tomorrow"': ["expiresAt"],
      'name: "k", level: ALL, expiresAt: "2001-01-01"': ["expiresAt"],
      'name: "k", level: ALL, expiresInSeconds: 59': ["expiresInSeconds", 60],
      'name: "k", level: ALL, expiresInSeconds: 60, expiresAt: "2040-01-01"': ["expiresAt"],
      [`name: "k", ${listed("nonsense")}`]: ["permissions.endpoints", "'nonsense'"],
      [`name: "k", ${listed(id)}`]: ["permissions.endpoints", `'${id}'`],
    };
    for (const [fields, issue] of Object.entries(cases)) {
      const answer = await create(client, fields);
      expect(answer.errors?.[0].message, fields).toMatch(issueAt(...issue));
      expect(answer.status).toBe(200);
    }
    expect((await client.send("{ apiKeys { id } }")).data.apiKeys).toHaveLength(1);
  });

  test("a key's end is a moment or a number of seconds", async ({ expect }) => {
    const client = await freshClient();
    const end = async (fields: string) =>
      Date.parse(
        (await create(client, `name: "k", level: ALL, ${fields}`)).data.createApiKey.apiKey.expiresAt,
      );
    const before = Date.now();
    expect(await end('expiresAt: "2040-02-03"')).toBe(Date.UTC(2040, 1, 3));
    expect(await end('expiresAt: "2040-02-03T04:05:06+01:00"')).toBe(Date.UTC(2040, 1, 3, 3, 5, 6));
    const seconds = await end("expiresInSeconds: 3600");
    expect(seconds).toBeGreaterThanOrEqual(before + 3_600_000);
    expect(seconds).toBeLessThanOrEqual(Date.now() + 3_600_000);
  });

  test("an expired key opens nothing", async ({ expect }) => {
    const client = await freshClient();
    const short = await withKey(client, "level: ALL, expiresInSeconds: 60");
    expect((await short.send("{ myself { id } }")).status).toBe(200);
    passTime(60_001);
    const answer = await short.send("{ myself { id } }");
    expect([answer.status, codeOf(answer)]).toEqual([401, "UNAUTHORIZED"]);
  });
});

describe("a key cannot grant permissions that it does not have", () => {
  test("a narrower key makes keys within its own bounds only", async ({ expect }) => {
    const client = await freshClient();
    const { id } = await savedEndpoint(client);
    const narrow = await withKey(
      client,
      `permissions: { graphql: WRITE, endpoints: [{ endpointId: "${id}", access: READ }] }`,
    );
    const within = `permissions: { graphql: READ, endpoints: [{ endpointId: "${id}", access: READ }] }`;
    expect((await create(narrow, `name: "k", ${within}`)).errors).toBeUndefined();

    const cases = {
      "level: ALL": "allEndpoints: WRITE",
      "level: READ_ONLY": "allEndpoints: READ",
      [`permissions: { endpoints: [{ endpointId: "${id}", access: WRITE }] }`]: `endpoint ${id}: WRITE`,
    };
    for (const [fields, missing] of Object.entries(cases)) {
      const answer = await create(narrow, `name: "k", ${fields}`);
      expect([answer.status, codeOf(answer)]).toEqual([401, "INSUFFICIENT_PERMISSION"]);
      expect(answer.errors[0].message).toContain(`(${missing})`);
    }
  });

  test("a key that ends makes no key that ends later", async ({ expect }) => {
    const client = await freshClient();
    const ending = await withKey(client, "level: ALL, expiresInSeconds: 600");
    for (const fields of ["", ", expiresInSeconds: 700"]) {
      const answer = await create(ending, `name: "k", level: ALL${fields}`);
      expect(codeOf(answer)).toBe("INSUFFICIENT_PERMISSION");
      expect(answer.errors[0].message).toMatch(issueAt("expiresAt"));
    }
    expect((await create(ending, 'name: "k", level: ALL, expiresInSeconds: 500')).errors).toBeUndefined();

    const lasting = await withKey(client, "level: READ_ONLY");
    expect(codeOf(await update(ending, `id: "${lasting.id}", level: ALL`))).toBe("INSUFFICIENT_PERMISSION");
  });

  test("a key above one's own is neither changed nor revoked", async ({ expect }) => {
    const client = await freshClient();
    const narrow = await withKey(client, "permissions: { graphql: WRITE }");
    const wide = await withKey(client, "level: ALL");
    for (const answer of [
      await revoke(narrow, wide.id),
      await update(narrow, `id: "${wide.id}", level: READ_ONLY`),
      await update(narrow, `id: "${wide.id}", name: "mine"`),
      await update(narrow, `id: "${narrow.id}", level: ALL`),
    ]) {
      expect([answer.status, codeOf(answer)]).toEqual([401, "INSUFFICIENT_PERMISSION"]);
      expect(answer.errors[0].message).toContain("allEndpoints: WRITE");
    }
    expect((await wide.send("{ myself { id } }")).status).toBe(200);
  });

  test("a key that was revoked elsewhere, and is still remembered here, leaves no key behind", async ({
    expect,
  }) => {
    const client = await freshClient();
    await client.send("{ myself { id } }");
    await db.update(apiKey).set({ revokedAt: 1 }).where(eq(apiKey.hash, client.keyHash));

    const answer = await create(client, 'name: "k", level: ALL');
    expect([answer.status, codeOf(answer)]).toEqual([401, "UNAUTHORIZED"]);
    expect(await db.select().from(apiKey).where(eq(apiKey.accountId, client.accountId))).toHaveLength(1);
  });
});

describe("changing and revoking", () => {
  test("a change is in force at once where it was made", async ({ expect }) => {
    const client = await freshClient();
    const other = await withKey(client, "level: ALL");
    expect((await create(other, 'name: "k", level: ALL')).status).toBe(200);

    const changed = await update(client, `id: "${other.id}", name: "renamed", level: READ_ONLY`);
    expect(changed.data.updateApiKey).toEqual({ name: "renamed", level: "READ_ONLY" });
    const answer = await create(other, 'name: "k", level: ALL');
    expect([answer.status, codeOf(answer)]).toEqual([401, "INSUFFICIENT_PERMISSION"]);
    expect(answer.errors[0].message).toMatch(holding("'renamed'", "graphql: READ"));
    expect((await other.send("{ myself { id } }")).status).toBe(200);
  });

  test("a revoked key opens nothing at once where it was revoked; again is no fault", async ({ expect }) => {
    const client = await freshClient();
    const other = await withKey(client, "level: ALL");
    expect((await other.send("{ myself { id } }")).status).toBe(200);
    expect((await revoke(client, other.id)).body).toEqual({ data: { revokeApiKey: null } });
    expect((await other.send("{ myself { id } }")).status).toBe(401);
    expect((await revoke(client, other.id)).body).toEqual({ data: { revokeApiKey: null } });

    const [listed] = (await client.send(`{ apiKeys { id revokedAt } }`)).data.apiKeys;
    expect(listed).toEqual({ id: other.id, revokedAt: expect.any(String) });
    expect(codeOf(await update(client, `id: "${other.id}", name: "x"`))).toBe("INVALID_INPUT");
  });

  test("the key of the environment stays, and the error says why", async ({ expect }) => {
    const root = async (query: string) =>
      await post("/?api_key=test-root-key-of-more-than-32-characters", JSON.stringify({ query }));
    const { data } = await root("{ apiKeys { id isCurrent hint } }");
    const [own] = data.apiKeys.filter(({ isCurrent }: { isCurrent: boolean }) => isCurrent);
    expect(own.hint).toBe("");
    for (const query of [
      `mutation { revokeApiKey(id: "${own.id}") }`,
      `mutation { updateApiKey(input: { id: "${own.id}", level: READ_ONLY }) { id } }`,
    ]) {
      const answer = await root(query);
      expect(codeOf(answer)).toBe("NOT_SUPPORTED");
      expect(answer.errors[0].message).toContain("ROOT_API_KEY");
    }
  });

  test("another account's key looks unknown", async ({ expect }) => {
    const [mine, theirs] = [await freshClient(), await freshClient()];
    const { id } = await withKey(theirs, "level: ALL");
    for (const [answer, unknown] of [
      [await revoke(mine, id), await revoke(mine, "unknown")],
      [await update(mine, `id: "${id}", name: "x"`), await update(mine, 'id: "unknown", name: "x"')],
    ] as const) {
      expect(codeOf(answer)).toBe("API_KEY_NOT_FOUND");
      expect(answer.errors[0].message.replace(id, "unknown")).toBe(unknown.errors[0].message);
    }
    expect(JSON.stringify((await mine.send(`{ apiKeys { ${SHOWN} } }`)).body)).not.toContain(id);
  });
});

describe("what a key may ask of the management API", () => {
  test("queries need read, mutations write, introspection any key", async ({ expect }) => {
    const client = await freshClient();
    const keys = {
      WRITE: await withKey(client, "permissions: { graphql: WRITE }"),
      READ: await withKey(client, "permissions: { graphql: READ }"),
      NONE: await withKey(client, "permissions: { allEndpoints: WRITE }"),
    };
    const documents = {
      "{ __schema { queryType { name } } __typename }": ["WRITE", "READ", "NONE"],
      "{ me: myself { id } }": ["WRITE", "READ"],
      "{ ...A } fragment A on Query { __typename myself { id } }": ["WRITE", "READ"],
      'mutation { updateUserSettings(input: { pubKey: "k" }) { id } }': ["WRITE"],
    };
    for (const [document, allowed] of Object.entries(documents)) {
      for (const [held, key] of Object.entries(keys)) {
        const answer = await key.send(document);
        expect([document, held, answer.status]).toEqual([document, held, allowed.includes(held) ? 200 : 401]);
        if (answer.status === 200) continue;
        expect(codeOf(answer)).toBe("INSUFFICIENT_PERMISSION");
        expect(answer.errors[0].message).toMatch(/'other'.*\(graphql: (READ|NONE)\)/);
      }
    }
  });

  test("a named operation is checked separately", async ({ expect }) => {
    const client = await freshClient();
    const reader = await withKey(client, "level: READ_ONLY");
    const query = 'query A { myself { id } } mutation B { revokeApiKey(id: "x") }';
    const send = async (operationName?: string) =>
      await post(`/?api_key=${reader.key}`, JSON.stringify({ query, operationName }));
    expect((await send("A")).status).toBe(200);
    expect((await send("B")).status).toBe(401);
    expect((await send()).status).toBe(401);
  });
});
