import { test } from "vitest";
import {
  WorkerLines,
  LOG_BUFFER_MAX_BYTES,
  LOG_BATCH_AFTER_MS,
  LOG_BATCH_BURST,
  LOG_OVERLAP_MS,
} from "./worker-lines.ts";

const HOUR_MS = 3_600_000;

function newLines(): WorkerLines {
  return new WorkerLines({ workerId: "w", endpointId: "e" }, 0);
}

const add = (lines: WorkerLines, now: number, line = "text"): void =>
  lines.add(now * 1_000, { source: "container", line }, now);

/** How many batches are sent in the time, with a line every so often. */
function batchesWithin(durationMs: number, everyMs: number): number {
  const lines = newLines();
  let batches = 0;
  for (let now = 0; now < durationMs; now += 500) {
    if (now % everyMs === 0) add(lines, now);
    if ((lines.dueAt(now) ?? Number.POSITIVE_INFINITY) > now) continue;
    lines.markStored(lines.nextBatch(now), now);
    batches += 1;
  }
  return batches;
}

test("a line every second makes no more than a batch a minute, after the first few", ({ expect }) => {
  const batches = batchesWithin(HOUR_MS, 1_000);
  expect(batches).toBeGreaterThan(60);
  expect(batches).toBeLessThanOrEqual(60 + LOG_BATCH_BURST);
});

test("a silent worker makes no batch, and one that speaks up now and then is heard soon", ({ expect }) => {
  expect(newLines().dueAt(HOUR_MS)).toBeUndefined();
  const lines = newLines();
  add(lines, HOUR_MS);
  expect(lines.dueAt(HOUR_MS)).toBe(HOUR_MS + LOG_BATCH_AFTER_MS);
  expect(batchesWithin(HOUR_MS, 10 * 60_000)).toBe(6);
});

test("lines grow in number though the clock stands still or goes back", ({ expect }) => {
  const lines = newLines();
  for (const at of [5, 5, 4, 9]) lines.add(at, { source: "container", line: "x" }, 0);
  expect(lines.nextBatch(0).lines.map(({ seq }) => seq)).toEqual([5, 6, 7, 9]);
});

test("drops the oldest lines that do not fit, and reports their number once", ({ expect }) => {
  const lines = newLines();
  const line = "x".repeat(10_000);
  const count = 2_000;
  for (let now = 1; now <= count; now += 1) add(lines, now, line);
  const sent: string[] = [];
  while (!lines.isEmpty) {
    const batch = lines.nextBatch(count);
    sent.push(...batch.lines.map((one) => one.line));
    lines.markStored(batch, count);
  }
  const [told = "", ...rest] = sent;
  expect(rest.every((one) => one === line)).toBe(true);
  expect(told).toBe(`${count - rest.length} lines were dropped here: the edge could not be reached.`);
  expect(rest.length * line.length).toBeLessThan(LOG_BUFFER_MAX_BYTES);
  expect(rest.length * line.length).toBeGreaterThan(LOG_BUFFER_MAX_BYTES / 2);
});

test("lines that were on their way count as dropped only when they did not arrive", ({ expect }) => {
  const told = [true, false].map((isKept) => {
    const lines = newLines();
    for (let now = 1; now <= 10; now += 1) add(lines, now);
    const batch = lines.nextBatch(10);
    while (lines.nextLive().lines[0]?.line === "text") add(lines, 20, "x".repeat(100_000));
    if (isKept) lines.markStored(batch, 30);
    else lines.failed(30);
    return lines
      .nextBatch(30)
      .lines.map(({ line }) => Number(/^(\d+) lines were dropped/.exec(line)?.[1] ?? 0))
      .reduce((sum, count) => sum + count, 0);
  });
  const [whenKept = 0, whenFailed = 0] = told;
  expect(whenFailed - whenKept).toBe(10);
});

test("the place in the output is that of the last line which the edge has", ({ expect }) => {
  const lines = newLines();
  add(lines, 1);
  lines.reached("one");
  const first = lines.nextBatch(1);
  add(lines, 2);
  lines.reached("two");
  lines.markStored(first, 3);
  expect(lines.settled(3)).toEqual({ position: "one", seq: 1_000 });
  const second = lines.nextBatch(3);
  lines.clearPlaces();
  lines.markStored(second, 4);
  expect(lines.settled(4)).toBeUndefined();
});

test("the place is before lines that those who follow have not got, until nobody follows", ({ expect }) => {
  const [one, other] = [newLines(), newLines()];
  for (const lines of [one, other]) {
    lines.beginLive(0);
    add(lines, 1);
    lines.reached("one");
    lines.markStored(lines.nextBatch(1), 2);
    expect(lines.settled(2)).toBeUndefined();
  }
  one.sentLive(one.nextLive());
  other.endLive();
  for (const lines of [one, other]) expect(lines.settled(3)).toEqual({ position: "one", seq: 1_000 });
});

test("lines that those who follow have not got stay for them, however long ago they were stored", ({
  expect,
}) => {
  const lines = newLines();
  lines.beginLive(0);
  add(lines, 1, "one");
  lines.markStored(lines.nextBatch(1), 2);
  lines.settled(3 * LOG_OVERLAP_MS);
  expect(lines.overlapMs(3 * LOG_OVERLAP_MS)).toBeGreaterThan(0);
  const live = lines.nextLive();
  expect(live.lines.map(({ line }) => line)).toEqual(["one"]);
  lines.sentLive(live);
  expect(lines.overlapMs(3 * LOG_OVERLAP_MS)).toBe(0);
});

test("lines are buffered for no longer where the clock of the host was set back", ({ expect }) => {
  const lines = newLines();
  const now = 100_000;
  for (const at of [now, now + 5_000, now - 3_600_000]) {
    add(lines, at, "line");
    lines.markStored(lines.nextBatch(at), at);
    const overlapMs = lines.overlapMs(at);
    expect(overlapMs).toBeGreaterThan(0);
    expect(overlapMs).toBeLessThanOrEqual(LOG_OVERLAP_MS + 1);
  }
});

test("who begins to follow is sent what is held and what was kept a moment ago", ({ expect }) => {
  const lines = newLines();
  const now = 100_000;
  const keep = (at: number) => lines.markStored(lines.nextBatch(at), at);
  add(lines, now, "old");
  keep(now);
  add(lines, now + LOG_OVERLAP_MS, "recent");
  keep(now + LOG_OVERLAP_MS);
  add(lines, now + LOG_OVERLAP_MS + 1, "held");
  lines.beginLive(now + LOG_OVERLAP_MS + 1);
  const live = lines.nextLive();
  expect(live.lines.map(({ line }) => line)).toEqual(["recent", "held"]);
  lines.sentLive(live);
  expect(lines.nextLive().lines).toEqual([]);
  expect(lines.nextBatch(now).lines.map(({ line }) => line)).toEqual(["held"]);
});

test("who begins to follow while lines are on their way to others gets them, too", ({ expect }) => {
  const lines = newLines();
  add(lines, 1, "one");
  const underway = lines.nextLive();
  lines.beginLive(2);
  lines.sentLive(underway);
  expect(lines.nextLive().lines.map(({ line }) => line)).toEqual(["one"]);
});
