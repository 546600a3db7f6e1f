import { describe, test } from "vitest";
import { decideLife, type LifeFacts } from "./worker-life.ts";

const ready: LifeFacts = {
  hasExited: false,
  isDraining: false,
  isRefreshing: false,
  needsHardStop: false,
  isStandby: false,
  isFrozen: false,
  isIdle: true,
  wasReady: true,
  runsForMs: 1_000_000,
  startLimitMs: 60_000,
  silentForMs: 0,
  silenceLimitMs: 180_000,
  hasLostResults: false,
};

describe("the container of a worker", () => {
  test("lives on while it takes jobs, however long ago it started", ({ expect }) => {
    expect(decideLife(ready)).toEqual({ kind: "live", forMs: null });
  });

  test("ends when it did not ask for a job within its start limit", ({ expect }) => {
    expect(decideLife({ ...ready, wasReady: false, runsForMs: 59_000 })).toEqual({
      kind: "live",
      forMs: 1_000,
    });
    expect(decideLife({ ...ready, wasReady: false, runsForMs: 60_000 })).toEqual({
      kind: "end",
      reason: "start_limit",
    });
  });

  test("is drained and refreshed only once its jobs are over", ({ expect }) => {
    const busy = { ...ready, isIdle: false };
    expect(decideLife({ ...busy, isDraining: true, isRefreshing: true }).kind).toBe("live");
    expect(decideLife({ ...ready, isDraining: true, isRefreshing: true })).toMatchObject({
      reason: "drained",
    });
    expect(decideLife({ ...ready, isRefreshing: true })).toMatchObject({ reason: "refresh" });
  });

  test("ends when it could ask for jobs for a long time and does not", ({ expect }) => {
    expect(decideLife({ ...ready, silentForMs: 1_000 })).toEqual({ kind: "live", forMs: 179_000 });
    expect(decideLife({ ...ready, silentForMs: 180_000 })).toEqual({ kind: "end", reason: "silent" });
  });

  test("ends when its results do not come, unless it is to end anyway", ({ expect }) => {
    expect(decideLife({ ...ready, hasLostResults: true })).toMatchObject({ reason: "mute" });
    expect(decideLife({ ...ready, hasLostResults: true, isDraining: true })).toMatchObject({
      reason: "drained",
    });
  });

  test("is stopped hard also while it drains", ({ expect }) => {
    const facts = { ...ready, isIdle: false, isDraining: true, needsHardStop: true };
    expect(decideLife(facts)).toMatchObject({ reason: "hard_stop" });
  });

  test("is frozen only when it was ready and has no job, and goes on when it is wanted again", ({
    expect,
  }) => {
    const standby = { ...ready, isStandby: true };
    expect(decideLife(standby)).toEqual({ kind: "freeze" });
    expect(decideLife({ ...standby, isIdle: false }).kind).toBe("live");
    expect(decideLife({ ...standby, wasReady: false }).kind).toBe("end");
    expect(decideLife({ ...standby, isFrozen: true })).toEqual({ kind: "live", forMs: null });
    expect(decideLife({ ...ready, isFrozen: true })).toEqual({ kind: "thaw" });
  });

  test("that is frozen is ended like any other", ({ expect }) => {
    const frozen = { ...ready, isStandby: true, isFrozen: true };
    expect(decideLife({ ...frozen, hasExited: true })).toMatchObject({ reason: "exited" });
    expect(decideLife({ ...frozen, isDraining: true })).toMatchObject({ reason: "drained" });
  });
});
