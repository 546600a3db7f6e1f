import fc from "fast-check";
import { describe, test } from "vitest";
import { Histogram } from "./histogram.ts";

const values = fc.array(fc.integer({ min: 0, max: 2 ** 30 }), { minLength: 1, maxLength: 300 });
const shares = fc.constantFrom(0.01, 0.5, 0.9, 0.99, 1);

function histogramOf(list: readonly number[]): Histogram {
  const histogram = new Histogram();
  for (const value of list) histogram.add(value);
  return histogram;
}

function exactQuantile(list: readonly number[], share: number): number {
  const sorted = list.toSorted((a, b) => a - b);
  return sorted[Math.max(1, Math.ceil(share * sorted.length)) - 1] ?? 0;
}

describe("a histogram", () => {
  test("has quantiles within 4.5 % or 1 ms of the exact ones", ({ expect }) => {
    fc.assert(
      fc.property(values, shares, (list, share) => {
        const exact = exactQuantile(list, share);
        const told = histogramOf(list).quantile(share) ?? Number.NaN;
        expect(Math.abs(told - exact)).toBeLessThanOrEqual(Math.max(1, exact * 0.045));
      }),
    );
  });

  test("added to another is the histogram of both lists", ({ expect }) => {
    fc.assert(
      fc.property(values, values, (first, second) => {
        const merged = histogramOf(first);
        merged.merge(histogramOf(second));
        expect(merged.toRecord()).toEqual(histogramOf([...first, ...second]).toRecord());
      }),
    );
  });

  test("is the same after it was written and read, and has the exact count and sum", ({ expect }) => {
    fc.assert(
      fc.property(values, (list) => {
        const read = Histogram.from(histogramOf(list).toRecord());
        expect(read.toRecord()).toEqual(histogramOf(list).toRecord());
        expect(read.count).toBe(list.length);
        expect(read.sum).toBe(list.reduce((total, value) => total + value, 0));
      }),
    );
  });

  test("counts exactly what is at most a power of two", ({ expect }) => {
    const nearPowers = fc
      .tuple(fc.nat(29), fc.constantFrom(-1, 0, 1))
      .map(([p, by]) => Math.max(0, 2 ** p + by));
    fc.assert(
      fc.property(fc.array(nearPowers), fc.nat(29), (list, power) => {
        const exact = list.filter((value) => value <= 2 ** power).length;
        expect(histogramOf(list).countUpTo(power)).toBe(exact);
      }),
    );
  });

  test("without values has no quantile", ({ expect }) => {
    expect(new Histogram().quantile(0.5)).toBeNull();
  });

  test("counts longer values in its last bucket", ({ expect }) => {
    const histogram = histogramOf([1e12]);
    expect(histogram.count).toBe(1);
    expect(histogram.quantile(1)).toBeGreaterThan(1e9);
  });
});
