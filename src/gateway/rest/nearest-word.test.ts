import { test } from "vitest";
import { nearestWord } from "./nearest-word.ts";

const KNOWN = ["workersMin", "workersMax", "idleTimeout", "name"];

test.for([
  ["workersMaxx", "workersMax"],
  ["workersmax", "workersMax"],
  ["worker_max", "workersMax"],
  ["nam", "name"],
  ["idletimout", "idleTimeout"],
  ["somethingElse", undefined],
  ["x", undefined],
  ["", undefined],
] as const)("%s means %s", ([word, meant], { expect }) => {
  expect(nearestWord(word, KNOWN)).toBe(meant);
});
