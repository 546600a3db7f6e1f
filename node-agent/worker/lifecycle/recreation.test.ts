import { describe, test } from "vitest";
import { LIVE_RESTART_EXIT_CODE } from "../../../src/contract/flash/flash-live.ts";
import { recreationOf, type RecreationFacts } from "./recreation.ts";

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
