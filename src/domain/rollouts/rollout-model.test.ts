/** Rolling releases in a small world of a fleet, an endpoint and hosts, which hear of each other late. */
import fc from "fast-check";
import { test } from "vitest";
import { planWorkers } from "../placement/fleet-plan.ts";
import { planRollout, type RolloutWorker } from "./rollout-plan.ts";

type WorldWorker = {
  readonly workerId: string;
  readonly version: number;
  isReady: boolean;
  isRetired: boolean;
  jobs: number;
};
type Report = {
  readonly workers: readonly Pick<WorldWorker, "workerId" | "version" | "isReady" | "isRetired">[];
  readonly evictionSets: readonly string[][];
};

class World {
  readonly workersMax: number;
  readonly gpus: number;
  readonly workers = new Map<string, WorldWorker>();
  readonly violations: string[] = [];
  desired: number;
  version = 1;
  /** Releases that never come up. */
  readonly bad = new Set<number>();
  #told = { desired: 0, version: 1, leaving: new Set<string>() };
  #report: Report = { workers: [], evictionSets: [] };
  #leaving = new Set<string>();
  #closed = new Set<string>();
  #placedForEviction: number | null = null;
  #ids = 0;

  constructor(desired: number, workersMax: number, gpus: number) {
    this.desired = desired;
    this.workersMax = workersMax;
    this.gpus = gpus;
    this.settle();
  }

  /** Workers that are ready and that nobody has sent away. */
  get serving(): number {
    return this.#list().filter(
      ({ workerId, isReady, isRetired }) => isReady && !isRetired && !this.#leaving.has(workerId),
    ).length;
  }

  get versions(): number[] {
    return this.#list().map(({ version }) => version);
  }

  changeVersion(isBad: boolean): void {
    this.version += 1;
    this.#placedForEviction = null;
    if (isBad) this.bad.add(this.version);
    this.#decide();
  }

  rescale(desired: number): void {
    this.desired = Math.min(desired, this.workersMax);
    this.#decide();
  }

  /** Fleet gets the desired number, and places what is missing. */
  hear(): void {
    const leaving = new Set(this.#leaving);
    this.#told = { desired: this.desired, version: this.version, leaving };
    for (const worker of this.#list()) {
      if (!leaving.has(worker.workerId) || worker.isRetired) continue;
      if (worker.jobs > 0) this.violations.push(`${worker.workerId} was sent away with a job`);
      worker.isRetired = true;
    }
    this.#place();
  }

  /** The endpoint hears of its workers. */
  report(): void {
    const workers = this.#list().map((worker) => ({ ...worker }));
    const hasFreeGpu = this.workers.size < this.gpus;
    const outdated = workers.filter((worker) => !worker.isRetired && worker.version < this.#told.version);
    const isShort = this.#missing() > 0 && !hasFreeGpu;
    this.#report = { workers, evictionSets: isShort ? outdated.map(({ workerId }) => [workerId]) : [] };
    this.#decide();
  }

  /** A container comes up; one that was retired is gone. */
  act(index: number): void {
    const worker = this.#pick(index);
    if (worker?.isRetired) this.workers.delete(worker.workerId);
    else if (worker && !this.bad.has(worker.version)) worker.isReady = true;
    this.#place();
  }

  lose(index: number): void {
    const worker = this.#pick(index);
    if (worker) this.workers.delete(worker.workerId);
    this.#place();
  }

  take(index: number): void {
    const worker = this.#pick(index);
    if (!worker?.isReady || worker.isRetired || this.#closed.has(worker.workerId)) return;
    worker.jobs += 1;
    this.#decide();
  }

  end(index: number): void {
    const worker = this.#pick(index);
    if (worker) worker.jobs = Math.max(0, worker.jobs - 1);
    this.#decide();
  }

  /** All jobs end, everybody hears everything, and all containers that can come up do; returns the rounds. */
  settle(): number {
    for (const worker of this.#list()) worker.jobs = 0;
    for (let round = 0; round < 200; round += 1) {
      const before = JSON.stringify([this.#list(), this.#told.desired, [...this.#leaving]]);
      this.#decide();
      this.hear();
      for (let index = 0; index < 2 * this.workers.size; index += 1) this.act(index);
      this.report();
      if (JSON.stringify([this.#list(), this.#told.desired, [...this.#leaving]]) === before) return round;
    }
    this.violations.push("it goes on for ever");
    return Infinity;
  }

  #list(): WorldWorker[] {
    return [...this.workers.values()];
  }

  #pick(index: number): WorldWorker | undefined {
    return this.#list()[index % Math.max(1, this.workers.size)];
  }

  #missing(): number {
    const staying = this.#list().filter(({ isRetired }) => !isRetired);
    const goal = { ...this.#told, workersMin: 0, workersMax: this.workersMax };
    return planWorkers(
      staying.map((worker) => ({ ...worker, isDrained: false })),
      goal,
    ).add;
  }

  #place(): void {
    for (let missing = this.#missing(); missing > 0 && this.workers.size < this.gpus; missing -= 1) {
      this.#ids += 1;
      const workerId = `w${this.#ids}`;
      const { version } = this.#told;
      this.workers.set(workerId, { workerId, version, isReady: false, isRetired: false, jobs: 0 });
      const staying = this.#list().filter(({ isRetired }) => !isRetired).length;
      if (staying > this.workersMax + 1) this.violations.push(`${staying} workers`);
    }
  }

  #decide(): void {
    const listed = new Set(this.#report.workers.map(({ workerId }) => workerId));
    this.#leaving = new Set([...this.#leaving].filter((workerId) => listed.has(workerId)));
    const members: RolloutWorker[] = this.#report.workers
      .filter(({ workerId, isRetired }) => !isRetired && !this.#leaving.has(workerId))
      .map(({ workerId, version, isReady }) => ({
        workerId,
        version,
        isReady,
        jobs: this.workers.get(workerId)?.jobs ?? 0,
        isDraining: this.#closed.has(workerId),
        freeSinceAt: 0,
        isBroken: this.bad.has(version),
      }));
    const newer = members.filter(({ version }) => version >= this.version).length;
    const isEvictionAllowed = this.#placedForEviction === null || newer > this.#placedForEviction;
    const { leaving, draining, evicts } = planRollout({
      workers: members,
      version: this.version,
      desired: this.desired,
      workersMax: this.workersMax,
      evictionSets: this.#report.evictionSets,
      canEvict: isEvictionAllowed && this.#leaving.size === 0,
      isOnHold: false,
    });
    if (evicts) this.#placedForEviction = newer;
    for (const workerId of leaving) this.#leaving.add(workerId);
    this.#closed = new Set([...this.#leaving, ...draining]);
  }
}

const index = fc.nat(20);
type Event = (world: World) => void;
const steps: fc.Arbitrary<Event> = fc.oneof(
  fc.constant<Event>((world) => world.hear()),
  fc.constant<Event>((world) => world.report()),
  index.map(
    (at): Event =>
      (world) =>
        world.act(at),
  ),
  index.map(
    (at): Event =>
      (world) =>
        world.take(at),
  ),
  index.map(
    (at): Event =>
      (world) =>
        world.end(at),
  ),
);
const changes: fc.Arbitrary<Event> = fc.oneof(
  fc.boolean().map(
    (isBad): Event =>
      (world) =>
        world.changeVersion(isBad),
  ),
  fc.nat(6).map(
    (desired): Event =>
      (world) =>
        world.rescale(desired),
  ),
  index.map(
    (at): Event =>
      (world) =>
        world.lose(at),
  ),
);
const size = fc.tuple(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 0, max: 3 }));
const RUNS = { numRuns: 500 };

test("one release: capacity never falls below what was there, by more than one without a free GPU", () => {
  const spare = fc.nat(2);
  const scene = fc.tuple(size, spare, fc.boolean(), fc.array(steps, { maxLength: 120 }));
  fc.assert(
    fc.property(scene, ([[desired, more], free, isBad, events]) => {
      const world = new World(desired, desired + more, desired + free);
      const least = world.serving - (free > 0 ? 0 : 1);
      world.changeVersion(isBad);
      for (const event of events) {
        event(world);
        if (world.serving < least) world.violations.push(`${world.serving} of ${desired} serve`);
      }
      world.settle();
      if (world.serving < least) world.violations.push(`${world.serving} of ${desired} serve in the end`);
      if (!isBad && world.versions.some((version) => version < 2)) world.violations.push("it did not end");
      if (!isBad && world.serving !== desired) world.violations.push(`${world.serving} in the end`);
      if (world.violations.length > 0) throw new Error(world.violations.join("; "));
    }),
    RUNS,
  );
});

test("releases, rescaling and losses in any order: bounded, no job is cut short, and a good release ends it", () => {
  const events = fc.array(fc.oneof({ weight: 8, arbitrary: steps }, changes), { maxLength: 150 });
  fc.assert(
    fc.property(fc.tuple(size, fc.nat(2), events), ([[desired, more], free, given]) => {
      const world = new World(desired, desired + more, desired + free);
      for (const event of given) event(world);
      world.rescale(desired);
      world.changeVersion(false);
      world.settle();
      const current = world.versions.filter((version) => version === world.version).length;
      if (current !== world.versions.length || current !== desired) {
        world.violations.push(`in the end ${world.versions.join()} of ${world.version}, ${desired} desired`);
      }
      if (world.violations.length > 0) throw new Error(world.violations.join("; "));
    }),
    RUNS,
  );
});
