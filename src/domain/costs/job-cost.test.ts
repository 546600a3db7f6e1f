import { describe, test } from "vitest";
import type { TimelineEvent } from "../../contract/job.ts";
import { costOfJob } from "./job-cost.ts";

const HOUR = 3_600_000;
const taken = (at: number, more: Partial<TimelineEvent> = {}): TimelineEvent => ({
  ...{ event: "taken", at, attempt: 1, workerId: "w", hostId: "h" },
  ...more,
});

describe("the cost of a job", () => {
  test("is nothing before a worker takes it", ({ expect }) => {
    expect(costOfJob([{ event: "submitted", at: 0 }], HOUR)).toEqual({
      total: 0,
      execution: 0,
      coldStart: 0,
    });
  });

  test("grows while it runs, and ends with it", ({ expect }) => {
    const running = [taken(HOUR, { perHour: 2 })];
    expect(costOfJob(running, 2 * HOUR).total).toBe(2);
    const ended: TimelineEvent[] = [...running, { event: "finished", at: 1.5 * HOUR, status: "COMPLETED" }];
    expect(costOfJob(ended, 5 * HOUR)).toEqual({ total: 1, execution: 1, coldStart: 0 });
  });

  test("has all of its attempts, each at the price of its worker, and the starts that it caused", ({
    expect,
  }) => {
    const timeline: TimelineEvent[] = [
      { event: "submitted", at: 0 },
      taken(HOUR, { perHour: 1, startingMs: HOUR / 2 }),
      { event: "requeued", at: 2 * HOUR, attempt: 1, reason: "lost" },
      taken(3 * HOUR, { perHour: 4, attempt: 2 }),
      { event: "finished", at: 3.5 * HOUR, status: "FAILED" },
      { event: "retried", at: 4 * HOUR },
      taken(5 * HOUR, { attempt: 3 }),
      { event: "cancelled", at: 6 * HOUR },
    ];
    expect(costOfJob(timeline, 9 * HOUR)).toEqual({ total: 3.5, execution: 3, coldStart: 0.5 });
  });

  test("is never negative", ({ expect }) => {
    expect(costOfJob([taken(HOUR, { perHour: 1 })], 0).total).toBe(0);
  });
});
