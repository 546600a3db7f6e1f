import { test } from "vitest";
import * as z from "zod";
import "./validation-issues.ts";

const schema = z.object({
  id: z.string().min(2).max(3),
  count: z.int().min(1),
  kind: z.enum(["a", "b"]),
  list: z.array(z.boolean()).max(1),
  either: z.union([z.string(), z.number()]),
  own: z.string("must be a name"),
});

test("an issue says what would be right, and messages of the schema itself stay", ({ expect }) => {
  const told = (value: unknown): unknown =>
    Object.fromEntries(
      schema.safeParse(value).error?.issues.map(({ path, message }) => [path[0], message]) ?? [],
    );
  expect(told({})).toMatchInlineSnapshot(`
    {
      "count": "is required and must be a number",
      "either": "is required and must be in one of the forms that the documentation names",
      "id": "is required and must be a string",
      "kind": "is required and must be one of a, b",
      "list": "is required and must be a list",
      "own": "must be a name",
    }
  `);
  expect(told({ id: "x", count: 0, kind: "c", list: [true, true], either: true, own: "" }))
    .toMatchInlineSnapshot(`
    {
      "count": "must be at least 1",
      "either": "must be in one of the forms that the documentation names",
      "id": "must have at least 2 characters",
      "kind": "must be one of a, b",
      "list": "must have at most 1 entries",
    }
  `);
  expect(told({ id: "xxxx", count: 1.5, kind: "a", list: [1], either: 1, own: "" })).toMatchInlineSnapshot(`
    {
      "count": "must be a whole number",
      "id": "must have at most 3 characters",
      "list": "must be true or false",
    }
  `);
});
