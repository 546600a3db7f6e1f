import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "vitest";

const ROOT = resolve(import.meta.dirname, "../..");

/** The formatter alone breaks and indents lines, and ends lists with a comma. */
const bare = (code: string) => code.replaceAll(/[\s;|]|,(?=\s*[})\]])/g, "");

test("the operations of the console fit the schema, and their types are those of the schema", ({
  expect,
}) => {
  // A process of its own, which has one copy of the graphql package.
  const script = join(ROOT, "scripts/console-operations.ts");
  const generated = execFileSync(process.execPath, [script, "--print"], { encoding: "utf8" });
  expect(bare(readFileSync(join(ROOT, "console/app/api/operations.ts"), "utf8"))).toBe(bare(generated));
});
