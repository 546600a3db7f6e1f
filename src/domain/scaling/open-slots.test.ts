import { test } from "vitest";
import { openSlots, acceptsJobs } from "./open-slots.ts";

const hosts = new Map([
  ["old", "here"],
  ["new", "here"],
  ["another", "elsewhere"],
]);
const slots = ["old", "new", "another", "invented"].map((workerId) => ({ workerId }));
const open = (outdated: readonly string[], workersMax = 1) =>
  openSlots(slots, () => "here", { hosts, outdated: new Set(outdated) }, workersMax).map(
    ({ workerId }) => workerId,
  );

test("a host is believed about the workers that are placed on it, and about no others", ({ expect }) => {
  expect(open([])).toEqual(["old", "new"]);
});

test("workers of an older release come last", ({ expect }) => {
  expect(open(["old"])).toEqual(["new", "old"]);
});

test("all are closed while no workers are allowed", ({ expect }) => {
  expect(open([], 0)).toEqual([]);
});

test("workers that leave or are on standby get no more work", ({ expect }) => {
  const states = [
    "pulling",
    "starting",
    "ready",
    "unhealthy",
    "crash_looping",
    "stopping",
    "standby",
  ] as const;
  expect(states.filter((state) => !acceptsJobs({ state }))).toEqual(["stopping", "standby"]);
});
