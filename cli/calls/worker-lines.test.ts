import { describe, expect, test } from "vitest";
import { nearest, type OpenCall, quietAt } from "./worker-lines.ts";

const line: OpenCall["line"] = {
  waiting: () => {},
  running: () => {},
  printed: () => {},
  awaitLog: () => () => {},
  done: () => {},
  fail: () => {},
};
const call = (startedAt: number, endedAt?: number): OpenCall =>
  endedAt === undefined ? { line, startedAt } : { line, startedAt, endedAt };

test("a line belongs to the call that was running when it was printed", () => {
  const [first, second] = [call(0, 10), call(20)];
  expect(nearest([first, second], 5)).toBe(first);
  expect(nearest([first, second], 25)).toBe(second);
});

test("the latest of concurrent calls is chosen, else the nearest", () => {
  const [first, second] = [call(0, 30), call(10, 40)];
  expect(nearest([first, second], 20)).toBe(second);
  expect(nearest([first, second], 42)).toBe(second);
  expect(nearest([first, second], -3)).toBe(first);
  expect(nearest([], 0)).toBeUndefined();
});

describe("the log of a call that is over", () => {
  const endedAt = 10_000;
  const waitMs = (printedAt?: number, followedAt: number | undefined = 0): number =>
    quietAt(printedAt === undefined ? { endedAt } : { endedAt, printedAt }, followedAt) - endedAt;

  test("is awaited briefly, whatever it printed before", () => {
    expect(waitMs()).toBeGreaterThan(0);
    expect(waitMs(endedAt - 5_000)).toBe(waitMs());
  });

  test("is awaited longer while lines arrive, up to a limit", () => {
    expect(waitMs(endedAt + 500)).toBeGreaterThan(waitMs());
    expect(waitMs(endedAt + 60_000)).toBe(2_000);
  });

  test("is awaited from the time when the log is followed", () => {
    expect(waitMs(undefined, endedAt + 300)).toBe(waitMs() + 300);
    expect(quietAt({ endedAt }) - endedAt).toBe(2_000);
  });
});
