import { test } from "vitest";
import { openSlots } from "./open-slots.ts";

const slots = [{ workerId: "old" }, { workerId: "new" }, { workerId: "untold" }, { workerId: "unversioned" }];
const workers = [
  { workerId: "old", version: 1 },
  { workerId: "new", version: 2 },
  { workerId: "unversioned" },
];
const open = (version: number, workersMax: number) =>
  openSlots(slots, workers, { version, workersMax }).map(({ workerId }) => workerId);

test("workers of an older release come last; those of whom no release is known count as new", ({
  expect,
}) => {
  expect(open(2, 1)).toEqual(["new", "untold", "unversioned", "old"]);
  expect(open(1, 1)).toEqual(["old", "new", "untold", "unversioned"]);
});

test("all are closed while no workers are allowed", ({ expect }) => {
  expect(open(2, 0)).toEqual([]);
});
