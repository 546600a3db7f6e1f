import { execFileSync } from "node:child_process";
import { test } from "vitest";
import { shellWord } from "./shell-word.ts";

test.for([
  "https://edge.example",
  "",
  "a b",
  "it's",
  "$(id)`id`",
  'x"; rm -rf /',
  "new\nline",
  "'",
  "''\\'",
  "*",
])("a shell reads %j as it is", (text, { expect }) => {
  const read = execFileSync("/bin/sh", ["-c", `printf %s ${shellWord(text)}`], { encoding: "utf8" });
  expect(read).toBe(text);
});

test("what needs no quotes has none", ({ expect }) => {
  expect(shellWord("https://edge.example:8787")).toBe("https://edge.example:8787");
});
