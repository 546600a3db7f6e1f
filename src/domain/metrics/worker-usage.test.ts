import fc from "fast-check";
import { describe, test } from "vitest";
import { workerHours, type WorkerHour, type WorkerLifetime } from "./worker-usage.ts";

const HOUR = 3_600_000;

const life = fc
  .record({
    endpointId: fc.constantFrom("a", "b"),
    from: fc.nat(20 * HOUR),
    lengthMs: fc.nat(10 * HOUR),
    count: fc.nat(4),
    model: fc.constantFrom("NVIDIA L4", "NVIDIA H200"),
  })
  .map(({ endpointId, from, lengthMs, count, model }): WorkerLifetime => {
    const gpus = count === 0 ? [] : [{ model, tier: null, count }];
    return { endpointId, accountId: "account", gpus, from, to: from + lengthMs };
  });

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
