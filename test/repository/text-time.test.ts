/**
 * Whatever reads text from outside takes time that grows with its length, no faster. Each reader is given long runs
 * of special characters and of the literals of its own source, where a pattern or a loop that goes back and forth
 * is at its worst. A text of sixteen times the length takes a linear reader as long as sixteen short ones, and a
 * quadratic one sixteen times as long as those; that holds on a fast machine and on a slow one.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync, Visitor } from "oxc-parser";
import { describe, test } from "vitest";
import { TEXT_READERS, type TextReader } from "./text-readers.ts";

const ROOT = join(import.meta.dirname, "../..");
/** The length at which all units are tried. */
const LENGTH = 32_768;
/** How many of the units are tried at greater lengths: those that took longest at the short one. */
const LONG_UNITS = 2;
/** What is quadratic is seen at the lower lengths already, where it takes no minutes. */
const [SHORTEST, LENGTHENED, LONGEST] = [1_024, 16, 262_144];
/** Between the 1 of a linear reader and the 16 of a quadratic one: either may be off by a factor of four. */
const MOST_GROWTH = 4;
/** The system counts the time of a processor in ticks; less than two of them says nothing. */
const LEAST_MS = 8;
/** A reader that takes that long for the short length is not tried with further units, as it may be quadratic. */
const LONG_MS = 150;
/** What disturbs one measurement does not disturb each. */
const MEASUREMENTS = 6;

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

function readAnything(read: TextReader["read"], text: string): void {
  try {
    read(text);
  } catch {
    // To refuse a text is an answer, too.
  }
}

/** Time of the processor, so that what else runs on the machine does not count. */
function milliseconds(act: () => void): number {
  const before = process.threadCpuUsage();
  act();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

const textsOf = (unit: string, length: number): readonly string[] => {
  const run = unit.repeat(Math.ceil(length / unit.length));
  return [run, `${unit}x${run}\0`];
};

function measure(read: TextReader["read"], unit: string, length: number, times: number): number {
  const repeated = (text: string) => {
    for (let count = 0; count < times; count += 1) readAnything(read, text);
  };
  return Math.max(...textsOf(unit, length).map((text) => milliseconds(() => repeated(text))));
}

/** The units that take longest at the short length. */
function slowestUnits(read: TextReader["read"], units: readonly string[]): string[] {
  const measured: { readonly unit: string; readonly ms: number }[] = [];
  for (const unit of units) {
    const ms = measure(read, unit, LENGTH, 1);
    measured.push({ unit, ms });
    if (ms > LONG_MS) break;
  }
  return measured
    .toSorted((one, other) => other.ms - one.ms)
    .slice(0, LONG_UNITS)
    .map(({ unit }) => unit);
}

/** How much longer a reader takes for one long text than for sixteen short ones; by the least of some measurements. */
function growth(read: TextReader["read"], unit: string, length: number): number {
  let [short, long] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let count = 0; count < MEASUREMENTS; count += 1) {
    short = Math.min(short, measure(read, unit, length, LENGTHENED));
    long = Math.min(long, measure(read, unit, length * LENGTHENED, 1));
    if (long <= MOST_GROWTH * Math.max(short, LEAST_MS)) break;
  }
  return long / Math.max(short, LEAST_MS);
}

/** The most by which the time of a reader grows from one length to the next. */
function mostGrowth(read: TextReader["read"], unit: string): number {
  let most = 0;
  for (let length = SHORTEST; length < LONGEST && most < MOST_GROWTH; length *= LENGTHENED) {
    most = Math.max(most, growth(read, unit, length));
  }
  return most;
}

describe("text of a caller is read in linear time", () => {
  for (const { name, path, read } of TEXT_READERS) {
    test(name, ({ expect }) => {
      const own = literalsOf(path);
      const some = own.slice(0, 6);
      const inTurn = some.flatMap((one) => [...some, " ", "\n"].map((two) => one + two));
      for (const unit of slowestUnits(read, [...SPECIAL, ...PAIRS, ...own, ...inTurn])) {
        expect(mostGrowth(read, unit), JSON.stringify(unit)).toBeLessThan(MOST_GROWTH);
      }
    });
  }
});

test("a reader that is quadratic is noticed", ({ expect }) => {
  const strip = (text: string) => text.replace(/=+$/, "");
  expect(mostGrowth(strip, "=")).toBeGreaterThan(MOST_GROWTH);
});
