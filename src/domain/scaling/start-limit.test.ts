import { test } from "vitest";
import { startLimitIssue, startLimitMs } from "./start-limit.ts";

test("a start limit is whole, within bounds, and what the variable says where it can be", ({ expect }) => {
  const limits = ["12.3456", "1.005", "30", "0.2", "1e20", "Infinity", "-5", "0", "", "abc", undefined];
  expect(limits.map(startLimitMs)).toEqual([
    12_346, 1_005, 30_000, 1_000, 86_400_000, 86_400_000, 420_000, 420_000, 420_000, 420_000, 420_000,
  ]);
});

test("is refused when it is saved and means nothing, or something out of bounds", ({ expect }) => {
  for (const text of ["30", "1", "86400", "12.5", " 60 ", "", "{{ SECRET_LIMIT }}"]) {
    expect([text, startLimitIssue(text)]).toEqual([text, undefined]);
  }
  for (const text of ["abc", "0", "-1", "0.5", "86401", "1e20", "NaN", "Infinity", "30s"]) {
    expect([text, startLimitIssue(text)]).toEqual([text, expect.stringContaining("1 to 86400")]);
  }
});
