/**
 * Whatever reads text from outside takes time that grows with its length, no faster. Each reader is given long runs
 * of special characters and of the literals of its own source, where a pattern or a loop that goes back and forth
 * is at its worst. Such a reader takes minutes for a megabyte, a linear one milliseconds.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync, Visitor } from "oxc-parser";
import { describe, test } from "vitest";
import { TEXT_READERS, type TextReader } from "./text-readers.ts";

const ROOT = join(import.meta.dirname, "../..");
/** A reader that is not linear fails at the first within a second, and never comes to the last. */
const LENGTH = 32_768;
const FULL_LENGTH = 1_048_576;
/** At full length the units are tried that took longest at the short one. */
const FULL_LENGTH_UNITS = 2;
/** Time of the processor, so that what else runs on the machine does not count. What is quadratic takes seconds. */
const LIMIT_MS = 150;
/** 1 MB is to take 100 ms at most; a machine that is three times slower keeps this. */
const FULL_LIMIT_MS = 400;
/** Half a million lines of a person's own file, read on their own computer. */
const FULL_LIMITS_MS: ReadonlyMap<string, number> = new Map([
  ["cli/requirements/requirement-lines.ts", 1_800],
]);
/** What disturbs one measurement (a collection of garbage, a compilation) does not disturb each. */
const MEASUREMENTS = 3;

const SPECIAL = " \t\n\r.,:;=/\\|-_+*?!#@%&$^~'\"`()[]{}<>0aZ\0é".split("");
const PAIRS = [
  "\r\n",
  '\\"',
  "{ ",
  "[[",
  '{"a":',
  "('a',",
  "{'a':",
  "://",
  "::",
  "..",
  "a.",
  "a/",
  "a b",
  "=\n",
  "a\n",
];

/** Texts and words of patterns in a source file, which is what its readers look for. */
function literalsOf(path: string): string[] {
  const found = new Set<string>();
  const add = (text: string) => {
    if (text.length > 1 && text.length <= 60) found.add(text);
  };
  new Visitor({
    Literal(node) {
      if ("regex" in node) for (const word of node.regex.pattern.split(/[\\^$.*+?()[\]{}|]/)) add(word);
      else if (typeof node.value === "string") add(node.value);
    },
    TemplateElement: (node) => add(node.value.raw),
  }).visit(parseSync(path, readFileSync(join(ROOT, path), "utf8")).program);
  return [...found].filter((text) => !text.endsWith(".ts") && !text.startsWith("node:"));
}

function milliseconds(read: TextReader["read"], text: string): number {
  const before = process.threadCpuUsage();
  try {
    read(text);
  } catch {
    // To refuse a text is an answer, too.
  }
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

type Slowest = { readonly unit: string; readonly ms: number };

/** How long a reader takes at most for a run of the unit. */
function measure(read: TextReader["read"], unit: string, length: number, limitMs: number): Slowest {
  const run = unit.repeat(Math.ceil(length / unit.length));
  let most = 0;
  for (const text of [run, `${unit}x${run}\0`]) {
    let least = Number.POSITIVE_INFINITY;
    for (let count = 0; count < MEASUREMENTS && least > limitMs; count += 1) {
      least = Math.min(least, milliseconds(read, text));
    }
    most = Math.max(most, least);
    if (most > limitMs) break;
  }
  return { unit, ms: most };
}

/** The units from the slowest to the fastest; no more are measured after one that took too long. */
function measureAll(
  read: TextReader["read"],
  units: readonly string[],
  length: number,
  limitMs: number,
): readonly [Slowest, ...Slowest[]] {
  const measured: Slowest[] = [];
  for (const unit of units) {
    measured.push(measure(read, unit, length, limitMs));
    if (measured.some(({ ms }) => ms > limitMs)) break;
  }
  const [first = { unit: " ", ms: 0 }, ...others] = measured.toSorted((one, other) => other.ms - one.ms);
  return [first, ...others];
}

describe("text of a caller is read in linear time", () => {
  for (const { name, path, read } of TEXT_READERS) {
    test(name, ({ expect }) => {
      const own = literalsOf(path);
      const some = own.slice(0, 6);
      const inTurn = some.flatMap((one) => [...some, " ", "\n"].map((two) => one + two));
      const byTime = measureAll(read, [...SPECIAL, ...PAIRS, ...own, ...inTurn], LENGTH, LIMIT_MS);
      expect(byTime[0].ms, JSON.stringify(byTime[0].unit)).toBeLessThan(LIMIT_MS);
      const fullLimitMs = FULL_LIMITS_MS.get(path) ?? FULL_LIMIT_MS;
      const units = byTime.slice(0, FULL_LENGTH_UNITS).map(({ unit }) => unit);
      const [full] = measureAll(read, units, FULL_LENGTH, fullLimitMs);
      expect(full.ms, JSON.stringify(full.unit)).toBeLessThan(fullLimitMs);
    });
  }
});

test("a reader that is quadratic is noticed", ({ expect }) => {
  const strip = (text: string) => text.replace(/=+$/, "");
  expect(measure(strip, "=", LENGTH, LIMIT_MS).ms).toBeGreaterThan(LIMIT_MS);
});
