import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished, test } from "vitest";
import { ActivityLog } from "./activity-log.ts";

function project(): string {
  const directory = mkdtempSync(join(tmpdir(), "flash-log-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return directory;
}

test("lines are buffered until the directory is a project", ({ expect }) => {
  const directory = project();
  const log = new ActivityLog(directory);
  log.append("first");
  expect(readdirSync(directory)).toEqual([]);
  mkdirSync(join(directory, ".flash"));
  log.append("second");
  const lines = readFileSync(join(directory, ".flash/logs/activity.log"), "utf8").trimEnd().split("\n");
  expect(lines.map((line) => line.split(" ").slice(2).join(" "))).toEqual(["first", "second"]);
});

test("each day has its own file, and thirty old ones are kept", ({ expect }) => {
  const directory = project();
  mkdirSync(join(directory, ".flash"));
  const path = join(directory, ".flash/logs/activity.log");
  for (let day = 1; day <= 35; day += 1) {
    const now = new Date(Date.UTC(2026, 0, day, 12));
    new ActivityLog(directory, () => now).append(`day ${day}`);
    utimesSync(path, now, now);
  }
  const old = readdirSync(join(directory, ".flash/logs")).filter((name) => name !== "activity.log");
  expect(old).toHaveLength(30);
  expect(old.toSorted()[0]).toBe("activity.log.2026-01-05");
  expect(readFileSync(`${path}.2026-02-03`, "utf8")).toContain("day 34");
  expect(readFileSync(path, "utf8")).toContain("day 35");
});

test("two commands of one day write one file", ({ expect }) => {
  const directory = project();
  mkdirSync(join(directory, ".flash"));
  new ActivityLog(directory).append("one");
  new ActivityLog(directory).append("two");
  expect(readdirSync(join(directory, ".flash/logs"))).toEqual(["activity.log"]);
});
