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
