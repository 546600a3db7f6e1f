import fc from "fast-check";
import { describe, test } from "vitest";
import { planWorkers, type PlannedWorker } from "./fleet-plan.ts";

const worker = fc.record({
  workerId: fc.uuid(),
  version: fc.constantFrom(1, 2),
  isReady: fc.boolean(),
  isRetired: fc.boolean(),
  isDrained: fc.boolean(),
});
const workers = fc.uniqueArray(worker, { maxLength: 10, selector: ({ workerId }) => workerId });
const goal = fc
  .tuple(fc.nat(8), fc.nat(8))
  .map(([a, b]) => ({ desired: Math.min(a, b), workersMin: 0, workersMax: Math.max(a, b), version: 2 }));

test("only those on drained hosts go, and without an older one all that are missing come", () => {
  fc.assert(
    fc.property(workers, goal, (given, { desired, ...rest }) => {
      const current = given.map((one) => ({ ...one, version: 2 }));
      const { retire, add } = planWorkers(current, { desired: desired, ...rest });
      const active = current.filter(({ isRetired }) => !isRetired);
      const staying = active.filter(({ isDrained }) => !isDrained).length;
      const missing = Math.max(0, desired - staying);
      return retire.length === active.length - staying && add === missing;
    }),
  );
});

test("beside older workers no more come than workersMax and one allow, nor more than are desired", () => {
  fc.assert(
    fc.property(workers, goal, (given, wish) => {
      const { retire, add } = planWorkers(given, wish);
      const staying = given.filter(({ workerId, isRetired }) => !isRetired && !retire.includes(workerId));
      const current = staying.filter(({ version }) => version === 2).length;
      const hasOlder = staying.length > current;
      const isWithin = !hasOlder || add === 0 || staying.length + add <= wish.workersMax + 1;
      return isWithin && (add === 0 || current + add <= wish.desired);
    }),
  );
});

describe("a release of three workers that may be five", () => {
  const of = (version: number, isReady = true): PlannedWorker => {
    return { workerId: crypto.randomUUID(), version, isReady, isRetired: false, isDrained: false };
  };
  const add = (...given: PlannedWorker[]) =>
    planWorkers(given, { desired: 3, workersMin: 1, workersMax: 5, version: 2 }).add;
  const old = [of(1), of(1), of(1)];

  test("begins with one", ({ expect }) => {
    expect(add(...old)).toBe(1);
    expect(add(...old, of(2, false))).toBe(0);
  });

  test("goes on with all that have room when that one is ready", ({ expect }) => {
    expect(add(...old, of(2))).toBe(2);
    expect(add(...old.slice(1), of(2), of(2), of(2))).toBe(0);
  });

  test("adds what a scaler asks for beside", ({ expect }) => {
    expect(add(of(1))).toBe(3);
  });
});

test("of an endpoint that nobody wants all workers go", ({ expect }) => {
  const worker = { version: 1, isReady: true, isRetired: false, isDrained: false };
  const all = ["1", "2"].map((workerId) => ({ ...worker, workerId }));
  expect(planWorkers(all, undefined)).toMatchObject({ retire: ["1", "2"], add: 0 });
});
