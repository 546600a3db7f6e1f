import { test } from "vitest";
import { selectMembers } from "./process-members.ts";

test("members are the group, its descendants and whatever is marked", ({ expect }) => {
  const row = (pid: number, parentPid: number, groupId: number, start = "x") => {
    return { pid, parentPid, groupId, sessionId: 0, isZombie: false, start };
  };
  const rows = [
    row(10, 1, 10),
    row(11, 10, 10),
    row(12, 11, 12),
    row(13, 12, 12),
    row(20, 1, 20),
    row(30, 1, 30),
  ];
  expect(selectMembers(rows, { pid: 10, start: "x" }, [row(20, 1, 20)])).toEqual([20, 10, 11, 12, 13]);
});

test("the group of a pid that was given out again has no members of ours", ({ expect }) => {
  const rows = [{ pid: 10, parentPid: 1, groupId: 10, sessionId: 0, isZombie: false, start: "later" }];
  expect(selectMembers(rows, { pid: 10, start: "earlier" }, [])).toEqual([]);
  expect(selectMembers(rows, null, [])).toEqual([]);
});
