import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, test } from "vitest";
import { PLANTED_FILES } from "./planted-files.ts";

const ROOT = resolve(import.meta.dirname, "../..");

type Report = { readonly diagnostics: readonly { readonly code: string; readonly filename: string }[] };

let directory: string;
let rulesByFile: ReadonlyMap<string, readonly string[]>;

/** Lays the files out as a small repository with our configuration, so that the layers' paths match. */
async function plant(): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), "edgerun-lint-"));
  await symlink(join(ROOT, "node_modules"), join(root, "node_modules"));
  await writeFile(join(root, ".gitignore"), "node_modules\n");
  for (const path of [".oxlintrc.json", "tsconfig.base.json", "scripts/lint"]) {
    await cp(join(ROOT, path), join(root, path), { recursive: true });
  }
  await writeFile(join(root, "tsconfig.json"), '{ "extends": "./tsconfig.base.json" }\n');
  for (const { path, source } of PLANTED_FILES) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), source);
  }
  return root;
}

async function lint(root: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const { stdout } = await execa(
    process.execPath,
    [join(ROOT, "node_modules/oxlint/bin/oxlint"), "--format", "json"],
    { cwd: root, reject: false },
  );
  const { diagnostics } = JSON.parse(stdout) as Report;
  const rules = new Map<string, string[]>();
  for (const { code, filename } of diagnostics) {
    rules.set(filename, [...(rules.get(filename) ?? []), code]);
  }
  return rules;
}

beforeAll(async () => {
  directory = await plant();
  rulesByFile = await lint(directory);
});
afterAll(async () => {
  await rm(directory, { recursive: true, force: true });
});

describe("a planted violation is reported", () => {
  for (const { path, rule } of PLANTED_FILES.filter((file) => file.rule !== undefined)) {
    test(`${path}: ${rule}`, ({ expect }) => {
      expect(rulesByFile.get(path) ?? []).toContain(rule);
    });
  }
});

describe("what is allowed is not reported", () => {
  for (const { path } of PLANTED_FILES.filter((file) => file.rule === undefined)) {
    test(path, ({ expect }) => {
      expect(rulesByFile.get(path) ?? []).toEqual([]);
    });
  }
});
