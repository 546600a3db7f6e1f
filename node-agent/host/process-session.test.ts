import { test } from "vitest";
import { selectSession } from "./process-session.ts";

const row = (pid: number, parentPid: number, sessionId: number, start = "boot 100") => {
  return { pid, parentPid, groupId: sessionId, sessionId, isZombie: false, start };
};

test("a session has the descendants of its leader, and what stayed in it without a parent", ({ expect }) => {
  const rows = [
    row(10, 1, 10),
    row(11, 10, 10),
    row(12, 1, 10), // its parent has ended
    row(13, 11, 13), // leads a session of its own
    row(14, 1, 13),
    row(20, 1, 20), // a daemon
    row(30, 10, 10, "boot 99"),
  ];
  const leader = { pid: 10, start: "boot 100" };
  expect(selectSession(rows, leader)).toEqual([10, 11, 12, 13, 14]);
  expect(selectSession(rows.slice(1, 3), leader)).toEqual([11, 12]);
});

test("a session whose leader's pid was given out again has nothing left of ours", ({ expect }) => {
  const rows = [row(10, 1, 10, "boot 200"), row(11, 10, 10, "boot 201")];
  expect(selectSession(rows, { pid: 10, start: "boot 100" })).toEqual([]);
});
