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

test("answers may gain members, so the published document closes none of them", ({ expect }) => {
  const text = JSON.stringify(makeDocument());
  expect(text).not.toContain('"additionalProperties":false');
});
