/** Each bug that simulated histories have found has a mistake that undoes its fix, and a test that notices it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "vitest";
import { FOUND_MUTANTS } from "../../scripts/mutants/found.ts";
import { MUTANTS } from "../../scripts/mutants/list.ts";
import { PLANTED } from "../simulation/planted.ts";

const ROOT = join(import.meta.dirname, "../..");
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

const bugs = read("test/simulation/FOUND.md").split(/^### /m).slice(1);
const shown = bugs.flatMap((bug) =>
  [...bug.matchAll(/^- Shown by `(\w+)`: `([^`]+)`, (.+)$/gm)].map(([, id = "", path = "", titles = ""]) => {
    return { id, path, titles: [...titles.matchAll(/"([^"]+)"/g)].map(([, title = ""]) => title) };
  }),
);

test("names its cause, its fix and what shows it", ({ expect }) => {
  const lines = /^- Cause: .+\n- Fix: .+\n- Seed: .+\n- (?:Shown by `|In histories: )/m;
  expect(bugs.filter((bug) => !lines.test(bug))).toEqual([]);
  expect(shown.length).toBeGreaterThan(0);
});

test("names mutants whose tests it names as well, and no mutant of the kind is left out", ({ expect }) => {
  const unknown = shown.filter(({ id, path }) => {
    const mutant = MUTANTS.find((one) => one.id === id);
    return mutant?.tests.some((filter) => path.includes(filter)) !== true;
  });
  expect(unknown).toEqual([]);
  const named = new Set(shown.map(({ id }) => id));
  expect(FOUND_MUTANTS.map(({ id }) => id).filter((id) => !named.has(id))).toEqual([]);
});

test("names tests that there are", ({ expect }) => {
  const missing = shown.filter(({ path, titles }) => {
    const text = read(path);
    return titles.length === 0 || titles.some((title) => !text.includes(`"${title}"`));
  });
  expect(missing).toEqual([]);
});

test("names mistakes for histories that are planted there", ({ expect }) => {
  const named = bugs.flatMap((bug) => /^- In histories: (.+)$/m.exec(bug)?.[1]?.match(/\w+/g) ?? []);
  const planted = new Set(PLANTED.map(({ id }) => id));
  expect(named.filter((id) => !planted.has(id))).toEqual([]);
});

test("no two planted mistakes have the same id", ({ expect }) => {
  for (const list of [MUTANTS, PLANTED]) {
    const ids = list.map(({ id }) => id);
    expect(ids.filter((id, index) => ids.indexOf(id) < index)).toEqual([]);
  }
});
