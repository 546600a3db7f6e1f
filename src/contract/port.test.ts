import { createRequire } from "node:module";
import { test } from "vitest";
import { isBlockedPort, problemOfPort } from "./port.ts";

test("the ports that fetch refuses are those that Node's own refuses", ({ expect }) => {
  const { badPorts } = createRequire(import.meta.url)("undici/lib/web/fetch/constants.js") as {
    badPorts: readonly string[];
  };
  const all = Array.from({ length: 65_535 }, (_, index) => index + 1);
  expect(all.filter(isBlockedPort)).toEqual(badPorts.map(Number));
});

test.for(["1024", "6001", "8787", "65535"])("%s is a port for a server", (text, { expect }) => {
  expect(problemOfPort(text)).toBeUndefined();
});

test.for([
  ["none", "A port is a whole number from 1 to 65535."],
  ["0", "A port is a whole number from 1 to 65535."],
  ["65536", "A port is a whole number from 1 to 65535."],
  ["80.5", "A port is a whole number from 1 to 65535."],
  [
    "6000",
    "refuse to call port 6000, which is known for another protocol. Choose another one, such as 6001.",
  ],
  ["6666", "Choose another one, such as 6670."],
] as const)("%s is none, with what would be right", ([text, words], { expect }) => {
  expect(problemOfPort(text)).toContain(words);
});
