import { globSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { test } from "vitest";

const ROOT = resolve(import.meta.dirname, "../..");

/** The object `z`, and `z.core` as a value, hold all of the package, with its messages in fifty languages. */
test("programs import from zod in a way that leaves out what they do not use", ({ expect }) => {
  const files = globSync("{src,node-agent,cli,standalone}/**/*.ts", { cwd: ROOT });
  const wrong = files.filter((file) =>
    /import \{[^}]*\bz\b[^}]*\} from "zod"|\bz\.core\.[a-z]/.test(readFileSync(resolve(ROOT, file), "utf8")),
  );
  expect(files.length).toBeGreaterThan(100);
  expect(wrong).toEqual([]);
});
