import { fc, test as property } from "@fast-check/vitest";
import { expect, test } from "vitest";
import { LogCollector } from "./log-collector.ts";
import { comparePositions, type WorkerLogLine } from "./log-lines.ts";

const line = (seq: number, workerId = "w"): WorkerLogLine => ({
  seq,
  workerId,
  source: "container",
  line: `${seq}`,
});

test("a line is shown only when no unread object can hold a newer one", () => {
  const collector = new LogCollector(3);
  collector.add([line(10), line(30), line(50)]);
  expect(collector.isFull(40)).toBe(false);
  expect(collector.cut(40).lines.map(({ seq }) => seq)).toEqual([50]);
  expect(collector.isFull(5)).toBe(true);
  expect(collector.cut(undefined)).toMatchObject({ before: null });
});

test("of a line that was stored once more without its job, the one with the job is shown", () => {
  const withJob = { ...line(10), jobId: "job" };
  for (const stored of [
    [withJob, line(10)],
    [line(10), withJob],
  ]) {
    const collector = new LogCollector(3);
    for (const one of stored) collector.add([one]);
    expect(collector.cut(undefined).lines).toEqual([withJob]);
  }
});

/** Objects of several workers, as they are listed, and all pages of them. */
property.prop([
  fc.array(fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 8 }), { maxLength: 12 }),
  fc.integer({ min: 1, max: 7 }),
  fc.integer({ min: 1, max: 1_200 }), // bytes of a page; a line of these takes about 200
])("pages hold every line once, in its order, however objects overlap", (contents, limit, maxBytes) => {
  const objects = contents
    .map((seqs, index) => seqs.map((seq) => line(seq, `w${index % 3}`)))
    .toSorted((a, b) => lastOf(b) - lastOf(a));
  const pages: WorkerLogLine[][] = [];
  let before: { seq: number; workerId: string; source: "container" | "system" } | null = line(1_000);
  while (before) {
    const cursor = before;
    const collector = new LogCollector(limit, maxBytes);
    const relevant = objects.filter((object) => object.some((one) => comparePositions(one, cursor) < 0));
    let read = 0;
    while (read < relevant.length && !collector.isFull(lastOf(relevant[read] ?? []))) {
      collector.add((relevant[read] ?? []).filter((one) => comparePositions(one, cursor) < 0));
      read += 1;
    }
    const next = relevant[read];
    const cut = collector.cut(next && lastOf(next));
    pages.unshift([...cut.lines]);
    ({ before } = cut);
  }
  const all = new Map(objects.flat().map((one) => [`${one.workerId} ${one.seq}`, one]));
  expect(pages.flat()).toEqual([...all.values()].toSorted(comparePositions));
});

test("the memory for lines is bounded by their texts as well", () => {
  const long = (seq: number) => ({ ...line(seq), line: "x".repeat(1_000) });
  const collector = new LogCollector(1_000, 5_000);
  for (let seq = 1; seq <= 100; seq += 1) collector.add([long(seq)]);
  expect(collector.isFull(90)).toBe(true);
  const { lines, before } = collector.cut(undefined);
  expect(lines.map(({ seq }) => seq)).toEqual([97, 98, 99, 100]);
  expect(before).toMatchObject({ seq: 97 });
  const [single] = new LogCollector(10, 1).cut(undefined).lines;
  expect(single).toBeUndefined();
});

test("lines beyond what pages hold are forgotten while others are read", () => {
  let reads = 0;
  const counted = (seq: number): WorkerLogLine => ({
    ...line(seq),
    get line() {
      reads += 1;
      return "x".repeat(1_000);
    },
  });
  const collector = new LogCollector(1_000, 5_000);
  for (let seq = 1; seq <= 100; seq += 1) collector.add([counted(seq)]);
  reads = 0;
  collector.isFull(0); // reads each line that is in memory once
  expect(reads).toBeGreaterThan(3);
  expect(reads).toBeLessThan(12);
});

function lastOf(lines: readonly WorkerLogLine[]): number {
  return Math.max(...lines.map(({ seq }) => seq));
}
