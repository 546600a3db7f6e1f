import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import {
  changeTracked,
  readTracked,
  type Tracked,
  trackedEndpoints,
  trackedSessions,
  withLiveEndpoint,
  withoutIds,
} from "./tracked-resources.ts";

const live = (id: string, session: string) => ({ id, name: "live-one", session });
const SESSIONS: Tracked = {
  "Session:live-aaaaaa": { id: "a", name: "live-aaaaaa" },
  "Session:live-bbbbbb": { id: "b", name: "live-bbbbbb" },
};

test("endpoints of one name in two sessions are both tracked", () => {
  const both = withLiveEndpoint(withLiveEndpoint(SESSIONS, "QB", live("1", "a")), "QB", live("2", "b"));
  expect(both["QB:live-one"]?.id).toBe("1");
  expect(trackedEndpoints(both).map(({ id }) => id)).toEqual(["1", "2"]);
  expect(trackedSessions(both).map(({ id }) => id)).toEqual(["a", "b"]);

  const remade = withLiveEndpoint(both, "LB", live("3", "a"));
  expect(trackedEndpoints(remade).map(({ id }) => id)).toEqual(["2", "3"]);
  expect(trackedEndpoints(withoutIds(remade, new Set(["a"]))).map(({ id }) => id)).toEqual(["2"]);
});

test("removing a session removes its endpoints", () => {
  const tracked = withLiveEndpoint({ ...SESSIONS, "QB:one": { id: "9", name: "one" } }, "QB", live("1", "a"));
  expect(Object.keys(withoutIds(tracked, new Set(["a"])))).toEqual(["Session:live-bbbbbb", "QB:one"]);
  expect(Object.keys(withoutIds(tracked, new Set(["1"])))).toEqual([...Object.keys(SESSIONS), "QB:one"]);
});

test("a lock that another command took during a sleep causes no error", async () => {
  const directory = mkdtempSync(join(tmpdir(), "flash-tracked-"));
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => {
    vi.useRealTimers();
    rmSync(directory, { recursive: true });
  });
  await changeTracked(directory, () => {
    rmSync(join(directory, ".flash/resources.pkl.lock"), { recursive: true });
    vi.advanceTimersByTime(60_000);
    return SESSIONS;
  });
  expect(await readTracked(directory)).toEqual(SESSIONS);
});
