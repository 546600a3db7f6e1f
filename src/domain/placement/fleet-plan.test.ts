import fc from "fast-check";
import { describe, test } from "vitest";
import { planWorkers, type PlannedWorker, serveFairly, type Need } from "./fleet-plan.ts";

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
    fc.property(workers, goal, (given, demand) => {
      const { retire, add } = planWorkers(given, demand);
      const staying = given.filter(({ workerId, isRetired }) => !isRetired && !retire.includes(workerId));
      const current = staying.filter(({ version }) => version === 2).length;
      const hasOlder = staying.length > current;
      const isWithin = !hasOlder || add === 0 || staying.length + add <= demand.workersMax + 1;
      return isWithin && (add === 0 || current + add <= demand.desired);
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

test("of an endpoint without desired workers all are removed", ({ expect }) => {
  const worker = { version: 1, isReady: true, isRetired: false, isDrained: false };
  const all = ["1", "2"].map((workerId) => ({ ...worker, workerId }));
  expect(planWorkers(all, undefined)).toMatchObject({ retire: ["1", "2"], add: 0 });
});

const EQUAL = { weight: 1, priority: "NORMAL", usedMs: 0 } as const;
const need = (endpointId: string, desired: number, more: Partial<Need> = {}): Need => {
  return { endpointId, has: 0, least: 0, desired, since: 0, ...EQUAL, ...more };
};

/** Who gets so many places, in order. */
function turnsOf(needs: readonly Need[], places: number): string {
  let given = "";
  serveFairly(needs, 0, ({ endpointId }) => {
    if (given.length >= places) return false;
    given += endpointId;
    return true;
  });
  return given;
}

test("who has fewest workers comes first, and of equals who has waited longest", ({ expect }) => {
  expect(turnsOf([need("a", 9), need("b", 9)], 5)).toBe("ababa");
  expect(turnsOf([need("a", 9, { has: 2 }), need("b", 9)], 5)).toBe("bbaba");
  expect(turnsOf([need("a", 1, { since: 7 }), need("b", 1, { since: 6 })], 1)).toBe("b");
});

test("the minimum of every endpoint is placed before extra workers of any", ({ expect }) => {
  const needs = [need("a", 4), need("b", 4, { has: 3, least: 4 }), need("c", 2, { least: 2 })];
  expect(turnsOf(needs, 9)).toBe("ccbaaaa");
});

test("an endpoint that fits nowhere delays no other", ({ expect }) => {
  const given: string[] = [];
  serveFairly([need("a", 3, { least: 3 }), need("b", 2)], 0, ({ endpointId }) => {
    given.push(endpointId);
    return endpointId !== "a";
  });
  expect(given).toEqual(["a", "b", "b"]);
});

test("no endpoint gets more than is desired, and no two that wait differ by more than one", ({ expect }) => {
  const needs = fc
    .array(fc.nat(8), { minLength: 1, maxLength: 6 })
    .map((demands) => demands.map((desired, index) => need(String(index), desired)));
  fc.assert(
    fc.property(needs, fc.nat(30), (demands, places) => {
      const given = turnsOf(demands, places);
      const counts = demands.map(({ endpointId }) => given.split(endpointId).length - 1);
      expect(given).toHaveLength(
        Math.min(
          places,
          demands.reduce((sum, { desired }) => sum + desired, 0),
        ),
      );
      const unserved = counts.filter((count, index) => count < (demands[index]?.desired ?? 0));
      for (const count of unserved) expect(Math.max(...counts) - count).toBeLessThanOrEqual(1);
    }),
  );
});
