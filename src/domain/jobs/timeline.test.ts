import { describe, test } from "vitest";
import { queuedJob, type StoredJob } from "./job-machine.ts";
import { coldStartBy, extendTrace, timelineOf, UNKNOWN_TIMES } from "./timeline.ts";
import { mergeStart, type WorkerStart } from "./worker-start.ts";

function jobWith(values: Partial<StoredJob>): StoredJob {
  const submitted = { isSync: false, ttlMs: 1_000_000, executionTimeoutMs: 600_000, retentionMs: 1 };
  return { ...queuedJob(submitted, 100), ...values };
}

const running = jobWith({ state: "running", attempt: 1, startedAt: 200, workerId: "w", hostId: "h" });
const namesOf = (job: StoredJob, workerStart: WorkerStart) =>
  timelineOf(job, { ...UNKNOWN_TIMES, workerStart }).map(({ event, at }) => [event, at]);

describe("the start of a worker", () => {
  test("that was under way at the submission is shown whole, with its own times", ({ expect }) => {
    const start = { pullStartedAt: 50, pullEndedAt: 150, containerStartedAt: 160, readyAt: 190 };
    expect(namesOf(running, start)).toEqual([
      ["image_pull_started", 50],
      ["submitted", 100],
      ["image_pull_ended", 150],
      ["container_started", 160],
      ["worker_ready", 190],
      ["taken", 200],
    ]);
  });

  test("that was over before is no matter of the job", ({ expect }) => {
    const start = { pullStartedAt: 10, pullEndedAt: 20, containerStartedAt: 30, readyAt: 90 };
    expect(namesOf(running, start)).toEqual([
      ["submitted", 100],
      ["taken", 200],
    ]);
  });

  test("is shown once, with the attempt that waited for it", ({ expect }) => {
    const times = { ...UNKNOWN_TIMES, workerStart: { readyAt: 190 } };
    const lost = { kind: "rescue", attempt: 1, reason: "gone." } as const;
    const trace = extendTrace(running, lost, times, 300);
    const again = jobWith({ ...running, attempt: 2, startedAt: 400, trace });
    expect(timelineOf(again, times).map(({ event }) => event)).toEqual([
      "submitted",
      "worker_ready",
      "taken",
      "requeued",
      "taken",
    ]);
  });

  test("is not shown after the claim, but a much later one is another start", ({ expect }) => {
    expect(namesOf(running, { containerStartedAt: 150, readyAt: 230 })).toEqual([
      ["submitted", 100],
      ["container_started", 150],
      ["worker_ready", 200],
      ["taken", 200],
    ]);
    expect(namesOf(running, { containerStartedAt: 9_000, readyAt: 9_500 })).toEqual([
      ["submitted", 100],
      ["taken", 200],
    ]);
  });

  test("is shown in the order of its steps, though one of them came with a slow report", ({ expect }) => {
    const start = { containerStartingAt: 170, containerStartedAt: 150, runtimeStartedAt: 180, readyAt: 175 };
    expect(namesOf(running, start)).toEqual([
      ["submitted", 100],
      ["container_starting", 150],
      ["container_started", 150],
      ["runtime_started", 175],
      ["worker_ready", 175],
      ["taken", 200],
    ]);
  });

  test("has no handler that ends before it started, or that started before the job was taken", ({
    expect,
  }) => {
    const rounded = { workerStart: null, handlerStartedAt: 199, handlerFinishedAt: 198 };
    expect(timelineOf(running, rounded).map(({ event, at }) => [event, at])).toEqual([
      ["submitted", 100],
      ["taken", 200],
      ["handler_started", 200],
      ["handler_finished", 200],
    ]);
  });

  test("changes its time only when it happened again", ({ expect }) => {
    const known = { containerStartedAt: 1_000, readyAt: 5_000 };
    expect(mergeStart(known, { ...known, readyAt: 6_900 })).toBe(known);
    expect(mergeStart(known, { pullEndedAt: null })).toBe(known);
    expect(mergeStart(known, null)).toBe(known);
    expect(mergeStart(known, { ...known, containerStartedAt: 9_000 })).toEqual({
      ...known,
      containerStartedAt: 9_000,
    });
  });
});

describe("the cold start of a request that came at 100", () => {
  test.for<[string, WorkerStart, number | null]>([
    ["counts from when the start of the worker began", { containerStartedAt: 150, readyAt: 900 }, 750],
    ["counts the pull of the image", { pullStartedAt: 120, pullEndedAt: 300, readyAt: 900 }, 780],
    [
      "counts from when the request came, if the start began before",
      { containerStartedAt: 50, readyAt: 900 },
      800,
    ],
    ["ends when the worker got it, should the report say a moment later", { readyAt: 1_500 }, 900],
    [
      "counts from the choice of the host, if that was for this start",
      { assignedAt: 70, containerStartedAt: 150, readyAt: 900 },
      800,
    ],
    ["is none when the worker was up", { containerStartedAt: 50, readyAt: 90 }, null],
    ["is none when the worker was ready far later: that was another start", { readyAt: 9_000 }, null],
    ["is none when nobody knows of the start", {}, null],
  ])("%s", ([, values, coldStart], { expect }) => {
    expect(coldStartBy({ workerStart: values, placedAt: 60 }, 100, 1_000)?.totalMs ?? null).toBe(coldStart);
  });
});

test("events from elsewhere are sorted by their time", ({ expect }) => {
  const done = jobWith({ ...running, state: "completed", finishedAt: 300 });
  const beside = [{ event: "webhook_attempted", at: 350, statusCode: 200 } as const];
  expect(timelineOf(done, UNKNOWN_TIMES, beside).map(({ event }) => event)).toEqual([
    "submitted",
    "finished",
    "webhook_attempted",
  ]);
});

test("a job that is retried for ever keeps its newest events", ({ expect }) => {
  let job = jobWith({ state: "failed", finishedAt: 1 });
  for (let round = 0; round < 300; round += 1) {
    job = { ...job, trace: extendTrace(job, { kind: "retry" }, UNKNOWN_TIMES, round) };
  }
  expect(timelineOf(job, UNKNOWN_TIMES).length).toBe(202);
  expect(timelineOf(job, UNKNOWN_TIMES).at(-1)).toMatchObject({ event: "retried", at: 299 });
});
