import { env, exports } from "cloudflare:workers";
import { getIntrospectionQuery } from "graphql";
import { describe, test } from "vitest";
import { graphqlRoutes } from "../../src/graphql/routes.ts";
import { freshAccount } from "./accounts.ts";
import { codeOf, freshClient, post, readAnswer } from "./graphql-client.ts";
import { issueAt } from "./message-facts.ts";

const MYSELF = JSON.stringify({ query: "query { myself { id } }" });

describe("credentials", () => {
  test("the key comes in the address or as a Bearer header", async ({ expect }) => {
    const { key, accountId } = await freshAccount();
    const expected = { data: { myself: { id: accountId } } };

    expect((await post(`/?api_key=${key}`, MYSELF)).body).toEqual(expected);
    expect((await post("/", MYSELF, { authorization: `Bearer ${key}` })).body).toEqual(expected);
    expect((await post("/", MYSELF, { authorization: `bearer ${key}` })).body).toEqual(expected);
    expect((await post("/", MYSELF, { authorization: key })).body).toEqual(expected);
  });

  test("the header wins over the address", async ({ expect }) => {
    const [one, two] = [await freshAccount(), await freshAccount()];

    const answer = await post(`/?api_key=${one.key}`, MYSELF, { authorization: `Bearer ${two.key}` });
    expect(answer.data.myself.id).toBe(two.accountId);

    for (const authorization of ["Bearer", "Bearer ", " ", "Basic dXNlcjpwYXNz"]) {
      const empty = await post(`/?api_key=${one.key}`, MYSELF, { authorization });
      expect(empty.data.myself.id).toBe(one.accountId);
    }
    const wrong = await post(`/?api_key=${one.key}`, MYSELF, { authorization: "Bearer wrong" });
    expect(wrong.status).toBe(401);
  });

  test("a missing or wrong key is answered 401 in JSON, before the body is read", async ({ expect }) => {
    for (const path of ["/", "/?api_key=", "/?api_key=wrong"]) {
      const answer = await post(path, "not even JSON");
      expect(answer.status).toBe(401);
      expect(codeOf(answer)).toBe("UNAUTHORIZED");
      expect(answer.errors[0].message).toMatch(/^Unauthorized: /);
      expect(answer.errors[0].message).not.toContain("wrong'");
    }
  });

  test("the key of the environment opens the default account", async ({ expect }) => {
    const answer = await post("/?api_key=test-root-key-of-more-than-32-characters", MYSELF);
    expect(answer.body).toEqual({ data: { myself: { id: "default" } } });
  });
});

describe("requests", () => {
  test("the Worker serves them at /graphql", async ({ expect }) => {
    const { key, accountId } = await freshAccount();
    const url = `http://edge.test/graphql?api_key=${key}`;
    const response = await exports.default.fetch(url, { method: "POST", body: MYSELF });
    expect(response.headers.get("content-type")).toMatch("application/json");
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    expect(response.headers.has("access-control-allow-origin")).toBe(false);
    expect(await response.json()).toEqual({ data: { myself: { id: accountId } } });
  });

  test("anything but POST is answered 405 in JSON", async ({ expect }) => {
    const { key } = await freshAccount();
    const response = await graphqlRoutes().request(`/?api_key=${key}`, {}, env);
    expect(response.headers.get("allow")).toBe("POST");
    const answer = await readAnswer(response);
    expect(answer.status).toBe(405);
    expect(codeOf(answer)).toBe("METHOD_NOT_ALLOWED");
  });

  test("a body that is no request is answered 400", async ({ expect }) => {
    const { key } = await freshAccount();
    const bodies = [
      "",
      "{",
      "[]",
      `[${MYSELF}]`,
      "null",
      "{}",
      '{"query": 5}',
      '{"query": "{ myself { id } }", "variables": []}',
    ];
    for (const body of bodies) {
      const answer = await post(`/?api_key=${key}`, body);
      expect([body, answer.status, codeOf(answer)]).toEqual([body, 400, "BAD_REQUEST"]);
    }
  });

  test("unknown members, null variables and an operation name are accepted", async ({ expect }) => {
    const { key, accountId } = await freshAccount();
    const bodies = [
      { query: "{ myself { id } }", variable: {}, variables: null },
      { query: "{ myself { id } }", variables: {}, operationName: null },
      { query: "query A { myself { id } } query B { myself { email } }", operationName: "A" },
    ];
    for (const body of bodies) {
      const answer = await post(`/?api_key=${key}`, JSON.stringify(body));
      expect(answer.body).toEqual({ data: { myself: { id: accountId } } });
    }
  });

  test("a body above a megabyte is answered 413", async ({ expect }) => {
    const { key } = await freshAccount();
    const fits = JSON.stringify({ query: "{ myself { id } }", padding: "x".repeat(990_000) });
    const tooLarge = JSON.stringify({ query: "{ myself { id } }", padding: "x".repeat(1_000_000) });

    expect((await post(`/?api_key=${key}`, fits)).status).toBe(200);
    const answer = await post(`/?api_key=${key}`, tooLarge);
    expect(answer.status).toBe(413);
    expect(codeOf(answer)).toBe("PAYLOAD_TOO_LARGE");
  });
});

describe("documents", () => {
  test("a document that does not parse is answered 400 in JSON", async ({ expect }) => {
    const client = await freshClient();
    // A quote that a string-built document did not escape.
    const answer = await client.send('mutation { deleteTemplate(templateName: "a "quoted" name") }');

    expect(answer.status).toBe(400);
    expect(codeOf(answer)).toBe("GRAPHQL_PARSE_FAILED");
    expect(answer.data).toBeNull();
  });

  test("a document that does not validate is answered 400 and names the operation", async ({ expect }) => {
    const client = await freshClient();
    const answer = await client.send("{ myself { id nonsense } }");

    expect(answer.status).toBe(400);
    expect(codeOf(answer)).toBe("GRAPHQL_VALIDATION_FAILED");
    expect(answer.errors[0].path).toEqual(["myself"]);
    expect(answer.errors[0].message).toContain("nonsense");
  });

  test("an error of an operation is answered 200 with its path and code", async ({ expect }) => {
    const client = await freshClient();
    const answer = await client.send('mutation { x: deleteEndpoint(id: "unknown") }');

    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      data: { x: null },
      errors: [
        {
          message: expect.stringMatching(issueAt("id", "'unknown'")),
          path: ["x"],
          extensions: { code: "ENDPOINT_NOT_FOUND" },
        },
      ],
    });
  });

  test.for([
    ["secretDelete", "id"],
    ["deleteEndpoint", "id"],
    ["revokeApiKey", "id"],
    ["deleteRegistryAuth", "registryAuthId"],
    ["deleteTemplate", "templateName"],
    ["updateEndpointTemplate(input: {})", "endpointId"],
    ["rollbackEndpoint(input: {})", "endpointId"],
    ["hostRemove", "id"],
  ])("%s without its %s says that it is required", async ([call, field], { expect }) => {
    const selection = call?.includes("(") ? "{ id }" : "";
    const answer = await (await freshClient()).send(`mutation { ${call} ${selection} }`);
    expect(codeOf(answer)).toBe("INVALID_INPUT");
    expect(answer.errors[0].message).toMatch(issueAt(field ?? ""));
  });

  test("variables that do not fit are answered 200 with a path and a code", async ({ expect }) => {
    const client = await freshClient();
    const query = "mutation ($input: EndpointInput!) { saveEndpoint(input: $input) { id } }";
    const answer = await client.send(query, { input: { idleTimeout: "five" } });

    expect(answer.status).toBe(200);
    expect(answer.errors[0]).toMatchObject({
      path: ["saveEndpoint"],
      extensions: { code: "INVALID_INPUT" },
    });
    expect(answer.errors[0].message).toContain("idleTimeout");
  });

  test("variables that the document does not declare are ignored", async ({ expect }) => {
    const client = await freshClient();
    const answer = await client.send("query ($id: String) { podTemplate(id: $id) { id } }", {
      id: "none",
      undeclared: { deep: [1] },
    });
    expect(answer.body).toEqual({ data: { podTemplate: null } });
  });

  test("aliases, commas, odd blanks, fragments and __typename are understood", async ({ expect }) => {
    const client = await freshClient();
    const answer = await client.send(`
      query { me :myself { __typename, id,  mail: email } other: myself { ...only } }
      fragment only on User { id }`);
    expect(answer.body).toEqual({
      data: {
        me: { __typename: "User", id: client.accountId, mail: null },
        other: { id: client.accountId },
      },
    });
  });

  test("the standard introspection document is answered", async ({ expect }) => {
    const client = await freshClient();
    const { status, data, errors } = await client.send(getIntrospectionQuery());

    expect(status).toBe(200);
    expect(errors).toBeUndefined();
    const names = data.__schema.types.map((type: { name: string }) => type.name);
    expect(names).toEqual(
      expect.arrayContaining([
        "EndpointInput",
        "SaveTemplateInput",
        "PodTemplate",
        "Endpoint",
        "User",
        "Void",
      ]),
    );
  });

  test("too deep, too many aliases or too many fields are refused", async ({ expect }) => {
    const client = await freshClient();
    const aliases = Array.from({ length: 51 }, (_, index) => `a${index}: myself { id }`).join(" ");
    const fields = Array.from({ length: 100 }, () => "myself { id }").join(" ");
    const halves = Array.from({ length: 26 }, (_, index) => `b${index}: id`).join(" ");
    const documents = {
      aliases: `{ ${aliases} }`,
      "more than 200 fields": `{ ${fields} myself { id } }`,
      "deeper than 10 levels": `{ ${"x { ".repeat(10)} y ${"} ".repeat(10)} }`,
      "more than 50 aliases": `{ myself { ...A } b: myself { ...A } } fragment A on User { ${halves} }`,
    };
    for (const [reason, document] of Object.entries(documents)) {
      const answer = await client.send(document);
      expect(answer.status).toBe(400);
      expect(codeOf(answer)).toBe("GRAPHQL_VALIDATION_FAILED");
      expect(answer.errors[0].message).toContain(reason);
    }
  });

  test("fifty aliases are answered", async ({ expect }) => {
    const client = await freshClient();
    const aliases = Array.from({ length: 50 }, (_, index) => `a${index}: myself { id }`).join(" ");
    const answer = await client.send(`{ ${aliases} }`);
    expect(answer.status).toBe(200);
    expect(Object.keys(answer.data)).toHaveLength(50);
  });

  test("fragments that multiply or go in circles cost nothing", async ({ expect }) => {
    const client = await freshClient();
    const doubling = Array.from(
      { length: 30 },
      (_, index) => `fragment F${index} on User { ...F${index + 1} ...F${index + 1} }`,
    ).join(" ");
    const many = await client.send(`{ myself { ...F0 } } ${doubling} fragment F30 on User { id }`);
    expect(many.status).toBe(400);

    const circle = await client.send(
      "{ myself { ...A } } fragment A on User { ...B } fragment B on User { id ...A }",
    );
    expect(circle.status).toBe(400);
  });
});
