import fc from "fast-check";
import { describe, test } from "vitest";
import {
  isFinal,
  newExpiry,
  queuedJob,
  retentionOf,
  transition,
  type StoredJob,
  type JobEvent,
} from "./job-machine.ts";

function freshJob(values: Partial<StoredJob> = {}): StoredJob {
  const submitted = { isSync: false, ttlMs: 1_000_000, executionTimeoutMs: 600_000, retentionMs: 60_000 };
  return { ...queuedJob(submitted, 0), ...values };
}

const attempt = fc.integer({ min: 0, max: 4 });
const anyEvent: fc.Arbitrary<JobEvent> = fc.oneof(
  fc.constant<JobEvent>({ kind: "claim", workerId: "w", hostId: "h" }),
  fc.constant<JobEvent>({ kind: "cancel" }),
  fc.constant<JobEvent>({ kind: "retry" }),
  attempt.map((value): JobEvent => ({ kind: "undeliver", attempt: value })),
  attempt.map((value): JobEvent => ({ kind: "rescue", attempt: value, reason: "gone." })),
  attempt.map((value): JobEvent => ({ kind: "timeOut", attempt: value })),
  attempt.map((value): JobEvent => ({ kind: "complete", attempt: value, output: null })),
  attempt.map((value): JobEvent => ({ kind: "fail", attempt: value, error: "e", output: null })),
);

/** Every job on the way that a sequence of events takes, refused events leaving it where it was. */
function walk(
  events: readonly JobEvent[],
): { before: StoredJob; event: JobEvent; after: StoredJob; isMoved: boolean }[] {
  let job = freshJob();
  return events.map((event, index) => {
    const before = job;
    const verdict = transition(job, event, index + 1);
    if (verdict.kind === "moved") job = verdict.job;
    return { before, event, after: job, isMoved: verdict.kind === "moved" };
  });
}

describe("whatever happens to a job", () => {
  const everyStep = (check: (step: ReturnType<typeof walk>[number]) => boolean) =>
    fc.assert(fc.property(fc.array(anyEvent, { maxLength: 30 }), (events) => walk(events).every(check)));

  test("only retry leaves a final state, and only failed and timed_out are left", () => {
    everyStep(({ before, event, isMoved }) => {
      if (!isMoved || !isFinal(before.state)) return true;
      return event.kind === "retry" && (before.state === "failed" || before.state === "timed_out");
    });
  });

  test("only the current attempt ends a running job", () => {
    everyStep(
      ({ before, event, isMoved }) => !isMoved || !("attempt" in event) || event.attempt === before.attempt,
    );
  });

  test("attempts never shrink, and each claim is a new one", () => {
    everyStep(({ before, event, after, isMoved }) =>
      isMoved && event.kind === "claim"
        ? after.attempt === before.attempt + 1
        : after.attempt === before.attempt,
    );
  });

  test("times are set in the states that have them, and nowhere else", () => {
    everyStep(({ after }) => {
      const isEnded = isFinal(after.state);
      const hasWorker = after.workerId !== null && after.startedAt !== null;
      return (
        (after.finishedAt !== null) === isEnded &&
        (after.removeAt !== null) === isEnded &&
        (after.state !== "running" || hasWorker) &&
        (after.state !== "queued" || !hasWorker)
      );
    });
  });

  test("between two retries a job is dispatched at most twice after lost workers", () => {
    everyStep(({ after }) => after.rescues <= (after.state === "failed" ? 2 : 1));
  });
});

describe("transitions", () => {
  const running = freshJob({ state: "running", attempt: 1, startedAt: 5, workerId: "w", hostId: "h" });

  test("a retried job is as if submitted now, without its old output", ({ expect }) => {
    const failed = freshJob({
      state: "failed",
      attempt: 2,
      rescues: 1,
      error: "x",
      finishedAt: 9,
      removeAt: 99,
    });
    expect(transition(failed, { kind: "retry" }, 50)).toMatchObject({
      kind: "moved",
      job: { state: "queued", queuedAt: 50, error: null, rescues: 0, retries: 1, attempt: 2, removeAt: null },
    });
  });

  test("cancel and timeout of a running job ask for its handler to be stopped", ({ expect }) => {
    for (const [event, reason] of [
      [{ kind: "cancel" }, "cancelled"],
      [{ kind: "timeOut", attempt: 1 }, "timed_out"],
    ] as const) {
      const verdict = transition(running, event, 10);
      expect(verdict).toMatchObject({
        effects: [{ kind: "settled" }, { kind: "stopHandler", hostId: "h", attempt: 1, reason }],
      });
    }
  });

  test("cancel of a queued job stops nobody", ({ expect }) => {
    expect(transition(freshJob(), { kind: "cancel" }, 10)).toMatchObject({ effects: [{ kind: "settled" }] });
  });

  test("a result is kept for the retention of its job", ({ expect }) => {
    const running = freshJob({ state: "running", attempt: 1, startedAt: 1, workerId: "w", hostId: "h" });
    const complete: JobEvent = { kind: "complete", attempt: 1, output: null };
    expect(transition(running, complete, 10)).toMatchObject({ job: { removeAt: 60_010 } });
  });

  test("retention: run 30 minutes; runsync 1 minute, or as long as its wait, 5 minutes at most", ({
    expect,
  }) => {
    expect(retentionOf(false, null)).toBe(1_800_000);
    expect([null, 1_000, 90_000, 300_000].map((waitMs) => retentionOf(true, waitMs))).toEqual([
      60_000, 60_000, 90_000, 300_000,
    ]);
    expect(retentionOf(true, 900_000)).toBe(300_000);
  });

  test("a new ttl begins now, and ends seven days after the submission at the latest", ({ expect }) => {
    expect(newExpiry({ createdAt: 5 }, 10_000, 100)).toBe(10_100);
    expect(newExpiry({ createdAt: 5 }, 604_800_000, 100)).toBe(604_800_005);
  });
});

test("no time is before the one that it follows, wherever clocks differ", ({ expect }) => {
  const moved = (job: StoredJob, event: JobEvent, now: number): StoredJob => {
    const verdict = transition(job, event, now);
    if (verdict.kind === "refused") throw new Error(verdict.reason);
    return verdict.job;
  };
  const queued = freshJob({ queuedAt: 1_000 });
  expect(moved(queued, { kind: "cancel" }, 900)).toMatchObject({ finishedAt: 1_000, removeAt: 61_000 });
  const running = moved(queued, { kind: "claim", workerId: "w", hostId: "h" }, 950);
  expect(running.startedAt).toBe(1_000);
  const ended = moved(running, { kind: "complete", attempt: 1, output: null }, 970);
  expect(ended).toMatchObject({ finishedAt: 1_000, removeAt: 61_000 });
});
