/** The scaler of load-balanced endpoints in a simulated one: requests come and end, workers come up and leave. */
import fc from "fast-check";
import { describe, test } from "vitest";
import { chooseWorker } from "./balancer.ts";
import { planScaleUp, planScaleDown } from "./scaling-plan.ts";

const SECOND = 1_000;

type Arrival = { readonly at: number; readonly ms: number };

type Scene = {
  readonly workersMin: number;
  readonly workersMax: number;
  readonly scalerValue: number;
  readonly idleTimeoutSeconds: number;
  readonly coldStartMs: number;
  readonly requests: readonly Arrival[];
};

type Worker = {
  readonly workerId: string;
  readonly readyAt: number;
  freeSinceAt: number;
  usedAt: number;
  ends: number[];
};

class SimulatedBalancer {
  readonly #scene: Scene;
  readonly #config;
  readonly violations: string[] = [];
  /** How many workers there were, from which moment on. */
  readonly sizes: { readonly at: number; readonly size: number }[] = [];
  #workers: Worker[] = [];
  #waiting: Arrival[] = [];
  #coming: Arrival[];
  #demand = { desired: 0, grownAt: 0 };
  #idleSinceAt: number | null = 0;
  #leftAt = -SECOND;
  #reviewAt: number | null = null;
  #ids = 0;
  #uses = 0;

  constructor(scene: Scene) {
    this.#scene = scene;
    this.#config = { ...scene, scalerType: "REQUEST_COUNT" as const };
    this.#coming = scene.requests.toSorted((a, b) => a.at - b.at);
    for (let now = 0; now < Infinity; now = this.#nextAt(now)) this.#step(now);
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  get size(): number {
    return this.#workers.length;
  }

  sizeAt(at: number): number {
    return this.sizes.findLast((one) => one.at <= at)?.size ?? 0;
  }

  #nextAt(now: number): number {
    const moments = [
      this.#coming[0]?.at ?? Infinity,
      this.#reviewAt ?? Infinity,
      ...this.#workers.flatMap(({ readyAt, ends }) => [readyAt, ...ends]),
    ];
    return Math.min(...moments.filter((at) => at > now));
  }

  #step(now: number): void {
    for (const worker of this.#workers) {
      const left = worker.ends.filter((at) => at > now);
      if (left.length === 0 && worker.ends.length > 0) worker.freeSinceAt = now;
      worker.ends = left;
    }
    while (this.#coming[0] && this.#coming[0].at <= now) this.#waiting.push(...this.#coming.splice(0, 1));
    this.#waiting = this.#waiting.filter((request) => !this.#begin(request, now));
    this.#scale(now);
    this.sizes.push({ at: now, size: this.#workers.length });
  }

  #begin({ ms }: Arrival, now: number): boolean {
    const ready = this.#workers.filter(({ readyAt }) => readyAt <= now);
    const candidates = ready.map((worker) => {
      return { ...worker, worker, inFlight: worker.ends.length, isSuspect: false, isOutdated: false };
    });
    const worker = chooseWorker(candidates, null)?.worker;
    if (!worker) return false;
    worker.ends.push(now + ms);
    worker.usedAt = this.#uses += 1;
    return true;
  }

  #scale(now: number): void {
    const running = this.#workers.reduce((sum, { ends }) => sum + ends.length, 0);
    const hasWaitingJobs = this.#waiting.length > 0;
    this.#idleSinceAt = running === 0 && !hasWaitingJobs ? (this.#idleSinceAt ?? now) : null;
    const load = { normalQueued: this.#waiting.length, normalRunning: running, running };
    const growth = planScaleUp(
      { ...load, oldestQueuedAt: null, jobsPerWorker: 1, busyWorkers: 0 },
      this.#demand,
      this.#config,
      now,
    );
    const workers = this.#workers.map(({ workerId, readyAt, ends, freeSinceAt }) => {
      return { workerId, isReady: readyAt <= now, jobs: ends.length, isDraining: false, freeSinceAt };
    });
    const times = { idleSinceAt: this.#idleSinceAt, leftAt: this.#leftAt };
    const scaleDown = planScaleDown(
      { workers, ...growth, hasWaitingJobs: hasWaitingJobs, ...times },
      this.#config,
      now,
    );
    for (const worker of this.#workers.filter(({ workerId }) => scaleDown.leaving.includes(workerId))) {
      if (worker.ends.length > 0) this.violations.push(`${worker.workerId} left with a request`);
      const freeMs = now - worker.freeSinceAt;
      if (freeMs < this.#scene.idleTimeoutSeconds * SECOND && worker.readyAt <= now)
        this.violations.push(`${worker.workerId} left after ${freeMs} ms`);
    }
    if (scaleDown.leaving.length > 0) this.#leftAt = now;
    this.#workers = this.#workers.filter(({ workerId }) => !scaleDown.leaving.includes(workerId));
    if (
      scaleDown.desired <
      Math.min(Math.ceil((running + load.normalQueued) / this.#scene.scalerValue), this.#scene.workersMax)
    )
      this.violations.push(
        `${scaleDown.desired} workers are desired for ${running + load.normalQueued} requests`,
      );
    this.#demand = { desired: scaleDown.desired, grownAt: now };
    this.#reviewAt = scaleDown.reviewAt;
    while (this.#workers.length < scaleDown.desired) {
      this.#ids += 1;
      const readyAt = now + this.#scene.coldStartMs;
      this.#workers.push({ workerId: `w${this.#ids}`, readyAt, freeSinceAt: readyAt, usedAt: 0, ends: [] });
    }
  }
}

/** Many come together, and some of them take long. */
const requests: fc.Arbitrary<Arrival[]> = fc.array(
  fc.record({
    at: fc.oneof(fc.constant(0), fc.nat(120 * SECOND)),
    ms: fc.oneof(fc.integer({ min: 1, max: SECOND }), fc.integer({ min: 20 * SECOND, max: 90 * SECOND })),
  }),
  { maxLength: 120, size: "max" },
);

const scenes: fc.Arbitrary<Scene> = fc
  .record({
    workersMin: fc.nat(2),
    moreWorkers: fc.integer({ min: 1, max: 30 }),
    scalerValue: fc.integer({ min: 1, max: 8 }),
    idleTimeoutSeconds: fc.integer({ min: 1, max: 60 }),
    coldStartMs: fc.integer({ min: 1, max: 30 * SECOND }),
    requests,
  })
  .map(({ moreWorkers, ...scene }) => ({ ...scene, workersMax: scene.workersMin + moreWorkers }));

describe("whatever requests come", () => {
  test("no worker leaves that has one or had one within idleTimeout, and there are as many as the load asks for", ({
    expect,
  }) => {
    fc.assert(
      fc.property(scenes, (scene) => {
        const { violations, sizes } = new SimulatedBalancer(scene);
        expect(violations).toEqual([]);
        expect(Math.max(...sizes.map(({ size }) => size))).toBeLessThanOrEqual(scene.workersMax);
      }),
    );
  });

  test("all are served, and when they have ended all workers leave but workersMin", ({ expect }) => {
    fc.assert(
      fc.property(scenes, (scene) => {
        const balancer = new SimulatedBalancer(scene);
        expect(balancer.waiting).toBe(0);
        expect(balancer.size).toBe(scene.workersMin);
      }),
    );
  });
});

describe("after a burst", () => {
  test("a light load keeps only the workers that it needs", ({ expect }) => {
    const burst = Array.from({ length: 40 }, () => ({ at: 0, ms: 2 * SECOND }));
    const light = Array.from({ length: 600 }, (_, index) => ({ at: 5 * SECOND + index * 500, ms: 100 }));
    const balancer = new SimulatedBalancer({
      workersMin: 0,
      workersMax: 10,
      scalerValue: 4,
      idleTimeoutSeconds: 5,
      coldStartMs: SECOND,
      requests: [...burst, ...light],
    });
    expect(balancer.sizeAt(4 * SECOND)).toBe(10);
    expect(balancer.sizeAt(60 * SECOND)).toBe(1);
  });
});
