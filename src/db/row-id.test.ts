import { test } from "vitest";
import { randomRowId } from "./row-id.ts";

test("an id is 14 lower-case letters and digits, and another one each time", ({ expect }) => {
  const ids = Array.from({ length: 200 }, randomRowId);

  for (const id of ids) expect(id).toMatch(/^[a-z0-9]{14}$/);
  expect(new Set(ids).size).toBe(200);
});
