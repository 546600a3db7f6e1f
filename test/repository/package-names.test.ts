/** Nobody owns the name of our packages in public registries, so nothing may send people there for it. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { test } from "vitest";
import { PACKAGE_NAME } from "../../src/contract/flash/packages.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const NAME = `["']?${PACKAGE_NAME}(?:\\[[^\\]]*\\])?(?:[=<>~@!][^\\s/]*)?["']?`;
/** Commands of pip, uv, pipx, npm and their like, with the name alone and not below an address. */
const INSTALLS = new RegExp(
  `\\b(?:pip3? install|pipx (?:install|run)|uv (?:add|pip install|tool install)|uvx|npm (?:install|i|exec)|npx|pnpm (?:add|dlx)|yarn add|poetry add)(?: [^\\s]+)*? ${NAME}(?=[\\s\`);,.]|$)`,
  "m",
);
const REQUIRES = new RegExp(`^\\s*${NAME}\\s*(?:;.*)?$`, "m");

function trackedFiles(): readonly string[] {
  return execFileSync("git", ["ls-files", "-z"], { cwd: ROOT, encoding: "utf8" }).split("\0").filter(Boolean);
}

const isRequirements = (path: string): boolean => /^requirements.*\.txt$/.test(basename(path));

test.for([
  ["pip install edgerun", true],
  ["pip install -U edgerun==1.0", true],
  ["run `npm install -g edgerun`.", true],
  ["uvx edgerun", true],
  ["pip install -r https://edge.example/packages/requirements.txt", false],
  ["npm install -g https://edge.example/packages/edgerun.tgz", false],
] as const)("%s", ([line, isFound], { expect }) => {
  expect(INSTALLS.test(line)).toBe(isFound);
});

test("no file tells anybody to install the packages from a public registry", ({ expect }) => {
  const files = trackedFiles().filter((path) => /\.(md|ts|py|toml|txt|html|js|mjs|sh)$/.test(path));
  expect(files.length).toBeGreaterThan(100);
  const found = files.filter((path) => {
    if (path === "test/repository/package-names.test.ts") return false;
    const text = readFileSync(join(ROOT, path), "utf8");
    return INSTALLS.test(text) || (isRequirements(path) && REQUIRES.test(text));
  });
  expect(found).toEqual([]);
});
