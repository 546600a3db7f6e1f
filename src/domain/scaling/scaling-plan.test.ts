import fc from "fast-check";
import { describe, test } from "vitest";
import {
  planScaleUp,
  planScaleDown,
  type WorkerSetSample,
  type WorkerSample,
  type ScaleUpConfig,
  type Load,
  type ScaleState,
} from "./scaling-plan.ts";

const SECOND = 1_000;

const config: fc.Arbitrary<ScaleUpConfig> = fc
  .record({
    workersMin: fc.nat(5),
    spread: fc.nat(20),
    scalerType: fc.constantFrom("QUEUE_DELAY" as const, "REQUEST_COUNT" as const),
    scalerValue: fc.integer({ min: 1, max: 10 }),
  })
  .map(({ spread, ...rest }) => ({ ...rest, workersMax: rest.workersMin + spread }));

const load: fc.Arbitrary<Load> = fc
  .record({
    normalQueued: fc.nat(100),
    normalRunning: fc.nat(20),
    lowRunning: fc.nat(20),
    age: fc.nat(30 * SECOND),
    jobsPerWorker: fc.integer({ min: 1, max: 8 }),
    busyWorkers: fc.nat(20),
  })
  .map(({ lowRunning, age, ...rest }) => ({
    ...rest,
    running: rest.normalRunning + lowRunning,
    oldestQueuedAt: rest.normalQueued > 0 ? NOW - age : null,
  }));

const NOW = 1_000_000;
const NO_LOAD: Load = {
  normalQueued: 0,
  normalRunning: 0,
  running: 0,
  oldestQueuedAt: null,
  jobsPerWorker: 1,
  busyWorkers: 0,
};
const demand: fc.Arbitrary<ScaleState> = fc
  .record({ desired: fc.nat(25), age: fc.nat(20 * SECOND) })
  .map(({ desired, age }) => ({ desired, grownAt: NOW - age }));

describe("the demand", () => {
  test("stays between workersMin and workersMax, and its floor below it", () => {
    fc.assert(
      fc.property(load, demand, config, (given, before, limits) => {
        const { desired, floor } = planScaleUp(given, before, limits, NOW);
        return desired >= limits.workersMin && desired <= limits.workersMax && floor <= desired;
      }),
    );
  });

  test("is never less for more jobs, nor for jobs that wait longer", () => {
    fc.assert(
      fc.property(
        load,
        demand,
        config,
        fc.nat(50),
        fc.nat(50),
        fc.nat(60 * SECOND),
        (given, before, limits, queued, running, age) => {
          const more: Load = {
            ...given,
            normalQueued: given.normalQueued + queued,
            normalRunning: given.normalRunning + running,
            running: given.running + running,
            oldestQueuedAt:
              queued > 0 || given.oldestQueuedAt !== null ? (given.oldestQueuedAt ?? NOW) - age : null,
          };
          return (
            planScaleUp(more, before, limits, NOW).desired >= planScaleUp(given, before, limits, NOW).desired
          );
        },
      ),
    );
  });

  test("is the same when the same is decided again", () => {
    fc.assert(
      fc.property(load, demand, config, (given, before, limits) => {
        const first = planScaleUp(given, before, limits, NOW);
        const grownAt = first.desired > before.desired ? NOW : before.grownAt;
        const again = planScaleUp(given, { desired: first.desired, grownAt }, limits, NOW);
        return again.desired === first.desired && again.floor <= again.desired;
      }),
    );
  });

  test("does not grow while only low-priority jobs wait and run", () => {
    fc.assert(
      fc.property(
        demand,
        config,
        fc.nat(50),
        fc.integer({ min: 1, max: 8 }),
        (before, limits, running, jobsPerWorker) => {
          const low = { ...NO_LOAD, running, jobsPerWorker };
          const { desired } = planScaleUp(low, before, limits, NOW);
          return desired === Math.min(Math.max(before.desired, limits.workersMin), limits.workersMax);
        },
      ),
    );
  });

  test("requests the first worker at once, whatever scalerValue is", ({ expect }) => {
    const first = { ...NO_LOAD, normalQueued: 1, oldestQueuedAt: NOW };
    const limits = { workersMin: 0, workersMax: 3, scalerValue: 60 };
    for (const scalerType of ["QUEUE_DELAY", "REQUEST_COUNT"] as const) {
      const { desired } = planScaleUp(first, { desired: 0, grownAt: 0 }, { ...limits, scalerType }, NOW);
      expect(desired).toBe(1);
    }
  });
});

describe("QUEUE_DELAY", () => {
  const limits = { workersMin: 0, workersMax: 10, scalerType: "QUEUE_DELAY", scalerValue: 4 } as const;
  const burst = { ...NO_LOAD, normalQueued: 100, oldestQueuedAt: NOW };

  test("doubles the demand every scalerValue seconds while the oldest job has waited that long", ({
    expect,
  }) => {
    let before: ScaleState = { desired: 0, grownAt: 0 };
    const seen: [seconds: number, desired: number][] = [];
    for (let now: number | null = NOW; now !== null;) {
      const { desired, reviewAt } = planScaleUp(burst, before, limits, now);
      if (desired > before.desired) before = { desired, grownAt: now };
      seen.push([(now - NOW) / SECOND, desired]);
      now = reviewAt;
    }
    expect(seen).toEqual([
      [0, 1],
      [4, 2],
      [8, 4],
      [12, 8],
      [16, 10],
    ]);
  });

  test("asks for no more workers than leave no job waiting, a worker counting for all it takes at once", ({
    expect,
  }) => {
    const late = { ...burst, oldestQueuedAt: NOW - 60 * SECOND };
    const desiredFor = (queued: number, jobsPerWorker: number) =>
      planScaleUp({ ...late, normalQueued: queued, jobsPerWorker }, { desired: 1, grownAt: 0 }, limits, NOW)
        .desired;
    expect(desiredFor(8, 8)).toBe(1);
    expect(desiredFor(9, 8)).toBe(2);
    expect(desiredFor(1, 1)).toBe(1);
    expect(desiredFor(2, 1)).toBe(2);
  });

  test("adds one for jobs that busy workers do not take, though they could take more at once", ({
    expect,
  }) => {
    const late = { ...NO_LOAD, normalQueued: 1, oldestQueuedAt: NOW - 60 * SECOND, jobsPerWorker: 8 };
    const desiredBeside = (busyWorkers: number) => {
      const running = 2 * busyWorkers;
      return planScaleUp({ ...late, running, busyWorkers }, { desired: 1, grownAt: 0 }, limits, NOW).desired;
    };
    expect([desiredBeside(0), desiredBeside(1)]).toEqual([1, 2]);
  });
});

test("REQUEST_COUNT wants a worker for every scalerValue jobs that wait or run", ({ expect }) => {
  const limits = { workersMin: 1, workersMax: 5, scalerType: "REQUEST_COUNT", scalerValue: 4 } as const;
  const desiredFor = (normalQueued: number, running: number) => {
    const oldestQueuedAt = normalQueued > 0 ? NOW : null;
    const given = { ...NO_LOAD, normalQueued, normalRunning: running, running, oldestQueuedAt };
    return planScaleUp(given, { desired: 0, grownAt: 0 }, limits, NOW).desired;
  };
  expect([desiredFor(0, 0), desiredFor(4, 0), desiredFor(3, 2), desiredFor(8, 4), desiredFor(99, 0)]).toEqual(
    [1, 1, 2, 3, 5],
  );
});

const member: fc.Arbitrary<WorkerSample> = fc.record({
  workerId: fc.uuid(),
  isReady: fc.boolean(),
  jobs: fc.nat(2),
  isDraining: fc.boolean(),
  freeSinceAt: fc.nat(20 * SECOND).map((age) => NOW - age),
});
const workerSet: fc.Arbitrary<WorkerSetSample> = fc.record({
  workers: fc.uniqueArray(member, { maxLength: 20, selector: ({ workerId }) => workerId }),
  desired: fc.nat(25),
  floor: fc.nat(5),
  hasWaitingJobs: fc.boolean(),
  idleSinceAt: fc.option(fc.nat(20 * SECOND).map((age) => NOW - age)),
  leftAt: fc.nat(5 * SECOND).map((age) => NOW - age),
});
const scaleDownConfig = fc.record({
  workersMax: fc.integer({ min: 5, max: 25 }),
  idleTimeoutSeconds: fc.integer({ min: 1, max: 15 }),
});

describe("who leaves", () => {
  test("is never busy, and never one of those that the load or workersMin asks for", () => {
    fc.assert(
      fc.property(workerSet, scaleDownConfig, (given, limits) => {
        const { leaving, desired, draining } = planScaleDown(given, limits, NOW);
        const jobsOf = (id: string) => given.workers.find(({ workerId }) => workerId === id)?.jobs ?? -1;
        const stay = given.workers.length - leaving.length;
        return (
          leaving.every((id) => jobsOf(id) === 0) &&
          draining.every((id) => jobsOf(id) > 0) &&
          (leaving.length === 0 || stay >= Math.min(given.floor, limits.workersMax)) &&
          desired >= Math.min(given.floor, desired) &&
          desired <= Math.max(limits.workersMax, given.desired, given.workers.length)
        );
      }),
    );
  });

  test("was free for idleTimeout, or is above workersMax, or is not ready", () => {
    fc.assert(
      fc.property(workerSet, scaleDownConfig, (given, limits) => {
        const { leaving } = planScaleDown(given, limits, NOW);
        const isAllowed = (id: string) => {
          const worker = given.workers.find(({ workerId }) => workerId === id);
          if (!worker) return false;
          return !worker.isReady || NOW - worker.freeSinceAt >= limits.idleTimeoutSeconds * SECOND;
        };
        if (given.workers.length > limits.workersMax) return true;
        return leaving.every(isAllowed) && !(given.hasWaitingJobs && leaving.length > 0);
      }),
    );
  });

  test("is nobody when the decision is made again at once", () => {
    fc.assert(
      fc.property(workerSet, scaleDownConfig, (given, limits) => {
        const { leaving, desired } = planScaleDown(given, limits, NOW);
        const workers = given.workers.filter(({ workerId }) => !leaving.includes(workerId));
        const leftAt = leaving.length > 0 ? NOW : given.leftAt;
        const again = planScaleDown({ ...given, workers, desired, leftAt }, limits, NOW);
        return again.leaving.length === 0 && again.desired === desired;
      }),
    );
  });

  test("is reviewed when it may change: never without anyone to go, never in the past", () => {
    fc.assert(
      fc.property(workerSet, scaleDownConfig, (given, limits) => {
        const { reviewAt, leaving, desired } = planScaleDown(given, limits, NOW);
        if (reviewAt === null) return true;
        const workers = given.workers.filter(({ workerId }) => !leaving.includes(workerId));
        const later = {
          ...given,
          workers,
          desired: desired,
          leftAt: leaving.length > 0 ? NOW : given.leftAt,
        };
        const then = planScaleDown(later, limits, reviewAt);
        return reviewAt > NOW && then.desired < desired;
      }),
    );
  });

  test("goes one at a time, of many an eighth, the longest free first", ({ expect }) => {
    const free = (count: number) =>
      Array.from({ length: count }, (_, index) => ({
        workerId: `w${index}`,
        isReady: true,
        jobs: 0,
        isDraining: false,
        freeSinceAt: NOW - 60 * SECOND + index,
      }));
    const scaleDown = (count: number) =>
      planScaleDown(
        {
          workers: free(count),
          desired: count,
          floor: 0,
          hasWaitingJobs: false,
          idleSinceAt: null,
          leftAt: 0,
        },
        { workersMax: 100, idleTimeoutSeconds: 5 },
        NOW,
      );
    expect(scaleDown(3)).toEqual({ desired: 2, leaving: ["w0"], draining: [], reviewAt: NOW + SECOND });
    expect(scaleDown(80).leaving).toHaveLength(10);
  });
});

test("under REQUEST_COUNT, low-priority jobs that run count only while normal jobs wait", ({ expect }) => {
  const limits = { workersMin: 0, workersMax: 5, scalerType: "REQUEST_COUNT", scalerValue: 1 } as const;
  const low = { ...NO_LOAD, running: 1 };
  const both = { ...low, normalQueued: 1, oldestQueuedAt: NOW };
  const state = { desired: 0, grownAt: 0 };
  expect(planScaleUp(low, state, limits, NOW).desired).toBe(0);
  expect(planScaleUp(both, state, limits, NOW).desired).toBe(2);
});
