import { describe, test } from "vitest";
import { judgeLife, type LifeFacts } from "./life.ts";

const ready: LifeFacts = {
  hasExited: false,
  isDraining: false,
  isRefreshing: false,
  needsHardStop: false,
  isStandby: false,
  isFrozen: false,
  isQuiet: true,
  wasReady: true,
  runsForMs: 1_000_000,
  startLimitMs: 60_000,
  silentForMs: 0,
  silenceLimitMs: 180_000,
  isMute: false,
};

describe("the container of a worker", () => {
  test("lives on while it takes jobs, however long ago it started", ({ expect }) => {
    expect(judgeLife(ready)).toEqual({ kind: "live", forMs: null });
  });

  test("ends when it did not ask for a job within its start limit", ({ expect }) => {
    expect(judgeLife({ ...ready, wasReady: false, runsForMs: 59_000 })).toEqual({
      kind: "live",
      forMs: 1_000,
    });
    expect(judgeLife({ ...ready, wasReady: false, runsForMs: 60_000 })).toEqual({
      kind: "end",
      because: "start_limit",
    });
  });

  test("is drained and refreshed only once its jobs are over", ({ expect }) => {
    const busy = { ...ready, isQuiet: false };
    expect(judgeLife({ ...busy, isDraining: true, isRefreshing: true }).kind).toBe("live");
    expect(judgeLife({ ...ready, isDraining: true, isRefreshing: true })).toMatchObject({
      because: "drained",
    });
    expect(judgeLife({ ...ready, isRefreshing: true })).toMatchObject({ because: "refresh" });
  });

  test("ends when it could ask for jobs for a long time and does not", ({ expect }) => {
    expect(judgeLife({ ...ready, silentForMs: 1_000 })).toEqual({ kind: "live", forMs: 179_000 });
    expect(judgeLife({ ...ready, silentForMs: 180_000 })).toEqual({ kind: "end", because: "silent" });
  });

  test("ends when its results do not come, unless it is to end anyway", ({ expect }) => {
    expect(judgeLife({ ...ready, isMute: true })).toMatchObject({ because: "mute" });
    expect(judgeLife({ ...ready, isMute: true, isDraining: true })).toMatchObject({ because: "drained" });
  });

  test("is stopped hard also while it drains", ({ expect }) => {
    const facts = { ...ready, isQuiet: false, isDraining: true, needsHardStop: true };
    expect(judgeLife(facts)).toMatchObject({ because: "hard_stop" });
  });

  test("is frozen only when it was ready and has no job, and goes on when it is wanted again", ({
    expect,
  }) => {
    const standby = { ...ready, isStandby: true };
    expect(judgeLife(standby)).toEqual({ kind: "freeze" });
    expect(judgeLife({ ...standby, isQuiet: false }).kind).toBe("live");
    expect(judgeLife({ ...standby, wasReady: false }).kind).toBe("end");
    expect(judgeLife({ ...standby, isFrozen: true })).toEqual({ kind: "live", forMs: null });
    expect(judgeLife({ ...ready, isFrozen: true })).toEqual({ kind: "thaw" });
  });

  test("that is frozen is ended like any other", ({ expect }) => {
    const frozen = { ...ready, isStandby: true, isFrozen: true };
    expect(judgeLife({ ...frozen, hasExited: true })).toMatchObject({ because: "exited" });
    expect(judgeLife({ ...frozen, isDraining: true })).toMatchObject({ because: "drained" });
  });
});
