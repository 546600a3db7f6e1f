import { test } from "vitest";
import { derivedRowId, randomRowId } from "./row-id.ts";

test("ids have 14 lower-case letters and digits, and differ", ({ expect }) => {
  const ids = Array.from({ length: 200 }, randomRowId);

  for (const id of ids) expect(id).toMatch(/^[a-z0-9]{14}$/);
  expect(new Set(ids).size).toBe(200);
});

test("the same text has the same id, and another text has another", async ({ expect }) => {
  const id = await derivedRowId("a build");
  expect(id).toMatch(/^[a-z0-9]{14}$/);
  expect(await derivedRowId("a build")).toBe(id);
  expect(await derivedRowId("another build")).not.toBe(id);
});
