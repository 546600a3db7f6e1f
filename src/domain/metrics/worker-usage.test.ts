import fc from "fast-check";
import { describe, test } from "vitest";
import { addVersionTimes, workerHours, type WorkerHour, type WorkerLifetime } from "./worker-usage.ts";

const HOUR = 3_600_000;

const life = fc
  .record({
    endpointId: fc.constantFrom("a", "b"),
    from: fc.nat(20 * HOUR),
    lengthMs: fc.nat(10 * HOUR),
    count: fc.nat(4),
    model: fc.constantFrom("NVIDIA L4", "NVIDIA H200"),
    version: fc.nat(2),
    readyAt: fc.option(fc.nat(40 * HOUR)),
    perHour: fc.double({ min: 0, max: 100, noNaN: true }),
  })
  .map(({ lengthMs, count, model, ...rest }): WorkerLifetime => {
    const gpus = count === 0 ? [] : [{ model, tier: null, count }];
    return { ...rest, accountId: "account", gpus, to: rest.from + lengthMs };
  });

const total = (numbers: readonly number[]) => numbers.reduce((sum, number) => sum + number, 0);

const gpuMsOf = (hours: readonly WorkerHour[]) =>
  hours.flatMap(({ gpus }) => gpus).reduce((sum, { ms }) => sum + ms, 0);

describe("usage of workers by the hour", () => {
  test("adds up to their lives, in hours that are no longer than an hour for each worker", ({ expect }) => {
    fc.assert(
      fc.property(fc.array(life, { maxLength: 10 }), (lives) => {
        const hours = workerHours(lives, 0, 100 * HOUR);
        const lived = lives.reduce((sum, { from, to }) => sum + to - from, 0);
        expect(hours.reduce((sum, { workerMs }) => sum + workerMs, 0)).toBe(lived);
        const gpuMs = lives.reduce((sum, { from, to, gpus }) => sum + (to - from) * (gpus[0]?.count ?? 0), 0);
        expect(gpuMsOf(hours)).toBe(gpuMs);
        for (const { hour, workerMs } of hours) {
          expect(hour % HOUR).toBe(0);
          expect(workerMs).toBeLessThanOrEqual(HOUR * lives.length);
        }
      }),
    );
  });

  test("is split by versions and phases and priced to the millisecond", ({ expect }) => {
    fc.assert(
      fc.property(fc.array(life, { maxLength: 10 }), (lives) => {
        const times = workerHours(lives, 0, 100 * HOUR).flatMap(({ versions }) => versions);
        for (const version of [0, 1, 2]) {
          const of = lives.filter((one) => one.version === version);
          const [sum] = addVersionTimes(times.filter((time) => time.version === version));
          const starting = of.map(({ from, to, readyAt }) => Math.max(0, Math.min(readyAt ?? to, to) - from));
          const costs = of.map(({ from, to, perHour }) => ((to - from) / HOUR) * perHour);
          expect(sum?.workerMs ?? 0).toBe(total(of.map(({ from, to }) => to - from)));
          expect(sum?.startingMs ?? 0).toBe(total(starting));
          expect(sum?.cost ?? 0).toBeCloseTo(total(costs), 6);
        }
      }),
    );
  });

  test("of an hour does not change once the hour is over, and never falls before", ({ expect }) => {
    fc.assert(
      fc.property(
        fc.array(life, { maxLength: 10 }),
        fc.nat(30 * HOUR),
        fc.nat(5 * HOUR),
        (lives, now, more) => {
          /** As it looks at a moment: workers that come later are not there yet, others live until now. */
          const seenAt = (at: number) =>
            workerHours(
              lives
                .filter(({ from }) => from <= at)
                .map((known) => ({ ...known, to: Math.min(known.to, at) })),
              0,
              at,
            );
          const later = new Map(seenAt(now + more).map((row) => [`${row.endpointId} ${row.hour}`, row]));
          for (const row of seenAt(now)) {
            const after = later.get(`${row.endpointId} ${row.hour}`);
            if (row.hour + HOUR <= now) expect(after).toEqual(row);
            else expect(after?.workerMs).toBeGreaterThanOrEqual(row.workerMs);
          }
        },
      ),
    );
  });
});
