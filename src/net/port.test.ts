import { createRequire } from "node:module";
import { test } from "vitest";
import { isBlockedPort, portIssue } from "./port.ts";

test("the ports that fetch refuses are those that Node's own refuses", ({ expect }) => {
  const { badPorts } = createRequire(import.meta.url)("undici/lib/web/fetch/constants.js") as {
    badPorts: readonly string[];
  };
  const all = Array.from({ length: 65_535 }, (_, index) => index + 1);
  expect(all.filter(isBlockedPort)).toEqual(badPorts.map(Number));
});

test.for(["1024", "6001", "8787", "65535"])("%s is a port for a server", (text, { expect }) => {
  expect(portIssue(text)).toBeUndefined();
});

test.for([
  ["none", /\b1\b.*\b65535\b/],
  ["0", /\b1\b.*\b65535\b/],
  ["65536", /\b1\b.*\b65535\b/],
  ["80.5", /\b1\b.*\b65535\b/],
  ["6000", /\b6000\b.*\b6001\b/],
  ["6666", /\b6670\b/],
] as const)("%s is none, with what would be right", ([text, message], { expect }) => {
  expect(portIssue(text)).toMatch(message);
});
