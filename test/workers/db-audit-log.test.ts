import { env } from "cloudflare:workers";
import { desc, eq } from "drizzle-orm";
import { test } from "vitest";
import { openDatabase } from "../../src/db/database.ts";
import { auditEntry } from "../../src/db/schema.ts";
import { codeOf, freshClient, savedEndpoint, savedTemplate, type Client } from "./graphql-client.ts";

const db = openDatabase(env.DB);

async function notes(client: Client) {
  return await db
    .select()
    .from(auditEntry)
    .where(eq(auditEntry.accountId, client.accountId))
    .orderBy(desc(auditEntry.id));
}

test("a change is recorded with its author, object, time, and the names of changed fields", async ({
  expect,
}) => {
  const client = await freshClient();
  const { id, name } = await savedTemplate(client);
  await client.send(
    `mutation { saveTemplate(input: { id: "${id}", readme: "secret words", dockerArgs: "a" }) { id } }`,
  );

  const [change, creation, ...more] = await notes(client);
  expect(creation).toMatchObject({
    operation: "saveTemplate",
    subjectKind: "template",
    subjectId: id,
    subjectName: name,
  });
  expect(change).toMatchObject({
    operation: "saveTemplate",
    subjectId: id,
    fields: ["dockerArgs", "readme"],
  });
  expect(change?.at).toBeGreaterThan(1_700_000_000_000);
  expect(change?.apiKeyId).not.toBe("");
  expect(more).toEqual([]);
  expect(JSON.stringify(change)).not.toContain("secret words");
});

test("rejected requests and those without a change are not recorded", async ({ expect }) => {
  const client = await freshClient();
  const { id, templateId } = await savedEndpoint(client, ", workersMax: 1");
  const before = await notes(client);
  expect(before).toHaveLength(2);

  const again = `mutation { saveEndpoint(input: { id: "${id}", workersMax: 1 }) { id } }`;
  expect((await client.send(again)).data.saveEndpoint).toEqual({ id });
  expect(codeOf(await client.send(`mutation { deleteEndpoint(id: "${id}") }`))).toBe("ENDPOINT_HAS_WORKERS");
  const taken = `mutation { saveTemplate(input: { id: "${templateId}", name: "${(await savedTemplate(client)).name}" }) { id } }`;
  expect(codeOf(await client.send(taken))).toBe("TEMPLATE_NAME_TAKEN");

  expect(await notes(client)).toHaveLength(3); // the template whose name was taken
});

test("a deletion is recorded once", async ({ expect }) => {
  const client = await freshClient();
  const { id } = await savedEndpoint(client, ", workersMax: 0");
  await client.send(`mutation { deleteEndpoint(id: "${id}") }`);
  expect(codeOf(await client.send(`mutation { deleteEndpoint(id: "${id}") }`))).toBe("ENDPOINT_NOT_FOUND");

  const deletions = (await notes(client)).filter(({ operation }) => operation === "deleteEndpoint");
  expect(deletions).toMatchObject([{ subjectKind: "endpoint", subjectId: id, subjectName: "endpoint" }]);
});
