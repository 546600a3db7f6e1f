import { describe, test } from "vitest";
import { StartTimes } from "./worker-status.ts";

describe("the times of a start", () => {
  test("have the start before the readiness, though the runtime reports it later", ({ expect }) => {
    const times = new StartTimes();
    times.restart();
    times.record("ready");
    times.record("containerStarted");
    expect(Object.keys(times.ago())).toEqual(["containerStarted", "ready"]);
    const { containerStarted = 0, ready = 0 } = times.ago();
    expect(containerStarted).toBeGreaterThanOrEqual(ready);
  });

  test("are those of the last container, with what was pulled for it", ({ expect }) => {
    const times = new StartTimes();
    for (const step of ["pullStarted", "pullEnded", "containerStarted", "ready"] as const) times.record(step);
    times.restart();
    expect(Object.keys(times.ago())).toEqual(["pullStarted", "pullEnded"]);
  });

  test("say nothing of a start that an earlier agent saw", ({ expect }) => {
    const times = new StartTimes();
    times.record("ready");
    expect(Object.keys(times.ago())).toEqual(["ready"]);
  });
});
