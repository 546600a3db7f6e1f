import { test } from "vitest";
import { AGENT_VERSION, AGENT_VERSION_MIN, isEarlier } from "./agent-version.ts";

test.for([
  ["0.1.0", "0.2.0", true],
  ["0.2.0", "0.1.9", false],
  ["1.0.0", "1.0.0", false],
  ["0.9.0", "0.10.0", true],
  ["v22.15.1", "22.16.0", true],
  ["1.0.0-rc.1", "1.0.0", false],
  ["test", "1.0.0", undefined],
  ["1.0", "1.0.0", undefined],
  ["", "1.0.0", undefined],
] as const)("%s before %s: %s", ([a, b, expected], { expect }) => {
  expect(isEarlier(a, b)).toBe(expected);
});

test("what the edge serves is not older than what it asks for", ({ expect }) => {
  expect(isEarlier(AGENT_VERSION, AGENT_VERSION_MIN)).toBe(false);
});
