import { test } from "vitest";
import { beganBefore, parsePs, parseStat, readProcess, readProcessTable } from "./process-table.ts";

test("a stat line is read behind the last parenthesis of the name", ({ expect }) => {
  const stat = `42 (a) b (c)) S 7 42 42 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 98765 1 1 1`;
  expect(parseStat(stat, "boot")).toEqual({
    pid: 42,
    parentPid: 7,
    groupId: 42,
    sessionId: 42,
    isZombie: false,
    start: "boot 98765",
  });
  expect(parseStat("", "boot")).toBeNull();
});

test("the output of ps is read line by line", ({ expect }) => {
  const text =
    "    1     0     1 Ss   Mon Nov  3 10:00:00 2025\n   42     1    40 Z+   Tue Nov  4 11:22:33 2025\n";
  expect(parsePs(text)).toEqual([
    { pid: 1, parentPid: 0, groupId: 1, sessionId: 0, isZombie: false, start: "Mon Nov 3 10:00:00 2025" },
    { pid: 42, parentPid: 1, groupId: 40, sessionId: 0, isZombie: true, start: "Tue Nov 4 11:22:33 2025" },
  ]);
});

test("this process is in the table, and is the same when asked for alone", async ({ expect }) => {
  const own = await readProcess(process.pid);
  expect(own).toMatchObject({ pid: process.pid, parentPid: process.ppid, isZombie: false });
  expect((await readProcessTable()).find((row) => row.pid === process.pid)).toEqual(own);
});

test("compares the start of two processes of one boot, and of no others", ({ expect }) => {
  expect(beganBefore("boot 99", "boot 100")).toBe(true);
  expect(beganBefore("boot 100", "boot 100")).toBe(false);
  expect(beganBefore("earlier 99", "boot 100")).toBe(false);
  expect(beganBefore("boot 99", "")).toBe(false);
  expect(beganBefore("Mon Nov 3 10:00:00 2025", "Mon Nov 4 10:00:00 2025")).toBe(false);
});
