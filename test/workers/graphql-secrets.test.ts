import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { describe, test } from "vitest";
import { open } from "../../src/auth/envelope.ts";
import { readEncryptionKeys } from "../../src/auth/encryption-keys.ts";
import { openDatabase } from "../../src/db/database.ts";
import { auditEntry, secret } from "../../src/db/schema.ts";
import type { Env } from "../../src/env.ts";
import { codeOf, freshClient, post, type Client } from "./graphql-client.ts";
import { ROOT_API_KEY } from "./edge-client.ts";
import { issueAt } from "./message-facts.ts";

const db = openDatabase(env.DB);
const VALUE = "hunter2-Ünicode-🔑";

async function created(client: Client, name = "HF_TOKEN", value = VALUE) {
  const answer = await client.send(
    "mutation ($input: SecretCreateInput) { secretCreate(input: $input) { id name description createdAt updatedAt } }",
    { input: { name, value, description: "for tests" } },
  );
  if (answer.errors) throw new Error(JSON.stringify(answer.errors));
  return answer.data.secretCreate;
}

async function openedValue({ accountId }: Client, id: string): Promise<unknown> {
  const row = await db.select().from(secret).where(eq(secret.id, id)).get();
  return await open(
    readEncryptionKeys(env),
    { accountId, kind: "secret", rowId: id },
    row?.sealedValue ?? "",
  );
}

describe("secrets", () => {
  test("are created, listed, changed and deleted, and never returned", async ({ expect }) => {
    const client = await freshClient();
    const first = await created(client);
    expect(first).toEqual({
      id: expect.stringMatching(/^[a-z0-9]{14}$/),
      name: "HF_TOKEN",
      description: "for tests",
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    expect(await openedValue(client, first.id)).toEqual({ kind: "opened", plaintext: VALUE });

    const changed = await client.send(
      `mutation { secretValueUpdate(input: { id: "${first.id}", value: "other" }) { id name description } }`,
    );
    expect(changed.data.secretValueUpdate).toMatchObject({ id: first.id, description: "for tests" });
    expect(await openedValue(client, first.id)).toEqual({ kind: "opened", plaintext: "other" });

    await client.send(
      `mutation { secretDescriptionUpdate(input: { id: "${first.id}", description: "" }) { id } }`,
    );
    const second = await created(client, "second.one-2");
    const { data } = await client.send("{ myself { secrets { id name description } } }");
    expect(data.myself.secrets).toEqual([
      { id: first.id, name: "HF_TOKEN", description: null },
      { id: second.id, name: "second.one-2", description: "for tests" },
    ]);

    const deleted = await client.send(`mutation { secretDelete(id: "${first.id}") }`);
    expect(deleted.body).toEqual({ data: { secretDelete: null } });
    const left = await client.send("{ myself { secrets { id } } }");
    expect(left.data.myself.secrets).toEqual([{ id: second.id }]);
  });

  test("have no field for their value", async ({ expect }) => {
    const client = await freshClient();
    expect(codeOf(await client.send("{ myself { secrets { value } } }"))).toBe("GRAPHQL_VALIDATION_FAILED");
  });

  test("are noted in the audit log by name, without their values", async ({ expect }) => {
    const client = await freshClient();
    const { id } = await created(client);
    await client.send(`mutation { secretValueUpdate(input: { id: "${id}", value: "other" }) { id } }`);
    await client.send(`mutation { secretDelete(id: "${id}") }`);
    const notes = await db
      .select()
      .from(auditEntry)
      .where(eq(auditEntry.accountId, client.accountId))
      .orderBy(auditEntry.id);
    expect(notes.map(({ operation, subjectName, fields }) => [operation, subjectName, fields])).toEqual([
      ["secretCreate", "HF_TOKEN", []],
      ["secretValueUpdate", "HF_TOKEN", ["value"]],
      ["secretDelete", "HF_TOKEN", []],
    ]);
    expect(JSON.stringify(notes)).not.toContain(VALUE);
  });

  test("have a name of their own in their account", async ({ expect }) => {
    const client = await freshClient();
    await created(client);
    const again = await client.send(
      `mutation { secretCreate(input: { name: "HF_TOKEN", value: "${VALUE}" }) { id } }`,
    );
    expect(codeOf(again)).toBe("SECRET_NAME_TAKEN");
    expect(again.errors[0].message).toContain("'HF_TOKEN' already exists");
    await created(await freshClient());
  });

  test("that are missing or still referenced are reported as warnings", async ({ expect }) => {
    const client = await freshClient();
    const { id } = await created(client);
    const env = `env: [{ key: "A", value: "{{ SECRET_HF_TOKEN }}" }, { key: "B", value: "{{SECRET_gone}} HF_TOKEN" }]`;
    const saved = await client.send(`mutation { saveTemplate(input: { name: "t", imageName: "a:1",
      containerDiskInGb: 5, volumeInGb: 0, isServerless: true, ${env} }) { id } }`);
    expect(saved.body).toEqual({
      data: { saveTemplate: { id: expect.any(String) } },
      extensions: {
        warnings: [{ code: "SECRET_NOT_FOUND", message: expect.stringContaining("'gone'") }],
      },
    });
    const endpoint = await client.send(`mutation { saveEndpoint(input: { name: "e", gpuIds: "ADA_24",
      template: { imageName: "a:1", ${env} }, ${env} }) { id } }`);
    expect(endpoint.body.extensions.warnings).toHaveLength(1);

    const deleted = await client.send(`mutation { secretDelete(id: "${id}") }`);
    expect(deleted.body).toEqual({
      data: { secretDelete: null },
      extensions: {
        warnings: [
          {
            code: "SECRET_IN_USE",
            message: expect.stringMatching(/template 't', template 'e__.*endpoint 'e'/),
          },
        ],
      },
    });
  });

  test("are named by variables of either type", async ({ expect }) => {
    const client = await freshClient();
    for (const [index, type] of ["ID!", "String!", "ID", "String"].entries()) {
      const { id } = await created(client, `named${index}`);
      const change = `mutation ($id: ${type}) { secretDescriptionUpdate(input: { id: $id, description: "x" }) { id } }`;
      expect((await client.send(change, { id })).body).toEqual({ data: { secretDescriptionUpdate: { id } } });
      const answer = await client.send(`mutation ($id: ${type}) { secretDelete(id: $id) }`, { id });
      expect(answer.body).toEqual({ data: { secretDelete: null } });
    }
    const wrong = await client.send("mutation ($id: Int!) { secretDelete(id: $id) }", { id: 1 });
    expect(codeOf(wrong)).toBe("GRAPHQL_VALIDATION_FAILED");
  });

  test("of another account look as if there were none", async ({ expect }) => {
    const owner = await freshClient();
    const { id } = await created(owner);
    const stranger = await freshClient();
    for (const call of [
      `secretDelete(id: "${id}")`,
      `secretValueUpdate(input: { id: "${id}", value: "theirs" }) { id }`,
      `secretDescriptionUpdate(input: { id: "${id}", description: "theirs" }) { id }`,
    ]) {
      const answer = await stranger.send(`mutation { ${call} }`);
      expect(codeOf(answer)).toBe("SECRET_NOT_FOUND");
      expect(answer.errors[0].message).toMatch(issueAt("id", `'${id}'`));
    }
    expect(await openedValue(owner, id)).toEqual({ kind: "opened", plaintext: VALUE });
    const { data } = await stranger.send("{ myself { secrets { id } } }");
    expect(data.myself.secrets).toEqual([]);
  });

  test.for([
    [{ name: "", value: VALUE }, "name: must not be empty"],
    [{ name: "two words", value: VALUE }, "name: may hold letters, digits, _, - and . only"],
    [{ name: "a".repeat(192), value: VALUE }, "name: must have at most 191 characters"],
    [{ value: VALUE }, "name: must be a string"],
    [{ name: "a" }, "value: must be a string"],
    [{ name: "a", value: "" }, "value: must not be empty"],
    [{ name: "a", value: `${VALUE}\0` }, "value: must be text that an environment variable can hold"],
    [{ name: "a", value: `${VALUE}\uD800` }, "value: must be text that an environment variable can hold"],
    [{ name: "a", value: VALUE.padEnd(65_536, "x") }, "value: must have at most 65536 bytes"],
    [{ name: "a", value: VALUE, description: "d".repeat(1_001) }, "description: must have at most 1000"],
  ] as const)("are refused in words that name the field: %s", async ([input, message], { expect }) => {
    const client = await freshClient();
    const answer = await client.send(
      "mutation ($input: SecretCreateInput) { secretCreate(input: $input) { id } }",
      { input },
    );
    expect(codeOf(answer)).toBe("INVALID_INPUT");
    expect(answer.errors[0].message).toContain(message);
    expect(JSON.stringify(answer.body)).not.toContain("hunter2");
  });

  test("may have 64 KiB", async ({ expect }) => {
    const client = await freshClient();
    const value = "x".repeat(65_536);
    const { id } = await created(client, "LARGE", value);
    expect(await openedValue(client, id)).toEqual({ kind: "opened", plaintext: value });
  });
});

/** Wrong in every way that a client's document or variables can be; the value stands in all of them. */
const WRONG_CALLS: readonly (readonly [string, object?])[] = [
  ['mutation { secretCreate(input: { name: "a", value: hunter2 }) { id } }'],
  ['mutation { secretCreate(input: { name: "a", value: ["hunter2", 1] }) { id } }'],
  ['mutation { secretCreate(input: { name: "a", value: { hunter2: "hunter2" } }) { id } }'],
  ['mutation { secretCreate(input: "hunter2") { id } }'],
  ['mutation { secretCreate(input: [{ value: "hunter2", name: 1 }]) { id } }'],
  ['mutation { secretCreate(input: { name: "a", values: "hunter2" }) { id } }'],
  ['mutation { secretCreate(input: { name: "a", value: "x" hunter2: 1 }) { id } }'],
  ['mutation { secretCreate(input: { name: "a", value: "a "hunter2" b" }) { id } }'],
  ['mutation { secretCreate(input: { name: "a", value: "\\hunter2" }) { id } }'],
  ['mutation { secretCreate(input: { name: "a", value: "\\u{hunter2}" }) { id } }'],
  ['mutation { secretCreate(input: { name: "a", value: """hunter2""" """hunter2""" }) { id } }'],
  ['mutation { secretCreate(input: { name: "a", value: "hunter2\n" }) { id } }'],
  ['mutation { secretCreate(input: { name: "a", value: "x" }) { id } } "hunter2"'],
  ['mutation { secretCreate(input: { name: "a", value: "x" }) { id } } hunter2'],
  ['mutation ($v: Int) { secretCreate(input: { name: "a", value: $v }) { id } }', { v: "hunter2" }],
  ['mutation ($v: String = hunter2) { secretCreate(input: { name: "a", value: $v }) { id } }', {}],
  ['mutation ($v: String) { secretCreate(input: { name: "a", value: $v }) { id } }', { v: ["hunter2"] }],
  ['mutation ($v: String) { secretCreate(input: { name: "a", value: $v }) { id } }', { v: { a: "hunter2" } }],
  ["mutation ($i: SecretCreateInput) { secretCreate(input: $i) { id } }", { i: "hunter2" }],
  ["mutation ($i: SecretCreateInput) { secretCreate(input: $i) { id } }", { i: ["hunter2"] }],
  ["mutation ($i: SecretCreateInput) { secretCreate(input: $i) { id } }", { i: { hunter2: "hunter2" } }],
  [
    "mutation ($i: SecretCreateInput) { secretCreate(input: $i) { id } }",
    { i: { name: 1, value: "hunter2", nam: 2 } },
  ],
  [
    "mutation ($i: SaveRegistryAuthInput) { saveRegistryAuth(input: $i) { id } }",
    { i: { passwort: "hunter2" } },
  ],
  ['mutation { saveRegistryAuth(input: { name: "a", username: "b", password: hunter2 }) { id } }'],
  [
    "mutation ($i: SecretValueUpdateInput) { secretValueUpdate(input: $i) { id } }",
    { i: { value: ["hunter2"] } },
  ],
];

test.for(WRONG_CALLS)(
  "a wrong document does not come back with what it holds: %s",
  async ([query, variables], { expect }) => {
    const client = await freshClient();
    const answer = await client.send(query, variables);
    expect(answer.errors.length).toBeGreaterThan(0);
    expect(answer.errors.every(({ message }: { message: string }) => message.length > 12)).toBe(true);
    expect(JSON.stringify(answer.body)).not.toContain("hunter2");
  },
);

describe("without a key to encrypt with", () => {
  const bare: Env = { ...env, ENCRYPTION_KEYS: "" };

  test("operations that need one say what to set, and how to make it", async ({ expect }) => {
    const client = await freshClient(bare);
    for (const call of [
      'secretCreate(input: { name: "a", value: "hunter2" }) { id }',
      'saveRegistryAuth(input: { name: "a", username: "b", password: "hunter2" }) { id }',
    ]) {
      const answer = await client.send(`mutation { ${call} }`);
      expect(codeOf(answer)).toBe("NOT_CONFIGURED");
      expect(answer.errors[0].message).toMatch(/ENCRYPTION_KEYS.*openssl rand -base64 32/);
      expect(JSON.stringify(answer.body)).not.toContain("hunter2");
    }
    const query = "{ myself { encryption { keyId } } }";
    const operator = await post(`/?api_key=${ROOT_API_KEY}`, JSON.stringify({ query }), {}, bare);
    expect(codeOf(operator)).toBe("NOT_CONFIGURED");
    const { data } = await client.send("{ myself { secrets { id } containerRegistryCreds { id } } }");
    expect(data.myself).toEqual({ secrets: [], containerRegistryCreds: [] });
  });

  test("unreadable keys are reported without being repeated", async ({ expect }) => {
    const client = await freshClient({ ...env, ENCRYPTION_KEYS: "k1:hunter2" });
    const answer = await client.send('mutation { secretCreate(input: { name: "a", value: "b" }) { id } }');
    expect(codeOf(answer)).toBe("NOT_CONFIGURED");
    expect(answer.errors[0].message).toMatch(issueAt("ENCRYPTION_KEYS"));
    expect(JSON.stringify(answer.body)).not.toContain("hunter2");
  });
});

test("a body that is no JSON does not come back", async ({ expect }) => {
  const { key } = await freshClient();
  const answer = await post(`/?api_key=${key}`, 'hunter2 {"query": "hunter2"}');
  expect(JSON.stringify(answer.body)).not.toContain("hunter2");
});
