/** Rolling releases in a small world of a fleet, an endpoint and hosts, which hear of each other late. */
import fc from "fast-check";
import { test } from "vitest";
import { planWorkers } from "./fleet-plan.ts";
import { planRoll, type RollMember } from "./release.ts";

type WorldWorker = {
  readonly workerId: string;
  readonly version: number;
  isReady: boolean;
  isRetired: boolean;
  jobs: number;
};
type Report = {
  readonly workers: readonly Pick<WorldWorker, "workerId" | "version" | "isReady" | "isRetired">[];
  readonly roomBy: readonly string[][];
};

class World {
  readonly workersMax: number;
  readonly gpus: number;
  readonly workers = new Map<string, WorldWorker>();
  readonly faults: string[] = [];
  wanted: number;
  version = 1;
  /** Releases that never come up. */
  readonly bad = new Set<number>();
  #told = { wanted: 0, version: 1, leaving: new Set<string>() };
  #report: Report = { workers: [], roomBy: [] };
  #leaving = new Set<string>();
  #closed = new Set<string>();
  #placedAtRoom: number | null = null;
  #ids = 0;

  constructor(wanted: number, workersMax: number, gpus: number) {
    this.wanted = wanted;
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

  release(isBad: boolean): void {
    this.version += 1;
    this.#placedAtRoom = null;
    if (isBad) this.bad.add(this.version);
    this.#decide();
  }

  rescale(wanted: number): void {
    this.wanted = Math.min(wanted, this.workersMax);
    this.#decide();
  }

  /** Fleet hears the wish, and places what is missing. */
  hear(): void {
    const leaving = new Set(this.#leaving);
    this.#told = { wanted: this.wanted, version: this.version, leaving };
    for (const worker of this.#list()) {
      if (!leaving.has(worker.workerId) || worker.isRetired) continue;
      if (worker.jobs > 0) this.faults.push(`${worker.workerId} was sent away with a job`);
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
    this.#report = { workers, roomBy: isShort ? outdated.map(({ workerId }) => [workerId]) : [] };
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
      const before = JSON.stringify([this.#list(), this.#told.wanted, [...this.#leaving]]);
      this.#decide();
      this.hear();
      for (let index = 0; index < 2 * this.workers.size; index += 1) this.act(index);
      this.report();
      if (JSON.stringify([this.#list(), this.#told.wanted, [...this.#leaving]]) === before) return round;
    }
    this.faults.push("it goes on for ever");
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
      if (staying > this.workersMax + 1) this.faults.push(`${staying} workers`);
    }
  }

  #decide(): void {
    const listed = new Set(this.#report.workers.map(({ workerId }) => workerId));
    this.#leaving = new Set([...this.#leaving].filter((workerId) => listed.has(workerId)));
    const members: RollMember[] = this.#report.workers
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
    const isRoomAllowed = this.#placedAtRoom === null || newer > this.#placedAtRoom;
    const { leaving, draining, makesRoom } = planRoll({
      workers: members,
      version: this.version,
      wanted: this.wanted,
      workersMax: this.workersMax,
      roomBy: this.#report.roomBy,
      canMakeRoom: isRoomAllowed && this.#leaving.size === 0,
      isHeld: false,
    });
    if (makesRoom) this.#placedAtRoom = newer;
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
        world.release(isBad),
  ),
  fc.nat(6).map(
    (wanted): Event =>
      (world) =>
        world.rescale(wanted),
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
    fc.property(scene, ([[wanted, more], free, isBad, events]) => {
      const world = new World(wanted, wanted + more, wanted + free);
      const least = world.serving - (free > 0 ? 0 : 1);
      world.release(isBad);
      for (const event of events) {
        event(world);
        if (world.serving < least) world.faults.push(`${world.serving} of ${wanted} serve`);
      }
      world.settle();
      if (world.serving < least) world.faults.push(`${world.serving} of ${wanted} serve in the end`);
      if (!isBad && world.versions.some((version) => version < 2)) world.faults.push("it did not end");
      if (!isBad && world.serving !== wanted) world.faults.push(`${world.serving} in the end`);
      if (world.faults.length > 0) throw new Error(world.faults.join("; "));
    }),
    RUNS,
  );
});

test("releases, rescaling and losses in any order: bounded, no job is cut short, and a good release ends it", () => {
  const events = fc.array(fc.oneof({ weight: 8, arbitrary: steps }, changes), { maxLength: 150 });
  fc.assert(
    fc.property(fc.tuple(size, fc.nat(2), events), ([[wanted, more], free, given]) => {
      const world = new World(wanted, wanted + more, wanted + free);
      for (const event of given) event(world);
      world.rescale(wanted);
      world.release(false);
      world.settle();
      const current = world.versions.filter((version) => version === world.version).length;
      if (current !== world.versions.length || current !== wanted) {
        world.faults.push(`in the end ${world.versions.join()} of ${world.version}, ${wanted} wanted`);
      }
      if (world.faults.length > 0) throw new Error(world.faults.join("; "));
    }),
    RUNS,
  );
});
