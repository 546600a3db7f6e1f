import fc from "fast-check";
import { test } from "vitest";
import { RATE_WINDOW_MS, RATE_LIMITS, type LimitedOperation } from "../../contract/rate-limits.ts";
import { RateWindow, effectiveLimit, runningWorkers } from "./rate-window.ts";
import type { WorkerState } from "../../contract/agent/agent.ts";

const START = 1_800_000_000_000;

/** Moments of requests, from crowds within a millisecond to pauses longer than a window. */
const arrivals = fc
  .tuple(
    fc.nat(20_000),
    fc.array(fc.oneof(fc.constant(0), fc.nat(50), fc.nat(3_000), fc.nat(25_000)), { maxLength: 200 }),
  )
  .map(([offsetMs, pauses]) => {
    let at = START + offsetMs;
    return pauses.map((pauseMs) => (at += pauseMs));
  });
const limit = fc.integer({ min: 1, max: 30 });

test("never more than the limit in any window of ten seconds", () => {
  fc.assert(
    fc.property(arrivals, limit, (moments, most) => {
      const window = new RateWindow();
      const admitted = moments.filter((now) => window.admit(most, now).kind === "admitted");
      return admitted.every(
        (end) => admitted.filter((at) => at > end - RATE_WINDOW_MS && at <= end).length <= most,
      );
    }),
  );
});

test("a request is rejected only if the limit was used up within a window and one bucket", () => {
  fc.assert(
    fc.property(arrivals, limit, (moments, most) => {
      const window = new RateWindow();
      const admitted: number[] = [];
      for (const now of moments) {
        const recent = admitted.filter((at) => at > now - RATE_WINDOW_MS * 1.001).length;
        const isAdmitted = window.admit(most, now).kind === "admitted";
        if (!isAdmitted && recent < most) return false;
        if (isAdmitted) admitted.push(now);
      }
      return true;
    }),
  );
});

test("a crowd is admitted up to the limit exactly, and remaining counts down to 0", ({ expect }) => {
  const window = new RateWindow();
  const verdicts = Array.from({ length: 5 }, () => window.admit(3, START));
  expect(verdicts).toMatchObject([
    { kind: "admitted", remaining: 2 },
    { kind: "admitted", remaining: 1 },
    { kind: "admitted", remaining: 0 },
    { kind: "refused" },
    { kind: "refused" },
  ]);
});

test("rejected requests do not count: with and without them the same is admitted", () => {
  fc.assert(
    fc.property(arrivals, limit, fc.integer({ min: 1, max: 5 }), (moments, most, repeats) => {
      const [calm, pressed] = [new RateWindow(), new RateWindow()];
      return moments.every((now) => {
        const first = calm.admit(most, now).kind;
        const same = pressed.admit(most, now).kind === first;
        if (first === "refused") for (let count = 0; count < repeats; count += 1) pressed.admit(most, now);
        return same;
      });
    }),
  );
});

test("after retryAfterMs a request is admitted if no other was made, also under a lowered limit", () => {
  fc.assert(
    fc.property(arrivals, limit, limit, (moments, most, lowered) => {
      const window = new RateWindow();
      for (const now of moments) window.admit(most, now);
      const now = moments.at(-1) ?? START;
      const verdict = window.admit(lowered, now);
      if (verdict.kind === "admitted") return true;
      const { retryAfterMs } = verdict;
      const isBounded = retryAfterMs > 0 && retryAfterMs <= RATE_WINDOW_MS * 1.01;
      return isBounded && window.admit(lowered, now + retryAfterMs).kind === "admitted";
    }),
  );
});

test("a clock that goes back frees nothing", ({ expect }) => {
  const window = new RateWindow();
  window.admit(1, START);
  expect(window.admit(1, START - 60_000).kind).toBe("refused");
  expect(window.admit(1, START + RATE_WINDOW_MS + 100).kind).toBe("admitted");
});

test("the limits are those of the service", ({ expect }) => {
  const bases = (
    ["runsync", "run", "status", "stream", "cancel", "purge-queue", "openai", "requests"] as const
  ).map((operation) => [operation, ...Object.values(RATE_LIMITS[operation]).slice(0, 2)].join(" "));
  expect(bases).toEqual([
    "runsync 2000 400",
    "run 1000 200",
    "status 2000 400",
    "stream 2000 400",
    "cancel 100 20",
    "purge-queue 2 ",
    "openai 2000 400",
    "requests 10 2",
  ]);
});

test("the base limit applies until the workers allow more, and both limits grow alike", ({ expect }) => {
  expect(effectiveLimit("runsync", 0)).toEqual({ requests: 2_000, concurrent: 400 });
  expect(effectiveLimit("runsync", 5)).toEqual({ requests: 2_000, concurrent: 400 });
  expect(effectiveLimit("runsync", 6)).toEqual({ requests: 2_400, concurrent: 480 });
  expect(effectiveLimit("run", 100)).toEqual({ requests: 20_000, concurrent: 4_000 });
  expect(effectiveLimit("cancel", 6)).toEqual({ requests: 120, concurrent: 24 });
});

test("purge-queue stays as it is, however many workers run", ({ expect }) => {
  expect(effectiveLimit("purge-queue", 1_000)).toEqual({ requests: 2, concurrent: null });
});

test("no limit falls when a worker is added", ({ expect }) => {
  for (const operation of Object.keys(RATE_LIMITS) as LimitedOperation[]) {
    for (let workers = 0; workers < 20; workers += 1) {
      const [before, after] = [effectiveLimit(operation, workers), effectiveLimit(operation, workers + 1)];
      expect(after.requests).toBeGreaterThanOrEqual(before.requests);
      expect(after.concurrent ?? 0).toBeGreaterThanOrEqual(before.concurrent ?? 0);
    }
  }
});

test("only ready workers count as running", ({ expect }) => {
  const states: WorkerState[] = ["pulling", "starting", "ready", "unhealthy", "crash_looping", "ready"];
  const workers = states.map((state) => ({ workerId: state, hostId: "h", state, detail: null }));
  expect(runningWorkers({ revision: 1, workers, missing: 0, shortage: null })).toBe(2);
});

test("a request of any earlier window is forgotten, however long the pause", ({ expect }) => {
  for (
    let pauseMs = RATE_WINDOW_MS * 1.001;
    pauseMs <= RATE_WINDOW_MS * 3;
    pauseMs += RATE_WINDOW_MS / 1_000
  ) {
    const window = new RateWindow();
    window.admit(1, START);
    expect(window.used(START + pauseMs), `after ${pauseMs} ms`).toBe(0);
  }
});
