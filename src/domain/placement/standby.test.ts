import fc from "fast-check";
import { describe, test } from "vitest";
import { HostCapacity, type CandidateHost, type Allocation } from "./host-capacity.ts";
import { HostPool } from "./host-pool.ts";
import {
  retainedByEndpoint,
  retainedByHost,
  epochOf,
  workerOfEpoch,
  workersIn,
  type StandbyWorker,
  FLASHBOOT_RETENTION_MS,
  FLASHBOOT_PER_HOST_MAX,
} from "./standby.ts";

const GPUS = 6;
const NOW = 10 * FLASHBOOT_RETENTION_MS;

const host = (more: Partial<CandidateHost> = {}): CandidateHost => ({
  hostId: "h",
  name: "h",
  gpus: Array.from({ length: GPUS }, (_, index) => ({
    index,
    name: "L4",
    tier: "ADA_24",
    memoryMb: 1,
    isSimulated: false,
  })),
  cpuCount: 16,
  memoryMb: 64_000,
  diskMb: 100_000,
  diskFreeMb: 100_000,
  isCordoned: false,
  isDrained: false,
  ...more,
});

const taken: fc.Arbitrary<Allocation> = fc.record({
  gpuIndexes: fc.uniqueArray(fc.nat(GPUS - 1), { maxLength: 2 }),
  size: fc.record({
    cpuMilli: fc.integer({ max: 8_000, min: 0 }),
    memoryMb: fc.integer({ max: 30_000, min: 0 }),
    diskMb: fc.integer({ max: 40_000, min: 0 }),
  }),
});
const standby: fc.Arbitrary<StandbyWorker> = fc
  .tuple(taken, fc.uuid(), fc.integer({ min: 1, max: 3 }), fc.nat(2 * FLASHBOOT_RETENTION_MS), fc.boolean())
  .map(([capacity, workerId, version, ago, isClosed]) => {
    return { ...capacity, workerId, version, standbyAt: NOW - ago, isClosed };
  });
const standbys = fc.uniqueArray(standby, { maxLength: 20, selector: ({ workerId }) => workerId });

/** A worker on standby without a GPU, named by its minutes. */
function idleFor(minutes: number): StandbyWorker {
  const standbyAt = NOW - minutes * 60_000;
  return { workerId: `${minutes}`, version: 1, standbyAt, isClosed: false, gpuIndexes: [], size: null };
}

function idsOf(workers: readonly StandbyWorker[]): readonly string[] {
  return workers.map(({ workerId }) => workerId);
}

describe("the standby workers of an endpoint", () => {
  test("are never more than workersMax, of its release, and on hosts that take workers, for a limited time", ({
    expect,
  }) => {
    fc.assert(
      fc.property(standbys, fc.nat(10), fc.integer({ min: 1, max: 3 }), (workers, workersMax, version) => {
        const kept = retainedByEndpoint(workers, { workersMax, version, flashBootType: "FLASHBOOT" }, NOW);
        expect(kept.length).toBeLessThanOrEqual(workersMax);
        for (const worker of kept) {
          expect(worker).toMatchObject({ version, isClosed: false });
          expect(worker.standbyAt).toBeGreaterThan(NOW - FLASHBOOT_RETENTION_MS);
        }
        const left = workers.filter((worker) => !kept.includes(worker));
        const couldStay = left.filter(
          (worker) =>
            retainedByEndpoint([worker], { workersMax: 1, version, flashBootType: "FLASHBOOT" }, NOW).length >
            0,
        );
        if (couldStay.length > 0) expect(kept).toHaveLength(workersMax);
      }),
    );
  });

  test("are those that ran last", ({ expect }) => {
    const workers = [3, 1, 2].map((minutes) => idleFor(minutes));
    const config = { workersMax: 2, version: 1, flashBootType: "FLASHBOOT" as const };
    expect(idsOf(retainedByEndpoint(workers, config, NOW))).toEqual(["1", "2"]);
    expect(idsOf(retainedByEndpoint(workers, { ...config, workersMax: 1 }, NOW))).toEqual(["1"]);
  });

  test("are none without FLASHBOOT, and none of an endpoint that is deleted", ({ expect }) => {
    fc.assert(
      fc.property(standbys, fc.constantFrom("OFF" as const, null, undefined), (workers, off) => {
        const config = { workersMax: 5, version: 1, ...(off !== undefined && { flashBootType: off }) };
        expect(retainedByEndpoint(workers, config, NOW)).toEqual([]);
        expect(retainedByEndpoint(workers, undefined, NOW)).toEqual([]);
      }),
    );
  });
});

describe("the standby workers of a host", () => {
  test("have no GPU in common with a worker or each other, and leave memory and disk to those that run", ({
    expect,
  }) => {
    fc.assert(
      fc.property(fc.array(taken, { maxLength: 4 }), standbys, (workers, waiting) => {
        const capacity = new HostCapacity(host(), workers);
        const kept = retainedByHost(capacity, waiting);
        const used = [...workers, ...kept].flatMap(({ gpuIndexes }) => gpuIndexes);
        const running = new Set(workers.flatMap(({ gpuIndexes }) => gpuIndexes)).size;
        expect(new Set(used).size).toBe(running + kept.flatMap(({ gpuIndexes }) => gpuIndexes).length);
        const sum = (part: "memoryMb" | "diskMb") =>
          kept.reduce((total, { size }) => total + (size?.[part] ?? 0), 0);
        if (kept.length > 0) expect(sum("memoryMb")).toBeLessThanOrEqual(capacity.free.memoryMb);
        if (kept.length > 0) expect(sum("diskMb")).toBeLessThanOrEqual(capacity.free.diskMb);
        expect(kept.length).toBeLessThanOrEqual(FLASHBOOT_PER_HOST_MAX);
      }),
    );
  });

  test("are those that ran last, up to the limit of a host", ({ expect }) => {
    const capacity = new HostCapacity(host(), []);
    const workers = Array.from({ length: FLASHBOOT_PER_HOST_MAX + 2 }, (_, index) => idleFor(index + 1));
    expect(idsOf(retainedByHost(capacity, workers.toReversed()))).toEqual(
      idsOf(workers.slice(0, FLASHBOOT_PER_HOST_MAX)),
    );
    expect(idsOf(retainedByHost(capacity, [idleFor(1)]))).toEqual(["1"]);
  });

  test("take no capacity: as many workers are placed as without them", ({ expect }) => {
    const desired = { gpuTiers: ["ADA_24"], excludedGpuModels: [], locations: [], containerDiskInGb: 5 };
    fc.assert(
      fc.property(
        fc.array(taken, { maxLength: 3 }),
        standbys,
        fc.integer({ min: 1, max: 3 }),
        (workers, waiting, gpuCount) => {
          const [with_, without] = [new HostPool(), new HostPool()];
          with_.upsert(host(), [...workers, ...waiting]);
          without.upsert(host(), workers);
          for (let count = 0; count <= GPUS; count += 1) {
            const [a, b] = [
              with_.allocate({ ...desired, gpuCount }),
              without.allocate({ ...desired, gpuCount }),
            ];
            expect(a === undefined).toBe(b === undefined);
          }
        },
      ),
    );
  });

  test("are spared where another GPU or host would do", ({ expect }) => {
    const desired = { gpuTiers: ["ADA_24"], excludedGpuModels: [], locations: [], gpuCount: 1 };
    const size = { cpuMilli: 0, memoryMb: 0, diskMb: 0 };
    const pool = new HostPool();
    pool.upsert(host({ hostId: "large" }), [{ gpuIndexes: [0, 1], size, standbyAt: 1 }]);
    const [gpu] = host().gpus;
    pool.upsert(host({ hostId: "small", gpus: gpu ? [gpu] : [] }), [{ gpuIndexes: [0], size, standbyAt: 1 }]);
    const places = Array.from({ length: 7 }, () => pool.allocate(desired));
    const names = places.map((place) => `${place?.hostId} ${place?.gpuIndexes.join()}`);
    expect(names.slice(0, 4)).toEqual(["large 2", "large 3", "large 4", "large 5"]);
    expect(new Set(names.slice(4))).toEqual(new Set(["large 0", "large 1", "small 0"]));
  });
});

describe("a worker is revived where it was", () => {
  test("only while its own GPUs and enough of all else are free, and never twice", ({ expect }) => {
    fc.assert(
      fc.property(
        fc.array(taken, { maxLength: 4 }),
        standby,
        fc.boolean(),
        (workers, waiting, isCordoned) => {
          const pool = new HostPool();
          pool.upsert(host({ isCordoned }), [...workers, waiting]);
          const place = {
            hostId: "h",
            gpuIndexes: waiting.gpuIndexes,
            size: waiting.size ?? { cpuMilli: 0, memoryMb: 0, diskMb: 0 },
          };
          const free = new HostCapacity(host(), workers).free;
          const hasCapacity =
            !isCordoned &&
            !workers.some(({ gpuIndexes }) =>
              gpuIndexes.some((index) => waiting.gpuIndexes.includes(index)),
            ) &&
            place.size.cpuMilli <= free.cpuMilli &&
            place.size.memoryMb <= free.memoryMb &&
            place.size.diskMb <= free.diskMb;
          expect(pool.reclaim(place)).toBe(hasCapacity);
          if (waiting.gpuIndexes.length > 0) expect(pool.reclaim(place)).toBe(false);
          expect(pool.reclaim({ ...place, hostId: "another" })).toBe(false);
        },
      ),
    );
  });
});

describe("epochs", () => {
  test("of one worker differ, and name the worker", ({ expect }) => {
    const epochs = [0, 1, 2].map((revivals) => epochOf({ workerId: "w1", revivals }));
    expect(new Set(epochs).size).toBe(3);
    expect(epochs[0]).toBe("w1");
    expect(epochs.map(workerOfEpoch)).toEqual(["w1", "w1", "w1"]);
  });

  test("that have ended match no worker", ({ expect }) => {
    const workers = [{ workerId: "a", revivals: 1 }, { workerId: "b" }];
    expect(workersIn(["a", "b", "c"], workers)).toEqual(["b", "c"]);
    expect(workersIn(["a/1"], workers)).toEqual(["a"]);
  });
});
