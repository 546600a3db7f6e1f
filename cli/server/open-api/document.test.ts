import { Validator } from "@seriousme/openapi-schema-validator";
import { expect, test } from "vitest";
import type { ManifestParameter, ManifestResource } from "../../../src/contract/flash/flash-manifest.ts";
import { openApiDocument } from "./document.ts";
import { readJob } from "../requests/request-body.ts";
import { checkedJob } from "../requests/queue-input.ts";
import type { ServedEndpoint } from "../requests/served-app.ts";

function parameter(
  name: string,
  annotation: string,
  more: Partial<ManifestParameter> = {},
): ManifestParameter {
  return { name, kind: "positional", annotation, isRequired: true, ...more };
}

const isOptional = { isRequired: false };
const queues: Readonly<Record<string, ManifestResource["functions"]>> = {
  hello: [
    {
      name: "hello",
      module: "m",
      description: "Says hello.",
      parameters: [parameter("name", "str"), parameter("times", "int", { ...isOptional, default: 2 })],
    },
  ],
  tick: [{ name: "tick", module: "m", parameters: [] }],
  "my-model": [
    {
      name: "Model",
      module: "m",
      is_class: true,
      class_methods: ["embed", "pick"],
      parameters: [],
      method_parameters: {
        embed: [parameter("texts", "list[str]")],
        pick: [parameter("size", "Literal['s', 'm']")],
      },
    },
  ],
  own: [],
};
const api: ManifestResource = {
  is_load_balanced: true,
  functions: [
    {
      name: "search",
      module: "m",
      http_method: "GET",
      http_path: "/things/{id}",
      parameters: [parameter("id", "int"), parameter("q", "str"), parameter("page", "int", isOptional)],
    },
    {
      name: "save",
      module: "m",
      http_method: "PUT",
      http_path: "/things/{id}",
      parameters: [parameter("id", "int"), parameter("data", "dict")],
    },
    {
      name: "upload",
      module: "m",
      http_method: "POST",
      http_path: "/files",
      parameters: [parameter("file", "bytes"), parameter("title", "str")],
    },
    { name: "reset", module: "m", http_method: "POST", http_path: "/reset", parameters: [] },
  ],
};
const endpoints: readonly ServedEndpoint[] = [
  ...Object.entries(queues).map(([name, functions]) => ({
    name,
    resource: { is_load_balanced: false, functions },
  })),
  { name: "api", resource: api, problem: "api.py:3: SyntaxError: invalid syntax" },
];

type Media = {
  readonly schema: object;
  readonly example?: unknown;
  readonly examples?: Record<string, { readonly value: unknown }>;
};
type Operation = {
  readonly summary: string;
  readonly parameters?: readonly Readonly<Record<string, unknown>>[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
};
type Document = {
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
};

const document = openApiDocument("demo", "1.0", endpoints) as Document;

test("the document is valid OpenAPI 3.1", async () => {
  const { valid, errors } = await new Validator().validate(structuredClone(document));
  expect({ valid, errors }).toEqual({ valid: true, errors: undefined });
});

test.each<[string, readonly unknown[]]>([
  ["hello", [{ input: { name: "hello" } }]],
  ["tick", [{ input: {} }]],
  ["my-model", [{ input: { method: "embed", texts: ["hello"] } }, { input: { method: "pick", size: "s" } }]],
  ["own", [{ input: {} }]],
])("the example bodies of %s are accepted as they stand", (name, expected) => {
  const content = document.paths[`/${name}/runsync`]?.["post"]?.requestBody?.content;
  const { example, examples } = content?.["application/json"] ?? {};
  const shown = examples ? Object.values(examples).map(({ value }) => value) : [example];
  expect(shown).toEqual(expected);
  const functions = queues[name] ?? [];
  for (const body of shown) {
    const job = readJob(Buffer.from(JSON.stringify(body)));
    expect(checkedJob({ is_load_balanced: false, functions }, job)).toEqual(job);
  }
});

test("arguments of routes are in the path, the query, JSON or a form", () => {
  const { get, put } = document.paths["/api/things/{id}"] ?? {};
  expect(get?.parameters).toMatchObject([
    { name: "id", in: "path", required: true, example: 1 },
    { name: "q", in: "query", required: true, example: "hello" },
    { name: "page", in: "query", required: false },
  ]);
  expect(put?.parameters).toMatchObject([{ name: "id", in: "path" }]);
  expect(put?.requestBody?.content["application/json"]?.example).toEqual({ data: { message: "hello" } });
  const form = document.paths["/api/files"]?.["post"]?.requestBody?.content["multipart/form-data"];
  expect(form?.schema).toMatchObject({
    properties: { file: { format: "binary" }, title: { example: "hello" } },
    required: ["file", "title"],
  });
  expect(document.paths["/api/reset"]?.["post"]).not.toHaveProperty("requestBody");
});

test("descriptions come from docstrings, and an unreadable endpoint shows its problem", () => {
  expect(document.paths["/hello/runsync"]?.["post"]?.summary).toBe("Says hello.");
  expect(document.tags.find(({ name }) => name === "api")?.description).toContain("api.py:3: SyntaxError");
});
