import { test } from "vitest";
import { useBetween } from "./use-meter.ts";

const limits = { cpuMilli: 2_000, memoryMb: 1_024 };
const use = (at: number, cpuMs: number) => ({ at, cpuMs, memoryBytes: 256 * 2 ** 20 });

test("a busy core is half of two, and a quarter of the memory is 25 %", ({ expect }) => {
  expect(useBetween(use(0, 0), use(10_000, 10_000), limits)).toEqual({ cpuPercent: 50, memoryPercent: 25 });
});

test("CPUs are compared with an earlier reading of the same container only", ({ expect }) => {
  expect(useBetween(null, use(10_000, 10_000), limits)).toEqual({ memoryPercent: 25 });
  expect(useBetween(use(0, 20_000), use(10_000, 10_000), limits)).toEqual({ memoryPercent: 25 });
  expect(useBetween(use(10_000, 0), use(10_000, 0), limits)).toEqual({ memoryPercent: 25 });
});

test("a share of the CPUs may be exceeded", ({ expect }) => {
  expect(useBetween(use(0, 0), use(1_000, 3_000), limits).cpuPercent).toBe(150);
});
