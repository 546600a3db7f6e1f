import { Validator as JsonValidator, type Schema as JsonSchema } from "@cfworker/json-schema";
import { Validator } from "@seriousme/openapi-schema-validator";
import { test } from "vitest";

/** Imported by name, for its types are those of another runtime. */
const MODULE = "../../src/gateway/docs/openapi/document.ts";
const { makeDocument } = (await import(MODULE)) as { makeDocument: () => object };

test("the OpenAPI document is one", async ({ expect }) => {
  const validator = new Validator();
  expect(await validator.validate(JSON.parse(JSON.stringify(makeDocument())))).toEqual({ valid: true });
  expect(validator.version).toBe("3.1");
});

type Json = unknown;

/** All that answers are made of: their schemas, and the components that these name. */
function schemasOfAnswers(): string {
  const document = JSON.parse(JSON.stringify(makeDocument())) as {
    readonly paths: Record<string, Record<string, { readonly responses: Json }>>;
    readonly components: { readonly schemas: Record<string, Json> };
  };
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
  const texts = operations.map(({ responses }) => JSON.stringify(responses));
  const seen = new Set<string>();
  for (let text = texts.join("\n"); text !== "";) {
    const names = [...text.matchAll(/#\/components\/schemas\/(\w+)/g)].map(([, name = ""]) => name);
    const fresh = [...new Set(names)].filter((name) => !seen.has(name));
    for (const name of fresh) seen.add(name);
    text = fresh.map((name) => JSON.stringify(document.components.schemas[name])).join("\n");
    texts.push(text);
  }
  return texts.join("\n");
}

test("answers may gain members, so the published document closes none of them", ({ expect }) => {
  const text = schemasOfAnswers();
  expect(text).toContain("additionalProperties");
  expect(text).not.toContain('"additionalProperties":false');
});

type Operation = {
  readonly security?: readonly unknown[];
  readonly responses: Readonly<Record<string, unknown>>;
};
type Document = {
  readonly tags: readonly { readonly name: string; readonly description?: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: object;
};

const document = JSON.parse(JSON.stringify(makeDocument())) as Document;

test("every tag is described, and every operation that needs a key can be refused", ({ expect }) => {
  expect(document.tags.filter(({ description = "" }) => description === "")).toEqual([]);
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ on: `${method} ${path}`, ...operation })),
  );
  const unrefused = operations
    .filter(({ security }) => security?.length !== 0)
    .filter(({ responses }) => !Object.keys(responses).some((status) => status.startsWith("4")));
  expect(unrefused.map(({ on }) => on)).toEqual([]);
});

/** Every object and list in the document, with its place. */
function* nodesOf(value: Json, place = ""): Generator<readonly [place: string, node: Record<string, Json>]> {
  if (typeof value !== "object" || value === null) return;
  yield [place, value as Record<string, Json>];
  for (const [name, member] of Object.entries(value)) yield* nodesOf(member, `${place}/${name}`);
}

test("what is required is described, and the values of an enum have its type", ({ expect }) => {
  const wrong = [...nodesOf(document)].filter(([, { required, properties, type, enum: values }]) => {
    const members = Object.keys(properties ?? {});
    const isUndefined = Array.isArray(required) && required.some((name) => !members.includes(name as string));
    const isMistyped =
      Array.isArray(values) && typeof type === "string" && values.some((one) => typeof one !== type);
    return isUndefined || isMistyped;
  });
  expect(wrong.map(([place]) => place)).toEqual([]);
});

test("examples are valid by their schemas", ({ expect }) => {
  const { components } = document;
  const issues = [...nodesOf(document)].flatMap(([place, { schema, ...node }]) => {
    if (!("example" in node)) return [];
    const validator = new JsonValidator({ ...((schema ?? node) as JsonSchema), components }, "2020-12");
    return validator.validate(node["example"]).valid ? [] : [place];
  });
  expect(issues).toEqual([]);
});

/** Ids of endpoints never equal the first segments of REST v2, so the queue API and it share a prefix. */
const SHARED = /^\/v2\/\{endpointId\}\//;

test("no two paths are ambiguous, but for those of the queue API beside REST v2", ({ expect }) => {
  const paths = Object.keys(document.paths).filter((path) => !SHARED.test(path));
  const ambiguous = paths.flatMap((path, index) =>
    paths.slice(index + 1).filter((other) => areAmbiguous(path.split("/"), other.split("/"))),
  );
  expect(ambiguous).toEqual([]);
});

/** Says whether one address could be of either path, each having a fixed part where the other has a parameter. */
function areAmbiguous(one: readonly string[], other: readonly string[]): boolean {
  if (one.length !== other.length) return false;
  const pairs = one.map((part, index) => [part, other[index] ?? ""] as const);
  const isFree = (part: string) => part.startsWith("{");
  const mayMatch = pairs.every(([a, b]) => a === b || isFree(a) || isFree(b));
  return (
    mayMatch &&
    pairs.some(([a, b]) => isFree(a) && !isFree(b)) &&
    pairs.some(([a, b]) => isFree(b) && !isFree(a))
  );
}
