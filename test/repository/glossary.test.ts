import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { findRetiredTerms } from "../../scripts/check/glossary.ts";

const FILES = {
  "src/desk.ts": "export const roomFor = 1;\n",
  "src/names.ts": [
    "// A comment may say hand, and so may a text: it is no name.",
    'const text = "hand";',
    "class Queue { #heldJob = text; carryOut(): void {} }",
    'log("worker_wanted_again");',
    "const held = { release: redirect(), isRedirected: heldUntil };",
    "type KeptSlot = { readonly podId: string };",
  ].join("\n"),
  "names.py": "def test_what_is_told(): ...\ndef hand_over(): ...\n",
  "page.md": "A stint of before.\n",
  "src/prose.ts": [
    "// The crew of a host.",
    "/** Reads the roster, and one standing order. */",
    'export const message = "No host has room for the wish.";',
  ].join("\n"),
  "prose.py": '"""What is on the shelf."""\n',
};

test("retired words are found in names of every kind, and nowhere else", async ({
  expect,
  onTestFinished,
}) => {
  const root = await mkdtemp(join(tmpdir(), "edgerun-glossary-"));
  onTestFinished(() => rm(root, { recursive: true }));
  await mkdir(join(root, "src"));
  for (const [path, content] of Object.entries(FILES)) await writeFile(join(root, path), content);
  execFileSync("git", ["init", "--quiet"], { cwd: root });
  const found = findRetiredTerms(root).map(({ path, line, word }) => `${path}:${line} ${word}`);
  expect(found.toSorted()).toEqual([
    "names.py:2 hand_over (hand)",
    "page.md:1 of before",
    "page.md:1 stint",
    "prose.py:1 shelf",
    "src/desk.ts:1 desk.ts (desk)",
    "src/desk.ts:1 roomFor (room)",
    "src/names.ts:3 carryOut (carry)",
    "src/names.ts:3 heldJob (held job, held-)",
    "src/names.ts:4 worker_wanted_again (wanted)",
    "src/names.ts:6 KeptSlot (kept-)",
    "src/prose.ts:1 crew",
    "src/prose.ts:2 roster",
    "src/prose.ts:2 standing order",
    "src/prose.ts:3 has room for",
    "src/prose.ts:3 the wish",
  ]);
});
