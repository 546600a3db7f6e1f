import { expect, test } from "vitest";
import { nearest, type OpenCall } from "./worker-lines.ts";

const line: OpenCall["line"] = {
  waiting: () => {},
  running: () => {},
  printed: () => {},
  done: () => {},
  fail: () => {},
};
const call = (startedAt: number, endedAt?: number): OpenCall =>
  endedAt === undefined ? { line, startedAt } : { line, startedAt, endedAt };

test("a line is of the call that was under way when it was printed, whatever has begun since", () => {
  const [first, second] = [call(0, 10), call(20)];
  expect(nearest([first, second], 5)).toBe(first);
  expect(nearest([first, second], 25)).toBe(second);
});

test("of calls at the same time the latest is taken, and of none the nearest", () => {
  const [first, second] = [call(0, 30), call(10, 40)];
  expect(nearest([first, second], 20)).toBe(second);
  expect(nearest([first, second], 42)).toBe(second);
  expect(nearest([first, second], -3)).toBe(first);
  expect(nearest([], 0)).toBeUndefined();
});
