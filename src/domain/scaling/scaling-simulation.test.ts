/** The scaler in a simulated endpoint: a queue, workers with cold starts, and a constant load or a burst. */
import fc from "fast-check";
import { describe, test } from "vitest";
import {
  planScaleUp,
  planScaleDown,
  type WorkerSample,
  type ScaleUp,
  type ScaleUpConfig,
  type Load,
  type ScaleState,
} from "./scaling-plan.ts";

const SECOND = 1_000;
const STEP_MS = 250;
const RUNS = 100;

type Scene = {
  readonly config: ScaleUpConfig & { readonly idleTimeoutSeconds: number };
  readonly coldStartMs: number;
  readonly jobMs: number;
  readonly jobsPerWorker: number;
  /** Jobs that come together at the start. */
  readonly burst: number;
  /** Time between two further jobs; null for none. */
  readonly everyMs: number | null;
  readonly forMs: number;
  /** Jobs go round all workers, or to the busiest worker with room. */
  readonly isPacked: boolean;
};

type Grow = (load: Load, demand: ScaleState, config: ScaleUpConfig, now: number) => ScaleUp;

type Worker = {
  readonly id: string;
  readonly readyAt: number;
  freeSinceAt: number;
  usedAt: number;
  ends: number[];
};

class SimulatedEndpoint {
  readonly #scene: Scene;
  readonly #grow: Grow;
  readonly demands: number[] = [];
  workerMs = 0;
  fullAt: number | null = null;
  drainedAt: number | null = null;
  #queue: number[] = [];
  #workers: Worker[] = [];
  #demand: ScaleState = { desired: 0, grownAt: -1_000_000 };
  #idleSinceAt: number | null = 0;
  #leftAt = -1_000_000;
  #nextAt = 0;
  #started = 0;

  constructor(scene: Scene, grow: Grow) {
    this.#scene = scene;
    this.#grow = grow;
    this.#queue = Array.from({ length: scene.burst }, () => 0);
    for (let now = 0; now <= scene.forMs; now += STEP_MS) this.#step(now);
  }

  #step(now: number): void {
    const { everyMs, config } = this.#scene;
    while (everyMs !== null && this.#nextAt <= now) {
      this.#queue.push(this.#nextAt);
      this.#nextAt += everyMs;
    }
    for (const worker of this.#workers) this.#endJobs(worker, now);
    while (this.#queue.length > 0 && this.#takeJob(now)) this.#queue.shift();
    this.#scale(now);
    this.demands.push(this.#demand.desired);
    this.workerMs += this.#workers.length * STEP_MS;
    if (this.#demand.desired >= config.workersMax) this.fullAt ??= now;
    if (this.#running === 0 && this.#queue.length === 0) this.drainedAt ??= now;
  }

  get #running(): number {
    return this.#workers.reduce((sum, { ends }) => sum + ends.length, 0);
  }

  #endJobs(worker: Worker, now: number): void {
    const before = worker.ends.length;
    worker.ends = worker.ends.filter((at) => at > now);
    if (before > 0 && worker.ends.length === 0) worker.freeSinceAt = now;
  }

  #takeJob(now: number): boolean {
    const { jobsPerWorker, jobMs, isPacked } = this.#scene;
    const open = this.#workers.filter(({ readyAt, ends }) => readyAt <= now && ends.length < jobsPerWorker);
    const [worker] = open.toSorted((a, b) =>
      isPacked
        ? b.ends.length - a.ends.length || b.usedAt - a.usedAt
        : a.ends.length - b.ends.length || a.usedAt - b.usedAt,
    );
    if (!worker) return false;
    worker.ends.push(now + jobMs);
    worker.usedAt = now;
    return true;
  }

  #scale(now: number): void {
    const { config, jobsPerWorker, coldStartMs } = this.#scene;
    const running = this.#running;
    this.#idleSinceAt = running + this.#queue.length === 0 ? (this.#idleSinceAt ?? now) : null;
    const load = {
      normalQueued: this.#queue.length,
      normalRunning: running,
      running,
      oldestQueuedAt: this.#queue[0] ?? null,
      jobsPerWorker,
      busyWorkers: this.#workers.filter(({ ends }) => ends.length > 0).length,
    };
    const { desired, floor } = this.#grow(load, this.#demand, config, now);
    const workerSet = {
      workers: this.#workers.map((worker) => memberOf(worker, now)),
      desired: desired,
      floor,
      hasWaitingJobs: this.#queue.length > 0,
      idleSinceAt: this.#idleSinceAt,
      leftAt: this.#leftAt,
    };
    const scaleDown = planScaleDown(workerSet, config, now);
    if (scaleDown.leaving.length > 0) this.#leftAt = now;
    this.#demand = {
      desired: scaleDown.desired,
      grownAt: scaleDown.desired > this.#demand.desired ? now : this.#demand.grownAt,
    };
    this.#workers = this.#workers.filter(({ id }) => !scaleDown.leaving.includes(id));
    while (this.#workers.length < scaleDown.desired) {
      this.#started += 1;
      const readyAt = now + coldStartMs;
      this.#workers.push({ id: `w${this.#started}`, readyAt, freeSinceAt: readyAt, usedAt: 0, ends: [] });
    }
  }
}

function memberOf({ id, readyAt, freeSinceAt, ends }: Worker, now: number): WorkerSample {
  return { workerId: id, isReady: readyAt <= now, jobs: ends.length, isDraining: false, freeSinceAt };
}

describe("a constant load", () => {
  const scene: fc.Arbitrary<Scene> = fc.record({
    config: fc.record({
      workersMin: fc.nat(2),
      workersMax: fc.integer({ min: 10, max: 40 }),
      scalerType: fc.constantFrom("QUEUE_DELAY" as const, "REQUEST_COUNT" as const),
      scalerValue: fc.integer({ min: 1, max: 8 }),
      idleTimeoutSeconds: fc.constantFrom(5, 30),
    }),
    coldStartMs: fc.constantFrom(1, 5, 30, 60).map((seconds) => seconds * SECOND),
    jobMs: fc.constantFrom(0.5, 1, 5, 20).map((seconds) => seconds * SECOND),
    jobsPerWorker: fc.constantFrom(1, 4),
    burst: fc.nat(20),
    everyMs: fc.constantFrom(1.1, 2.3, 4.3).map((seconds) => seconds * SECOND),
    forMs: fc.constant(900 * SECOND),
    isPacked: fc.boolean(),
  });

  test("comes to a demand that stays; under REQUEST_COUNT it follows the jobs in flight", () => {
    fc.assert(
      fc.property(scene, (given) => {
        const { demands } = new SimulatedEndpoint(given, planScaleUp);
        // What was queued while the first workers were cold takes minutes to go.
        const settled = demands.slice((3 * demands.length) / 4);
        if (given.config.scalerType === "QUEUE_DELAY") return countTurns(settled) === 0;
        return Math.max(...settled) - Math.min(...settled) <= 2;
      }),
      { numRuns: RUNS },
    );
  });

  test("never asks for more than workersMax or fewer than workersMin", () => {
    fc.assert(
      fc.property(scene, (given) => {
        const { workersMin, workersMax } = given.config;
        const { demands } = new SimulatedEndpoint({ ...given, forMs: 120 * SECOND }, planScaleUp);
        return demands.every((desired) => desired >= workersMin && desired <= workersMax);
      }),
      { numRuns: RUNS },
    );
  });
});

/** How often the demand falls after it grew, or grows after it fell. */
function countTurns(demands: readonly number[]): number {
  const changes = demands.flatMap((desired, index) => {
    const before = demands[index - 1] ?? desired;
    return desired === before ? [] : [Math.sign(desired - before)];
  });
  return changes.filter((sign, index) => index > 0 && sign !== changes[index - 1]).length;
}

describe("a burst", () => {
  /** Other rules of growth, to compare with: one worker more with every delay, or all that would be enough. */
  const rules: Record<string, (desired: number, enough: number) => number> = {
    "one more": (desired) => desired + 1,
    "twice as many": (desired) => 2 * desired,
    "all at once": (_, enough) => enough,
  };

  function growBy(rule: (desired: number, enough: number) => number): Grow {
    return (load, demand, config, now) => {
      const growth = planScaleUp(load, demand, config, now);
      if (growth.desired === demand.desired || demand.desired === 0) return growth;
      const enough = Math.ceil((load.normalQueued + load.running) / load.jobsPerWorker);
      return { ...growth, desired: Math.min(rule(demand.desired, enough), enough, config.workersMax) };
    };
  }

  const burst = { burst: 200, everyMs: null, forMs: 600 * SECOND, jobsPerWorker: 1, isPacked: false };
  const config = { workersMin: 0, scalerType: "QUEUE_DELAY", scalerValue: 4, idleTimeoutSeconds: 5 } as const;

  function curve(jobMs: number, coldStartMs: number, workersMax: number) {
    const given = { ...burst, jobMs, coldStartMs, config: { ...config, workersMax } };
    const figures = Object.entries(rules).map(([name, rule]) => {
      const { demands, fullAt, drainedAt, workerMs } = new SimulatedEndpoint(given, growBy(rule));
      const seconds = [fullAt, drainedAt, workerMs].map((ms) => ms && Math.round(ms / SECOND));
      return [name, [Math.max(...demands), ...seconds]];
    });
    return Object.fromEntries(figures) as unknown;
  }

  test("of 200 jobs: most workers, and seconds until workersMax, until the end and of all workers", ({
    expect,
  }) => {
    expect(curve(10_000, 5_000, 10)).toEqual({
      "one more": [10, 36, 227, 2_105],
      "twice as many": [10, 16, 219, 2_110],
      "all at once": [10, 4, 209, 2_128],
    });
    expect(curve(60_000, 30_000, 50)).toEqual({
      "one more": [50, 196, 398, 13_806],
      "twice as many": [50, 24, 294, 13_971],
      "all at once": [50, 4, 274, 14_018],
    });
    expect(curve(250, 30_000, 50)).toEqual({
      "one more": [12, null, 48, 418],
      "twice as many": [50, 24, 45, 1_899],
      "all at once": [50, 4, 35, 2_108],
    });
  });

  test("is met by the rule that doubles, and all its workers leave", ({ expect }) => {
    const given = { ...burst, jobMs: 10_000, coldStartMs: 5_000, config: { ...config, workersMax: 10 } };
    const own = new SimulatedEndpoint(given, planScaleUp);
    expect(own.demands).toEqual(
      new SimulatedEndpoint(
        given,
        growBy((desired) => 2 * desired),
      ).demands,
    );
    expect(own.demands.at(-1)).toBe(0);
  });
});
