import { test } from "vitest";
import { issueOf, patternsOf } from "../../scripts/check/patterns.ts";

test("the check rejects patterns that are not linear, and accepts others", async ({ expect }) => {
  const refused = [/=+$/, /#.*[\n\r]/g, /^(a+)+$/, /\s*\n?\s*traceback/, /^(['"]).*\1$/];
  for (const { source, flags } of refused) expect(await issueOf({ source, flags }), source).toBeDefined();
  const passed = [/#[^\n\r]*/g, /^[a-z]+$/, /\{\{\s*SECRET_([^{}]*)\}\}/g];
  for (const { source, flags } of passed) expect(await issueOf({ source, flags })).toBeUndefined();
});

test("the check finds every pattern of a file", ({ expect }) => {
  const text = 'const a = /x+/g;\nif (/y/.test(a)) {}\nnew RegExp(a); RegExp("b"); const path = a / b / c;';
  expect(patternsOf("a.ts", text)).toEqual({
    literals: [
      { source: "x+", flags: "g", place: "a.ts:1" },
      { source: "y", flags: "", place: "a.ts:2" },
    ],
    constructed: ["a.ts:3", "a.ts:3"],
  });
});
