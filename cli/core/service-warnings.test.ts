import { expect, test } from "vitest";
import { ServiceWarnings } from "./service-warnings.ts";

test("warnings are shown at the end, each once", () => {
  const shown: string[] = [];
  const warnings = new ServiceWarnings((message) => shown.push(message));
  for (const message of ["one", "two", "one"]) warnings.add(message);
  expect(shown).toEqual([]);
  expect(warnings.messages).toEqual(["one", "two"]);
  warnings.flush();
  expect(shown).toEqual(["one", "two"]);
  warnings.flush();
  expect(shown).toEqual(["one", "two"]);
});

test("a long-running command shows them as they come, still once", () => {
  const shown: string[] = [];
  const warnings = new ServiceWarnings((message) => shown.push(message));
  warnings.add("first");
  warnings.flush();
  for (const message of ["first", "now", "now"]) warnings.add(message);
  expect(shown).toEqual(["first", "now"]);
});
