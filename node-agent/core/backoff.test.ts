import { afterEach, beforeEach, test, vi } from "vitest";
import { Backoff } from "./backoff.ts";
import { TIMING } from "./timing.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date", "performance"] }));
afterEach(() => void vi.useRealTimers());

test("a pause takes as long when the clock of the host is set back meanwhile", ({ expect }) => {
  const backoff = new Backoff(TIMING, () => 0.5);
  backoff.increase();
  const pauseMs = backoff.remainingMs();
  expect(pauseMs).toBeGreaterThan(0);
  vi.setSystemTime(Date.now() - 3_600_000);
  expect(backoff.remainingMs()).toBe(pauseMs);
  vi.advanceTimersByTime(Math.ceil(pauseMs));
  expect(backoff.remainingMs()).toBe(0);
});
