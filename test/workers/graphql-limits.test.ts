/** What the management API refuses before it does anything, and that real clients meet none of it. */
import { buildSchema, parse, printSchema, validate } from "graphql";
import { MESSAGE_MAX_CHARACTERS } from "../../src/contract/errors.ts";
import { describe, test } from "vitest";
import { GRAPHQL_ERRORS_MAX } from "../../src/graphql/execution.ts";
import { GRAPHQL_VARIABLES_DEPTH_MAX } from "../../src/graphql/request.ts";
import { costOf, GRAPHQL_COST_MAX } from "../../src/graphql/documents/cost.ts";
import {
  exceededLimit,
  GRAPHQL_SELECTIONS_MAX,
  exceededTextLimit,
  GRAPHQL_NESTING_MAX,
} from "../../src/graphql/documents/limits.ts";
import { managementSchema } from "../../src/graphql/schema.ts";
import { SURVEYED_DOCUMENTS } from "../support/surveyed-documents.ts";
import { codeOf, freshClient, post, type Answer, type Client } from "./graphql-client.ts";

const WIDE = 5;

function aliases(count: number, selection: string): string {
  return Array.from({ length: count }, (_, index) => `a${index}: ${selection}`).join(" ");
}

/** The message of an error, which must be about the document. */
function errorOf(answer: Answer): string {
  return answer.status === 400 && codeOf(answer) === "GRAPHQL_VALIDATION_FAILED"
    ? answer.errors[0].message
    : `not refused: ${JSON.stringify(answer.body)}`;
}

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
}

describe("cost", () => {
  test("every document of the surveyed clients passes, with a wide margin of cost", ({ expect }) => {
    const known = SURVEYED_DOCUMENTS.filter((query) => validate(managementSchema, parse(query)).length === 0);
    expect(known.length).toBeGreaterThanOrEqual(12);

    for (const query of known) {
      const document = parse(query);
      expect([query, exceededTextLimit(query) ?? exceededLimit(document)]).toEqual([query, undefined]);
      const { total } = costOf(managementSchema, document);
      expect([query, total * WIDE <= GRAPHQL_COST_MAX || total]).toEqual([query, true]);
    }
  });

  test("lists multiply what lies under them, and objects weigh more", ({ expect }) => {
    const schema = buildSchema(`
      type Query { one: Thing many: [Thing!]! word: String }
      type Thing { name: String things: [Thing] }`);
    const cost = (query: string) => costOf(schema, parse(query));

    expect(cost("{ word }").total).toBe(1);
    expect(cost("{ one { name } }").total).toBe(2);
    expect(cost("{ many { name } }").total).toBe(1 + 20);
    expect(cost("{ many { name things { name } } }")).toEqual({
      total: 1 + 20 + 20 + 20 * 4,
      mostExpensive: "many.things",
    });
    expect(
      cost("{ many { ...F ... on Thing { name } } } fragment F on Thing { things { name } }").total,
    ).toBe(1 + 20 + 20 * 4 + 20);
    expect(cost("query A { word } query B { one { name } }").total).toBe(2);
    expect(cost("{ __schema { types { name } } word }").total).toBe(1);

    const pods = costOf(managementSchema, parse("{ myself { endpoints { pods { id } } } }"));
    expect(pods).toEqual({ total: 1 + 1 + 20 * 10 + 20 * 4, mostExpensive: "myself.endpoints.pods" });
  });

  test("every field with a weight of its own is in the schema", ({ expect }) => {
    expect(printSchema(managementSchema)).toMatch(/type Endpoint \{[^}]*\bpods: /);
  });

  test("a too expensive document is answered with its cost, the limit and the most expensive field", async ({
    expect,
  }) => {
    const client = await freshClient();
    const document = `{ ${aliases(20, "myself { endpoints { pods { runtime { ports { ip privatePort publicPort type } } } } }")} }`;

    const message = errorOf(await client.send(document));
    const { total } = costOf(managementSchema, parse(document));
    expect(message).toContain(String(total));
    expect(message).toContain(String(GRAPHQL_COST_MAX));
    expect(message).toContain("myself.endpoints.pods");
  });

  test("mutations in one document are few", async ({ expect }) => {
    const client = await freshClient();
    const deletions = (count: number) => `mutation { ${aliases(count, 'deleteEndpoint(id: "none")')} }`;

    expect((await client.send(deletions(25))).errors).toHaveLength(25);
    expect(errorOf(await client.send(deletions(26)))).toContain("deleteEndpoint");
  });
});

describe("documents", () => {
  const cases: Record<string, string> = {
    "more than 10 operations": aliases(11, "").replaceAll(/a(\d+): /g, "query Q$1 { myself { id } }"),
    "more than 500 selections": `{ myself { id } } fragment F on User { ${"id ".repeat(GRAPHQL_SELECTIONS_MAX)} }`,
    "more than 50 directives": `{ myself { id ${"@x ".repeat(51)} } }`,
    brackets: `{ podTemplate(id: ${"[".repeat(9_000)}`,
    "more than 20000 tokens": `{ ${"id ".repeat(20_000)} }`,
    "more than 20000 comments": `${"#\n".repeat(100_000)} { myself { id } }`,
    "a name of more than 200 characters": `{ ${"x".repeat(201)} }`,
    aliases: `{ __schema { types { a: name b: name } } }`,
    "introspection depth": `{ __schema { types { fields { type { fields { type { fields { name } } } } } } } }`,
  };
  for (const [reason, document] of Object.entries(cases)) {
    test(`refused: ${reason}`, async ({ expect }) => {
      expect(errorOf(await (await freshClient()).send(document))).toContain(reason);
    });
  }

  test("introspection in fragments that repeat themselves stands without aliases too", async ({ expect }) => {
    const document = "{ __schema { types { ...T } } } fragment T on __Type { a: fields { name } }";
    expect(errorOf(await (await freshClient()).send(document))).toContain("aliases");
  });

  test("a hostile document gets few errors, and short ones", async ({ expect }) => {
    const client = await freshClient();
    const wrong = Array.from({ length: 190 }, (_, index) => `wrong${index}`).join(" ");
    const answer = await client.send(`{ myself { ${wrong} } }`);

    expect(answer.status).toBe(400);
    expect(answer.errors.length).toBeLessThanOrEqual(GRAPHQL_ERRORS_MAX);
    expect(answer.errors.length).toBeGreaterThan(40);
  });

  test("a message repeats little of a large input", async ({ expect }) => {
    const client = await freshClient();
    const large = "x".repeat(500_000);
    const calls: readonly [string, object?][] = [
      [`mutation { deleteEndpoint(id: "${large}") }`],
      [`mutation { deleteTemplate(templateName: ${large.slice(0, 100)}"${large}") }`],
      ["mutation ($i: EndpointInput) { saveEndpoint(input: $i) { id } }", { i: { gpuIds: large } }],
      ["mutation ($i: EndpointInput) { saveEndpoint(input: $i) { id } }", { i: { [large]: 1 } }],
      ["mutation ($i: EndpointInput) { saveEndpoint(input: $i) { id } }", { i: { workersMin: large } }],
      [`{ myself { endpoint(id: "${large}", ${large.slice(0, 150)}: 1) { id } } }`],
    ];
    for (const [query, variables] of calls) {
      const answer = await client.send(query, variables);
      expect(answer.errors.length).toBeGreaterThan(0);
      for (const { message } of answer.errors)
        expect(message.length).toBeLessThan(MESSAGE_MAX_CHARACTERS + 10);
    }
  });
});

describe("variables and bodies", () => {
  const SAVE = "mutation ($c: JSON) { saveTemplate(input: { config: $c }) { id } }";

  test("deeply nested variables are refused, however deep", async ({ expect }) => {
    const { key } = await freshClient();
    for (const depth of [GRAPHQL_VARIABLES_DEPTH_MAX + 1, 10_000, 400_000]) {
      for (const [open, close] of [
        ["[", "]"],
        ['{"a":', "}"],
      ] as const) {
        if (open.length * depth > 900_000) continue;
        const value = `${open.repeat(depth)}1${close.repeat(depth)}`;
        const answer = await post(`/?api_key=${key}`, `{"query":"${SAVE}","variables":{"c":${value}}}`);
        expect([depth, answer.status, codeOf(answer)]).toEqual([depth, 400, "BAD_REQUEST"]);
        expect(answer.errors[0].message).toContain(String(GRAPHQL_VARIABLES_DEPTH_MAX));
      }
    }
  });

  test("what nests less is kept as it is", async ({ expect }) => {
    const client: Client = await freshClient();
    const config = nested(GRAPHQL_NESTING_MAX - 10);
    const { data } = await client.send(
      `mutation ($c: JSON) { saveTemplate(input: { name: "n", imageName: "i", containerDiskInGb: 1, volumeInGb: 0,
         config: $c }) { config } }`,
      { c: config },
    );
    expect(data.saveTemplate.config).toEqual(config);
  });

  test("a row that D1 would not keep is refused as the caller's mistake", async ({ expect }) => {
    const client = await freshClient();
    const { data } = await client.send(
      `mutation { saveTemplate(input: { name: "n", imageName: "i", containerDiskInGb: 1, volumeInGb: 0 }) { id } }`,
    );
    const grow = async (field: string) =>
      await client.send(
        `mutation ($v: String) { saveTemplate(input: { id: "${data.saveTemplate.id}", ${field}: $v }) { id } }`,
        { v: "x".repeat(900_000) },
      );

    expect((await grow("readme")).errors).toBeUndefined();
    const second = await grow("startScript");
    expect(codeOf(second)).toBe("INVALID_INPUT");
    expect(second.errors[0].message).toMatch(/^(readme|startScript): /);
  });

  test("several requests in one body are refused as such", async ({ expect }) => {
    const { key } = await freshClient();
    const answer = await post(`/?api_key=${key}`, '[{"query":"{ myself { id } }"}]');
    expect([answer.status, codeOf(answer)]).toEqual([400, "BAD_REQUEST"]);
  });

  test("the body is read as JSON whatever the content type says", async ({ expect }) => {
    const { key, accountId } = await freshClient();
    const body = JSON.stringify({ query: "{ myself { id } }" });
    for (const type of ["application/json; charset=utf-8", "text/plain", "", "application/graphql+json"]) {
      const answer = await post(`/?api_key=${key}`, body, { "content-type": type });
      expect(answer.body).toEqual({ data: { myself: { id: accountId } } });
    }
    const form = `--b\r\nContent-Disposition: form-data; name="operations"\r\n\r\n${body}\r\n--b--`;
    const answer = await post(`/?api_key=${key}`, form, {
      "content-type": "multipart/form-data; boundary=b",
    });
    expect([answer.status, codeOf(answer)]).toEqual([400, "BAD_REQUEST"]);
  });
});
