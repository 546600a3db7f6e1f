import { test } from "vitest";
import { HOST_GRACE_MS, HostPresence } from "./host-presence.ts";

test("the earliest loss follows the newest call of the host that would have been lost first", ({
  expect,
}) => {
  const presence = new HostPresence();
  presence.heard("one", { at: 0, holdMs: 0 });
  presence.heard("two", { at: 0, holdMs: 30_000 });
  expect(presence.earliestDueAt).toBe(HOST_GRACE_MS);
  presence.heard("one", { at: 10, holdMs: 50_000 });
  expect(presence.earliestDueAt).toBe(30_000 + HOST_GRACE_MS);
  expect(presence.takeLost(30_000 + HOST_GRACE_MS)).toEqual(["two"]);
  expect(presence.earliestDueAt).toBe(50_010 + HOST_GRACE_MS);
});
