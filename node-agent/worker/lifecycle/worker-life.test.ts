import { describe, test } from "vitest";
import { decideLife, type LifeFacts, recreationOf, type RecreationFacts } from "./worker-life.ts";
import { LIVE_RESTART_EXIT_CODE } from "../../../src/contract/flash/flash-live.ts";

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

const live: RecreationFacts = {
  isRefreshing: false,
  isDraining: false,
  wasReady: true,
  exitCode: LIVE_RESTART_EXIT_CODE,
  env: { FLASH_LIVE: "true" },
};

describe("a new container is planned", () => {
  test("where a live worker ends for code that its process cannot run", ({ expect }) => {
    expect(recreationOf("exited", live)).toBe("new_code");
  });

  test("where the handler has asked for it, no matter what ends the old one", ({ expect }) => {
    const refreshing = { ...live, isRefreshing: true, exitCode: 0 };
    expect(recreationOf("refresh", refreshing)).toBe("refresh");
    expect(recreationOf("exited", refreshing)).toBe("refresh");
  });

  test("where a job that is not wanted did not stop", ({ expect }) => {
    expect(recreationOf("hard_stop", { ...live, exitCode: null })).toBe("hard_stop");
  });
});

describe("a new container follows a failure", () => {
  test.for([
    ["an exit with code 0", { exitCode: 0 }],
    ["an exit with another code", { exitCode: 1 }],
    ["an exit whose code is not known", { exitCode: null }],
    ["the code of a planned end before the worker was ready", { wasReady: false }],
    ["the code of a planned end of a worker that is not live", { env: {} }],
    ["the code of a planned end of a worker that is not known", { env: undefined }],
  ] as const)("after %s", ([, facts], { expect }) => {
    expect(recreationOf("exited", { ...live, ...facts })).toBeNull();
  });

  test("after an end that the agent has brought about", ({ expect }) => {
    for (const end of ["start_limit", "silent", "mute", "standby_failed"] as const)
      expect(recreationOf(end, live)).toBeNull();
  });
});

test("a worker that is drained gets no new container", ({ expect }) => {
  for (const end of ["drained", "exited", "hard_stop", "refresh"] as const)
    expect(recreationOf(end, { ...live, isDraining: true })).toBeNull();
});
