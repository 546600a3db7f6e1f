import { describe, test } from "vitest";
import { assignedModelsSchema, modelReferenceSchema, MODELS_MAX, modelReferencesSchema } from "./model.ts";

describe("a reference to a model", () => {
  test.for([
    "org/name",
    "Qwen/Qwen3-8B",
    "org/name@main",
    "org/name@v1.0",
    "org/name@refs/pr/7",
    `org/name@${"a1".repeat(20)}`,
    `${"o".repeat(96)}/${"n".repeat(96)}`,
  ])("may be %s", (reference, { expect }) => {
    expect(modelReferenceSchema.safeParse(reference).success).toBe(true);
  });

  test.for([
    "",
    "name",
    "org/",
    "/name",
    "org/name/more",
    "../name",
    "org/..",
    "org/a..b",
    "org/a--b",
    "org/-a",
    "org/a-",
    "org/a.",
    "org/name@",
    "org/name@../up",
    "org/name@a//b",
    "org/name@/a",
    "org/name@a@b",
    "org/name@.git",
    "org/na me",
    "org/name@a\nb",
    "org/näme",
    `org/${"n".repeat(97)}`,
    `org/name@${"r".repeat(256)}`,
  ])("is not %j", (reference, { expect }) => {
    expect(modelReferenceSchema.safeParse(reference).success).toBe(false);
  });
});

test("a template has a bounded number of models", ({ expect }) => {
  const models = Array.from({ length: MODELS_MAX }, (_, index) => `org/name${index}`);
  expect(modelReferencesSchema.safeParse(models).success).toBe(true);
  expect(modelReferencesSchema.safeParse([...models, "org/one-more"]).success).toBe(false);
});

test("models come over http or https", ({ expect }) => {
  const sourceIs = (source: string) =>
    assignedModelsSchema.safeParse({ source, references: ["org/name"] }).success;
  expect(["https://hub.test", "http://127.0.0.1:8080/hub"].every(sourceIs)).toBe(true);
  expect(["file:///etc", "ftp://hub.test", "hub.test"].some(sourceIs)).toBe(false);
});
