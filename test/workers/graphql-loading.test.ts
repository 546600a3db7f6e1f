/** How often one request asks D1 and the endpoints' objects, counted at the real bindings. */
import { env } from "cloudflare:workers";
import { test } from "vitest";
import type { Env } from "../../src/env.ts";
import { freshClient, post, savedEndpoint, savedTemplate, type Client } from "./graphql-client.ts";
import { documentsOfAccount } from "./whole-account.ts";

/** The real bindings behind counters of what passes. */
function countedBindings() {
  const counts = { queries: 0, fleetCalls: 0 };
  const DB = new Proxy(env.DB, {
    get(database, name) {
      if (name === "prepare") {
        return (sql: string) => {
          counts.queries += 1;
          return database.prepare(sql);
        };
      }
      const member = Reflect.get(database, name) as unknown;
      return typeof member === "function" ? (member.bind(database) as unknown) : member;
    },
  });
  const namespace = {
    getByName: (name: string) => ({
      workersOf: async (endpointIds: readonly string[]) => {
        counts.fleetCalls += 1;
        return await env.FLEET.getByName(name).workersOf(endpointIds);
      },
      budgets: async () => await env.FLEET.getByName(name).budgets(),
      podsOf: async (accountId: string) => await env.FLEET.getByName(name).podsOf(accountId),
    }),
  };
  const bindings: Env = { ...env, DB, FLEET: namespace as unknown as Env["FLEET"] };
  return { bindings, counts };
}

/** An account with so many endpoints, each with a template of its own, written past the API to save time. */
async function accountWith(endpoints: number) {
  const client = await freshClient();
  const template = await savedTemplate(client, ', env: [{ key: "A", value: "1" }]');
  await client.send(`mutation { saveEndpoint(input: { gpuIds: "AMPERE_16", name: "first", templateId: "${template.id}",
    workersMax: 0 }) { id } }`);
  await copyRows("template", client.accountId, endpoints - 1, ["id", "name"]);
  await copyRows("endpoint", client.accountId, endpoints - 1, ["id", "template_id"]);
  await client.send("{ myself { webhookSecret { secret } } }");
  const { bindings, counts } = countedBindings();
  const send: Client["send"] = async (query) =>
    await post(`/?api_key=${client.key}`, JSON.stringify({ query }), {}, bindings);
  return { client: { ...client, send }, counts };
}

/** Copies an account's only row so often; in the named columns a number goes ahead of the text. */
async function copyRows(table: string, accountId: string, count: number, numbered: readonly string[]) {
  const { results } = await env.DB.prepare(`PRAGMA table_info(${table})`).all<{ name: string }>();
  const names = results.map(({ name }) => name);
  const values = names.map((name) =>
    numbered.includes(name) ? `number.value || row.${name}` : `row.${name}`,
  );
  const numbers = JSON.stringify(Array.from({ length: count }, (_, index) => `t${index}`));
  await env.DB.prepare(
    `INSERT INTO ${table} (${names.join(", ")}) SELECT ${values.join(", ")} FROM ${table} AS row,
       json_each(?) AS number WHERE row.account_id = ?`,
  )
    .bind(numbers, accountId)
    .run();
}

async function queriesOf(account: { client: Client; counts: { queries: number } }, document: string) {
  account.counts.queries = 0;
  const { data, errors } = await account.client.send(document);
  if (errors) throw new Error(`${document}: ${JSON.stringify(errors)}`);
  return { queries: account.counts.queries, data };
}

test("D1 is asked as often for fifty endpoints as for five, whatever is selected", async ({ expect }) => {
  const [few, many] = [await accountWith(5), await accountWith(50)];
  for (const document of documentsOfAccount()) {
    const ofFew = await queriesOf(few, document);
    const ofMany = await queriesOf(many, document);
    expect([document, ofMany.queries]).toEqual([document, ofFew.queries]);
  }

  const { data, queries } = await queriesOf(
    many,
    "{ myself { endpoints { id template { id env { key } } } } }",
  );
  expect(data.myself.endpoints).toHaveLength(50);
  const templates = data.myself.endpoints.map(
    (endpoint: { template: { id: string } }) => endpoint.template.id,
  );
  expect(new Set(templates).size).toBe(50);
  expect(queries).toBe(3); // the account, its endpoints, their templates
});

test("the same look-up under many aliases is made once", async ({ expect }) => {
  const account = await accountWith(5);
  const aliases = Array.from({ length: 40 }, (_, index) => `a${index}: myself { endpoints { name } }`).join(
    " ",
  );
  expect((await queriesOf(account, `{ ${aliases} }`)).queries).toBe(2);

  const lookUps = Array.from({ length: 40 }, (_, index) => `a${index}: podTemplate(id: "t${index}") { id }`);
  expect((await queriesOf(account, `{ ${lookUps.join(" ")} }`)).queries).toBe(1);
});

test("Fleet is asked once for the workers of all endpoints", async ({ expect }) => {
  const { client, counts } = await accountWith(50);
  const pods = "endpoints { pods { id } }";
  const { errors } = await client.send(`{ myself { ${pods} again: ${pods} } other: myself { ${pods} } }`);

  expect(errors).toBeUndefined();
  expect(counts.fleetCalls).toBe(1);
});

test("rows are read again after a mutation in the same document", async ({ expect }) => {
  const client = await freshClient();
  const { id, templateId } = await savedEndpoint(client);
  const image = (name: string) => `saveTemplate(input: { id: "${templateId}", imageName: "${name}" }) { id }`;
  const answer = await client.send(
    `mutation { a: ${image("one")} b: saveEndpoint(input: { id: "${id}", workersMax: 1 }) { template { imageName } }
       c: ${image("two")} d: saveEndpoint(input: { id: "${id}", workersMax: 2 }) { template { imageName } } }`,
  );
  expect(answer.data.b.template.imageName).toBe("one");
  expect(answer.data.d.template.imageName).toBe("two");
});
