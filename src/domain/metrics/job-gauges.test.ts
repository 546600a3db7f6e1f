import { describe, test } from "vitest";
import { gaugesOfJobs, type JobSpan } from "./job-gauges.ts";
import { ZERO_GAUGES, type Gauges } from "./gauges.ts";

const present = (levels: Partial<Gauges>): Gauges => ({ ...ZERO_GAUGES, ...levels });
const span = (
  queuedAt: number,
  startedAt: number | null,
  finishedAt: number | null,
  workerId = "w",
): JobSpan => ({ queuedAt, startedAt, finishedAt, workerId });

function stepsOf(spans: readonly JobSpan[], now: Gauges, since = 100) {
  return gaugesOfJobs(spans, now, since).map(({ at, gauges: { queued, running, busy, idle } }) => {
    return { at, queued, running, busy, idle };
  });
}

describe("the levels that jobs made", () => {
  test("are those of now while there were no jobs", ({ expect }) => {
    const now = present({ idle: 2, wanted: 2, throttled: 1 });
    expect(gaugesOfJobs([], now, 100)).toEqual([{ at: 100, gauges: now }]);
  });

  test("rise when jobs are queued and claimed, and fall when these end", ({ expect }) => {
    const steps = stepsOf(
      [span(200, 210, 250), span(205, 210, 240), span(300, 300, 310, "v")],
      present({ idle: 2 }),
    );
    expect(steps).toEqual([
      { at: 100, queued: 0, running: 0, busy: 0, idle: 2 },
      { at: 200, queued: 1, running: 0, busy: 0, idle: 2 },
      { at: 205, queued: 2, running: 0, busy: 0, idle: 2 },
      { at: 210, queued: 0, running: 2, busy: 1, idle: 1 },
      { at: 240, queued: 0, running: 1, busy: 1, idle: 1 },
      { at: 250, queued: 0, running: 0, busy: 0, idle: 2 },
      { at: 300, queued: 0, running: 1, busy: 1, idle: 1 },
      { at: 310, queued: 0, running: 0, busy: 0, idle: 2 },
    ]);
  });

  test("include at the beginning what was there before", ({ expect }) => {
    const spans = [span(50, 60, 150), span(70, 120, null), span(80, null, 130)];
    expect(stepsOf(spans, present({ busy: 1, running: 1, queued: 3 }))).toEqual([
      { at: 100, queued: 5, running: 1, busy: 1, idle: 0 },
      { at: 120, queued: 4, running: 2, busy: 1, idle: 0 },
      { at: 130, queued: 3, running: 2, busy: 1, idle: 0 },
      { at: 150, queued: 3, running: 1, busy: 1, idle: 0 },
    ]);
  });

  test("show since when unclaimed jobs wait", ({ expect }) => {
    const spans = [{ ...span(400, null, null), count: 7 }];
    expect(stepsOf(spans, present({ queued: 9 }))).toEqual([
      { at: 100, queued: 2, running: 0, busy: 0, idle: 0 },
      { at: 400, queued: 9, running: 0, busy: 0, idle: 0 },
    ]);
  });
});
