import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { test } from "vitest";
import { open } from "../../src/auth/envelope.ts";
import { readEncryptionKeys } from "../../src/auth/encryption-keys.ts";
import { openDatabase } from "../../src/db/database.ts";
import { auditEntry, registryAuth } from "../../src/db/schema.ts";
import { codeOf, freshClient, savedTemplate, type Client } from "./graphql-client.ts";
import { issueAt } from "./message-facts.ts";

const db = openDatabase(env.DB);

async function saved(client: Client, name = "team"): Promise<string> {
  const { data, errors } = await client.send(
    `mutation { saveRegistryAuth(input: { name: "${name}", username: "ada", password: "hunter2" }) { id name } }`,
  );
  if (errors) throw new Error(JSON.stringify(errors));
  return data.saveRegistryAuth.id;
}

async function openedLogin({ accountId }: Client, id: string): Promise<unknown> {
  const row = await db.select().from(registryAuth).where(eq(registryAuth.id, id)).get();
  const place = { accountId, kind: "registry_auth" as const, rowId: id };
  const opening = await open(readEncryptionKeys(env), place, row?.sealedCredentials ?? "");
  return opening.kind === "opened" ? JSON.parse(opening.plaintext) : opening;
}

test("registry credentials are saved, listed oldest first, changed and deleted", async ({ expect }) => {
  const client = await freshClient();
  const first = await saved(client, "zeta");
  const second = await saved(client, "alpha");
  expect(await openedLogin(client, first)).toEqual({ username: "ada", password: "hunter2" });

  const { data } = await client.send(
    `mutation { updateRegistryAuth(input: { id: "${first}", username: "eve", password: "new" }) { id name } }`,
  );
  expect(data.updateRegistryAuth).toEqual({ id: first, name: "zeta" });
  expect(await openedLogin(client, first)).toEqual({ username: "eve", password: "new" });

  const all = await client.send("{ myself { containerRegistryCreds { id name } } }");
  expect(all.data.myself.containerRegistryCreds).toHaveLength(2);
  const deleted = await client.send(`mutation { deleteRegistryAuth(registryAuthId: "${first}") }`);
  expect(deleted.body).toEqual({ data: { deleteRegistryAuth: null } });
  const left = await client.send("{ myself { containerRegistryCreds { id name } } }");
  expect(left.data.myself.containerRegistryCreds).toEqual([{ id: second, name: "alpha" }]);

  const notes = await db
    .select()
    .from(auditEntry)
    .where(eq(auditEntry.accountId, client.accountId))
    .orderBy(auditEntry.id);
  expect(notes.map(({ operation, fields }) => [operation, fields])).toEqual([
    ["saveRegistryAuth", []],
    ["saveRegistryAuth", []],
    ["updateRegistryAuth", ["username", "password"]],
    ["deleteRegistryAuth", []],
  ]);
  expect(JSON.stringify(notes)).not.toMatch(/hunter2|\bada\b|\beve\b/);
});

test("those that clients delete one after the other come oldest first", async ({ expect }) => {
  const client = await freshClient();
  const row = (id: string, createdAt: number) => ({
    id: `${id}-${client.accountId}`,
    accountId: client.accountId,
    name: id,
    sealedCredentials: "v1:x:x:x",
    createdAt,
    updatedAt: createdAt,
  });
  await db.insert(registryAuth).values([row("c", 1), row("a", 3), row("b", 2)]);
  const { data } = await client.send("{ myself { containerRegistryCreds { name } } }");
  expect(data.myself.containerRegistryCreds).toEqual([{ name: "c" }, { name: "b" }, { name: "a" }]);
});

test("one that templates name is not deleted, and the error names them", async ({ expect }) => {
  const client = await freshClient();
  const id = await saved(client);
  const template = await savedTemplate(client, `, containerRegistryAuthId: "${id}"`);
  const refused = await client.send(`mutation { deleteRegistryAuth(registryAuthId: "${id}") }`);
  expect(codeOf(refused)).toBe("REGISTRY_AUTH_IN_USE");
  expect(refused.errors[0].message).toMatch(issueAt("registryAuthId", "'team'", `'${template.name}'`));

  // Nobody knows the template that came inline with an endpoint.
  const endpoint =
    await client.send(`mutation { saveEndpoint(input: { name: "e", gpuIds: "AMPERE_16", workersMax: 0, template: {
    imageName: "a:1", name: "hidden", containerRegistryAuthId: "${id}" } }) { id } }`);
  const again = await client.send(`mutation { deleteRegistryAuth(registryAuthId: "${id}") }`);
  expect(again.errors[0].message).toContain(`endpoint ${endpoint.data.saveEndpoint.id}`);
  expect(again.errors[0].message).not.toContain("hidden");
  await client.send(`mutation { deleteEndpoint(id: "${endpoint.data.saveEndpoint.id}") }`);

  await client.send(`mutation { deleteTemplate(templateName: "${template.name}") }`);
  const deleted = await client.send(`mutation { deleteRegistryAuth(registryAuthId: "${id}") }`);
  expect(deleted.errors).toBeUndefined();
});

test("a template that names an unknown one is rejected, and a blank one means none", async ({ expect }) => {
  const client = await freshClient();
  const foreign = await saved(await freshClient());
  const template = await savedTemplate(client, ', containerRegistryAuthId: ""');
  for (const call of [
    `saveTemplate(input: { id: "${template.id}", containerRegistryAuthId: "${foreign}" }) { id }`,
    `saveTemplate(input: { name: "new", imageName: "a:1", containerDiskInGb: 1, volumeInGb: 0,
       containerRegistryAuthId: "${foreign}" }) { id }`,
    `saveEndpoint(input: { name: "new", gpuIds: "AMPERE_16", template: { name: "inline", imageName: "a:1",
       containerRegistryAuthId: "${foreign}" } }) { id }`,
  ]) {
    const answer = await client.send(`mutation { ${call} }`);
    expect(codeOf(answer)).toBe("REGISTRY_AUTH_NOT_FOUND");
    expect(answer.errors[0].message).toMatch(issueAt("containerRegistryAuthId", foreign));
  }
  const { data } = await client.send("{ myself { podTemplates { name containerRegistryAuthId } } }");
  expect(data.myself.podTemplates).toEqual([{ name: template.name, containerRegistryAuthId: null }]);
});

test("those of another account look as if there were none", async ({ expect }) => {
  const id = await saved(await freshClient());
  const stranger = await freshClient();
  for (const call of [
    `deleteRegistryAuth(registryAuthId: "${id}")`,
    `updateRegistryAuth(input: { id: "${id}", username: "a", password: "b" }) { id }`,
  ]) {
    expect(codeOf(await stranger.send(`mutation { ${call} }`))).toBe("REGISTRY_AUTH_NOT_FOUND");
  }
});

test.for([
  ['name: "a", username: "", password: "hunter2"', "username: must not be empty"],
  ['name: "a", username: "a:b", password: "hunter2"', "username: must not contain ':'"],
  ['name: "a", username: "hunter2"', "password: must be a string"],
  [`name: "a", username: "a", password: "hunter2${"x".repeat(16_384)}"`, "password: must have at most 16384"],
  ['username: "a", password: "hunter2"', "name: "],
] as const)("wrong input is refused by the name of its field: %#", async ([fields, message], { expect }) => {
  const client = await freshClient();
  const answer = await client.send(`mutation { saveRegistryAuth(input: { ${fields} }) { id } }`);
  expect(codeOf(answer)).toBe("INVALID_INPUT");
  expect(answer.errors[0].message).toContain(message);
  expect(JSON.stringify(answer.body)).not.toContain("hunter2");
});
