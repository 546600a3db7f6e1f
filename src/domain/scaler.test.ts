import fc from "fast-check";
import { test } from "vitest";
import { decideWorkers } from "./scaler.ts";

const config = fc
  .record({
    workersMin: fc.nat(5),
    spread: fc.nat(5),
    idleTimeoutSeconds: fc.integer({ min: 1, max: 3_600 }),
  })
  .map(({ workersMin, spread, idleTimeoutSeconds }) => ({
    workersMin,
    workersMax: workersMin + spread,
    idleTimeoutSeconds,
  }));
const sample = fc.record({
  normalQueued: fc.nat(100),
  lowQueued: fc.nat(100),
  running: fc.nat(10),
  wanted: fc.nat(10),
  idleSinceAt: fc.option(fc.nat(10_000)),
  now: fc.integer({ min: 10_000, max: 10_000_000 }),
});

test("the wish stays between workersMin and workersMax", () => {
  fc.assert(
    fc.property(sample, config, (given, limits) => {
      const { wanted } = decideWorkers(given, limits);
      return wanted >= limits.workersMin && wanted <= limits.workersMax;
    }),
  );
});

test("more work never means fewer workers", () => {
  fc.assert(
    fc.property(sample, config, fc.nat(50), (given, limits, more) => {
      const before = decideWorkers(given, limits).wanted;
      return decideWorkers({ ...given, normalQueued: given.normalQueued + more }, limits).wanted >= before;
    }),
  );
});

test("an idle endpoint keeps its worker for idleTimeout and is looked at again then", ({ expect }) => {
  const limits = { workersMin: 0, workersMax: 3, idleTimeoutSeconds: 5 };
  const idle = { normalQueued: 0, lowQueued: 0, running: 0, wanted: 1, idleSinceAt: 1_000 };
  expect(decideWorkers({ ...idle, now: 5_999 }, limits)).toEqual({ wanted: 1, reviewAt: 6_000 });
  expect(decideWorkers({ ...idle, now: 6_000 }, limits)).toEqual({ wanted: 0, reviewAt: null });
});

test("low-priority jobs ask for no worker and send none away", ({ expect }) => {
  const limits = { workersMin: 0, workersMax: 3, idleTimeoutSeconds: 5 };
  const low = { normalQueued: 0, lowQueued: 4, running: 0, idleSinceAt: null, now: 1 };
  expect(decideWorkers({ ...low, wanted: 0 }, limits).wanted).toBe(0);
  expect(decideWorkers({ ...low, wanted: 1 }, limits).wanted).toBe(1);
});
