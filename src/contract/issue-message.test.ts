import { test } from "vitest";
import * as z from "zod";
import "./issue-message.ts";

const schema = z.object({
  id: z.string().min(2).max(3),
  count: z.int().min(1),
  kind: z.enum(["a", "b"]),
  list: z.array(z.boolean()).max(1),
  either: z.union([z.string(), z.number()]),
  own: z.string("must be a name"),
});

test("what a schema refuses is told as what would be right, and its own messages stay", ({ expect }) => {
  const told = (value: unknown): unknown =>
    Object.fromEntries(
      schema.safeParse(value).error?.issues.map(({ path, message }) => [path[0], message]) ?? [],
    );
  expect(told({})).toEqual({
    id: "is required and must be a string",
    count: "is required and must be a number",
    kind: "is required and must be one of a, b",
    list: "is required and must be a list",
    either: "is required and must be in one of the forms that the documentation names",
    own: "must be a name",
  });
  expect(told({ id: "x", count: 0, kind: "c", list: [true, true], either: true, own: "" })).toEqual({
    id: "must have at least 2 characters",
    count: "must be at least 1",
    kind: "must be one of a, b",
    list: "must have at most 1 entries",
    either: "must be in one of the forms that the documentation names",
  });
  expect(told({ id: "xxxx", count: 1.5, kind: "a", list: [1], either: 1, own: "" })).toMatchObject({
    id: "must have at most 3 characters",
    list: "must be true or false",
  });
});
