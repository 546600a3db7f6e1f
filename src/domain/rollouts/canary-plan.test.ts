import fc from "fast-check";
import { describe, test } from "vitest";
import { nextVersion, planWorkers } from "../placement/fleet-plan.ts";
import { canaryGoal, planCanary, type CanarySnapshot } from "./canary-plan.ts";
import type { RolloutWorker } from "./rollout-plan.ts";

const NEW = 2;
let ids = 0;
function worker(fields: Partial<RolloutWorker> = {}): RolloutWorker {
  ids += 1;
  const free = { isReady: true, jobs: 0, isDraining: false, freeSinceAt: ids, isBroken: false };
  return { workerId: `w${ids}`, version: 1, ...free, ...fields };
}
const newer = (fields: Partial<RolloutWorker> = {}) => worker({ version: NEW, ...fields });
const idOf = ({ workerId }: RolloutWorker) => workerId;

function plan(workers: readonly RolloutWorker[], step: Partial<CanarySnapshot> = {}) {
  return planCanary({ workers, version: NEW, desired: 2, percent: 10, isAhead: false, ...step });
}

test("together the shares are at most one worker more than desired", ({ expect }) => {
  fc.assert(
    fc.property(fc.nat(1_000), fc.integer({ min: 0, max: 50 }), (desired, percent) => {
      const { base, canary } = canaryGoal(desired, percent);
      expect(base + canary).toBeLessThanOrEqual(desired + 1);
      expect(base).toBeGreaterThanOrEqual(desired / 2);
      expect(canary > 0).toBe(desired > 0 && percent > 0);
    }),
  );
});

describe("workers of both versions", () => {
  test("stay as they are while each version has its share", ({ expect }) => {
    const step = plan([worker(), worker(), newer()]);
    expect(step).toMatchObject({ leaving: [], draining: [], onHold: [], evicts: false });
  });

  test("leave for others only when those are ready", ({ expect }) => {
    const old = Array.from({ length: 10 }, () => worker());
    expect(plan([...old, newer({ isReady: false })], { desired: 10 }).leaving).toEqual([]);
    expect(plan([...old, newer()], { desired: 10 }).leaving).toEqual(old.slice(0, 1).map(idOf));
  });

  test("get no jobs while the new version is ahead, unless nobody else can take them", ({ expect }) => {
    const [old, canary] = [worker(), newer()];
    expect(plan([old, canary], { desired: 1, isAhead: true }).onHold).toEqual([idOf(canary)]);
    const starting = worker({ isReady: false });
    expect(plan([starting, canary], { desired: 1, isAhead: true }).onHold).toEqual([]);
  });

  test("of a version that was sent back leave after their jobs", ({ expect }) => {
    const [free, busy] = [newer(), newer({ jobs: 1 })];
    const step = plan([worker(), free, busy], { percent: 0 });
    expect(step).toMatchObject({ leaving: [idOf(free)], draining: [idOf(busy)] });
  });

  test("reach their shares from any state, with at most one worker more than desired", ({ expect }) => {
    const counts = fc.record({
      desired: fc.integer({ min: 0, max: 20 }),
      percent: fc.integer({ min: 0, max: 50 }),
      older: fc.nat(20),
      newer: fc.nat(20),
    });
    fc.assert(
      fc.property(counts, ({ desired, percent, ...start }) => {
        const canary = { from: 1, percent };
        const goal = { desired, workersMin: 0, workersMax: 20, version: NEW, canary };
        let workers = [
          ...Array.from({ length: start.older }, () => worker()),
          ...Array.from({ length: start.newer }, () => newer()),
        ];
        for (let round = 0; round < 60; round += 1) {
          const { leaving } = plan(workers, { desired, percent });
          workers = workers.filter(({ workerId }) => !leaving.includes(workerId));
          const planned = workers.map((one) => ({ ...one, isRetired: false, isDrained: false }));
          const { add } = planWorkers(planned, goal);
          for (let count = 0; count < add; count += 1)
            workers = [...workers, worker({ version: nextVersion(workers, goal) })];
          if (round > 0) expect(workers.length).toBeLessThanOrEqual(Math.max(desired + 1, 0));
        }
        const shares = canaryGoal(desired, percent);
        expect(workers.filter(({ version }) => version === 1)).toHaveLength(shares.base);
        expect(workers.filter(({ version }) => version === NEW)).toHaveLength(shares.canary);
      }),
    );
  });
});
