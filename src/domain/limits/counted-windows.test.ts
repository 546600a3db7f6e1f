import { expect, test } from "vitest";
import { CountedWindows } from "./counted-windows.ts";

test("each window begins with nothing, for each name by itself", () => {
  const windows = new CountedWindows(10_000, 100);
  expect([windows.count("a", 10_001), windows.count("a", 19_999), windows.count("b", 19_999)]).toEqual([
    1, 2, 1,
  ]);
  windows.exhaust("a", 19_999);
  expect([windows.isExhausted("a", 19_999), windows.isExhausted("b", 19_999)]).toEqual([true, false]);
  expect(windows.endsInMs(19_999)).toBe(1);
  expect(windows.isExhausted("a", 20_000)).toBe(false);
  expect(windows.count("a", 20_000)).toBe(1);
});

test("many names take no more memory than they may", () => {
  const windows = new CountedWindows(10_000, 2);
  for (const name of ["a", "b", "c"]) windows.count(name, 1);
  expect([windows.count("c", 1), windows.count("a", 1)]).toEqual([2, 1]);
});
