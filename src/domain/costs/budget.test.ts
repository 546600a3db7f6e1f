import fc from "fast-check";
import { describe, test } from "vitest";
import { countedCost, nextChangeAt, periodAt, stateOfBudget, type Budget } from "./budget.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const RANK = { within: 0, warning: 1, reached: 2 };

const budget: fc.Arbitrary<Budget> = fc.record({
  endpointId: fc.constant(null),
  limit: fc.double({ min: 0.01, max: 10_000, noNaN: true }),
  period: fc.constantFrom("day" as const, "month" as const),
  warnPercent: fc.integer({ min: 1, max: 100 }),
  forgiven: fc.constant(null),
});
const moment = fc.nat(4_000 * DAY);

describe("a period", () => {
  test("contains its moment, ends where the next one begins, and is a day or a month long", ({ expect }) => {
    fc.assert(
      fc.property(fc.constantFrom("day" as const, "month" as const), moment, (name, now) => {
        const { from, until } = periodAt(name, now);
        expect(from <= now && now < until).toBe(true);
        expect(periodAt(name, until).from).toBe(until);
        expect(periodAt(name, from - 1).until).toBe(from);
        const days = (until - from) / DAY;
        expect(name === "day" ? days === 1 : days >= 28 && days <= 31).toBe(true);
      }),
    );
  });
});

describe("the state of a budget", () => {
  test("only gets worse as costs grow, and is reached at the limit", ({ expect }) => {
    const cost = fc.double({ min: 0, max: 20_000, noNaN: true });
    fc.assert(
      fc.property(budget, cost, cost, (one, a, b) => {
        const [less, more] = [Math.min(a, b), Math.max(a, b)];
        expect(RANK[stateOfBudget(one, more)]).toBeGreaterThanOrEqual(RANK[stateOfBudget(one, less)]);
        expect(stateOfBudget(one, one.limit + less)).toBe("reached");
        if (less < one.limit * 0.999) expect(stateOfBudget(one, less)).not.toBe("reached");
      }),
    );
  });

  test("changes at the time that was predicted, and not before it", ({ expect }) => {
    const perHour = fc.double({ min: 0.001, max: 1_000, noNaN: true });
    const limit = fc.double({ min: 0.01, max: 10_000, noNaN: true });
    fc.assert(
      fc.property(
        budget,
        limit,
        perHour,
        fc.double({ min: 0, max: 1.2, noNaN: true }),
        moment,
        (one, max, rate, share, now) => {
          const limited = { ...one, limit: max };
          const counted = max * share;
          const before = stateOfBudget(limited, counted);
          const period = periodAt(limited.period, now);
          const at = nextChangeAt(limited, { counted, perHour: rate }, period, now);
          expect(at > now && at <= period.until).toBe(true);
          const stateAt = (ms: number) =>
            stateOfBudget(limited, counted + (Math.max(0, ms - now) / HOUR) * rate);
          if (at < period.until) expect(stateAt(at + 1)).not.toBe(before);
          expect(stateAt(at - 2)).toBe(before);
        },
      ),
    );
  });

  test("does not count what was forgiven, in its period alone", ({ expect }) => {
    expect(countedCost({ forgiven: { from: 0, cost: 7 } }, 0, 10)).toBe(3);
    expect(countedCost({ forgiven: { from: 0, cost: 7 } }, DAY, 10)).toBe(10);
    expect(countedCost({ forgiven: { from: 0, cost: 7 } }, 0, 5)).toBe(0);
  });
});
