import { describe, test } from "vitest";
import { StartTimes } from "./worker-status.ts";

describe("the times of a start", () => {
  test("have the start before the readiness, though the runtime reports it later", ({ expect }) => {
    const times = new StartTimes();
    times.begin();
    times.record("ready");
    times.record("containerStarted");
    expect(Object.keys(times.ago())).toEqual([
      "containerStarting",
      "containerStarted",
      "runtimeStarted",
      "ready",
    ]);
    const { containerStarted = 0, ready = 0 } = times.ago();
    expect(containerStarted).toBeGreaterThanOrEqual(ready);
  });

  test("are those of the last container, with what was pulled for it", ({ expect }) => {
    const times = new StartTimes();
    for (const step of ["assigned", "pullStarted", "pullEnded"] as const) times.record(step);
    times.begin();
    expect(times.has("assigned")).toBe(true);
    times.record("ready");
    times.begin();
    expect(Object.keys(times.ago())).toEqual(["pullStarted", "pullEnded", "containerStarting"]);
  });

  test("of one that resumes begin then", ({ expect }) => {
    const times = new StartTimes();
    for (const step of ["pullStarted", "pullEnded", "ready"] as const) times.record(step);
    times.resume();
    expect(Object.keys(times.ago())).toEqual(["assigned", "containerStarting", "containerStarted"]);
  });

  test("say nothing of a start that an earlier agent saw", ({ expect }) => {
    const times = new StartTimes();
    times.record("ready");
    expect(Object.keys(times.ago())).toEqual(["ready"]);
  });
});
