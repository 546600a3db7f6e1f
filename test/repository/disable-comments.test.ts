import { globSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { test } from "vitest";

const ROOT = resolve(import.meta.dirname, "../..");
const DISABLING = /(oxlint|eslint)-disable/;
const WITH_REASON = /(oxlint|eslint)-disable(-next-line|-line)? [a-z/@,\s-]+ -- \S.*/;

test("a comment that switches a rule off names the rule and says why", ({ expect }) => {
  const files = globSync("{src,node-agent,cli,console,scripts,test,bench,examples}/**/*.{ts,tsx,mjs}", {
    cwd: ROOT,
    exclude: ["**/node_modules/**", "test/repository/disable-comments.test.ts"],
  });
  const bare = files.flatMap((file) =>
    readFileSync(resolve(ROOT, file), "utf8")
      .split("\n")
      .filter((line) => DISABLING.test(line) && !WITH_REASON.test(line))
      .map((line) => `${file}: ${line.trim()}`),
  );
  expect(bare).toEqual([]);
});
