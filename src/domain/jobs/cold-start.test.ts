import fc from "fast-check";
import { describe, test } from "vitest";
import { COLD_START_PARTS } from "../../contract/job.ts";
import { coldStartOf, describeColdStart } from "./cold-start.ts";
import { extendTrace, coldStartOfJob, UNKNOWN_TIMES } from "./timeline.ts";
import { queuedJob } from "./job-machine.ts";

/** A start with everything, for one who has waited since 0. */
const WHOLE = {
  placedAt: 10,
  assignedAt: 15,
  pullStartedAt: 20,
  pullEndedAt: 120,
  filesStartedAt: 21,
  filesEndedAt: 60,
  modelsStartedAt: 22,
  modelsEndedAt: 320,
  containerStartingAt: 325,
  containerStartedAt: 400,
  runtimeStartedAt: 450,
  readyAt: 600,
};

describe("a cold start", () => {
  test("has the parts that follow one another; of those at the same time the last one counts", ({
    expect,
  }) => {
    const start = coldStartOf(WHOLE, 0);
    const parts = { placement: 10, image: 0, files: 0, model: 300, container: 80, runtime: 50, handler: 150 };
    expect(start).toEqual({ totalMs: 590, parts });
    expect(start && describeColdStart(start)).toMatchObject({ slowest: "model" });
  });

  test("of one who came while it was under way is what was left of it", ({ expect }) => {
    const none = { placement: 0, image: 0, files: 0, model: 0 };
    expect(coldStartOf(WHOLE, 390)).toEqual({
      totalMs: 210,
      parts: { ...none, container: 10, runtime: 50, handler: 150 },
    });
  });

  test("of an agent that reports few steps has what is known", ({ expect }) => {
    const { containerStartedAt, readyAt } = WHOLE;
    expect(coldStartOf({ containerStartedAt, readyAt }, 0)?.parts).toMatchObject({
      runtime: 200,
      container: 0,
    });
    expect(coldStartOf({ readyAt }, 0)).toMatchObject({ totalMs: 600 });
  });

  test("always is the sum of its parts, of which none is negative", ({ expect }) => {
    const time = fc.option(fc.nat(10_000), { nil: null });
    const steps = Object.fromEntries(Object.keys(WHOLE).map((step) => [step, time]));
    fc.assert(
      fc.property(fc.record(steps), fc.nat(10_000), fc.nat(12_000), (start, since, until) => {
        const found = coldStartOf(start, since, until);
        fc.pre(found !== null);
        const parts = COLD_START_PARTS.map((part) => found?.parts[part] ?? 0);
        expect(parts.reduce((sum, part) => sum + part, 0)).toBe(found?.totalMs);
        expect(Math.min(...parts)).toBeGreaterThanOrEqual(0);
      }),
    );
  });

  test("is in what is stored of a job", ({ expect }) => {
    const submitted = { isSync: false, ttlMs: 1_000_000, executionTimeoutMs: 600_000, retentionMs: 1 };
    const job = {
      ...queuedJob(submitted, 5),
      state: "running" as const,
      attempt: 1,
      startedAt: 610,
      workerId: "w",
    };
    const { placedAt, ...workerStart } = WHOLE;
    const completed = { kind: "complete", attempt: 1, output: null } as const;
    const trace = extendTrace(job, completed, { ...UNKNOWN_TIMES, workerStart, placedAt }, 700);
    expect(coldStartOfJob({ ...job, trace })).toEqual(coldStartOf(WHOLE, 5));
  });
});
