import fc from "fast-check";
import { expect, test } from "vitest";
import type { Gpu } from "../../contract/agent/agent.ts";
import { cardsTaken, gpuMemoryMbOf } from "./gpu-memory.ts";
import type { Allocation, CandidateHost } from "./host-capacity.ts";
import type { Requirement } from "./host-fit.ts";
import { HostPool, type Place } from "./host-pool.ts";

const MEMORIES_MB = [23_034, 24_564] as const;

function hostWith(hostId: string, memories: readonly number[], more: Partial<CandidateHost> = {}) {
  const gpus: Gpu[] = memories.map((memoryMb, index) => ({
    ...{ index, name: "NVIDIA L4", tier: "AMPERE_24", memoryMb, isSimulated: false },
  }));
  const amounts = { cpuCount: 64, memoryMb: 256_000, diskMb: 1_000_000, diskFreeMb: 1_000_000 };
  return { ...amounts, hostId, name: hostId, gpus, isCordoned: false, isDrained: false, ...more };
}

function asking(gpuMemoryGb: number, more: Partial<Requirement> = {}): Requirement {
  return {
    gpuTiers: ["AMPERE_24"],
    excludedGpuModels: [],
    gpuCount: 1,
    gpuMemoryGb,
    locations: [],
    ...more,
  };
}

function poolOf(hosts: readonly CandidateHost[], workers: readonly Allocation[] = []): HostPool {
  const pool = new HostPool();
  for (const host of hosts) pool.upsert(host, workers);
  return pool;
}

/** Those of the host, by GPU. */
function byGpu(places: readonly Place[], hostId: string): ReadonlyMap<number, readonly Place[]> {
  return Map.groupBy(
    places.filter((place) => place.hostId === hostId),
    ({ gpuIndexes: [index = -1] }) => index,
  );
}

function declaredMb(places: readonly Place[]): number {
  return places.reduce((sum, { size }) => sum + (size.gpuMemoryMb ?? Infinity), 0);
}

const hosts = fc
  .array(fc.array(fc.constantFrom(...MEMORIES_MB), { minLength: 1, maxLength: 4 }), {
    minLength: 1,
    maxLength: 4,
  })
  .map((all) => all.map((memories, index) => hostWith(`h${index}`, memories)));
/** 0: it has its GPU to itself. */
const parts = fc.array(fc.constantFrom(0, 1, 3, 4, 7, 8, 12, 20, 24), { maxLength: 40 });

test("workers never have more of a card than there is, and one that declares nothing has it alone", () => {
  fc.assert(
    fc.property(hosts, parts, (all, gigabytes) => {
      const pool = poolOf(all);
      const places = gigabytes.flatMap((each) => pool.allocate(asking(each)) ?? []);
      for (const host of all)
        for (const [index, own] of byGpu(places, host.hostId)) {
          const isAlone = own.length === 1;
          const memoryMb = isAlone ? Infinity : (host.gpus[index]?.memoryMb ?? 0);
          expect(declaredMb(own)).toBeLessThanOrEqual(memoryMb);
        }
    }),
  );
});

test("a worker goes where least memory is left over, of all cards on which it fits", () => {
  fc.assert(
    fc.property(hosts, parts, fc.constantFrom(1, 3, 8, 12), (all, gigabytes, next) => {
      const pool = poolOf(all);
      const places = gigabytes.flatMap((each) => pool.allocate(asking(each)) ?? []);
      const needed = gpuMemoryMbOf({ gpuMemoryGb: next }) ?? 0;
      const left = all.flatMap((host) =>
        host.gpus.map(({ index, memoryMb }) => {
          const own = byGpu(places, host.hostId).get(index) ?? [];
          return { place: `${host.hostId} ${index}`, free: memoryMb - declaredMb(own) };
        }),
      );
      const fitting = left.filter(({ free }) => free >= needed);
      const place = pool.allocate(asking(next));
      const name = place && `${place.hostId} ${place.gpuIndexes[0]}`;
      const least = Math.min(...fitting.map(({ free }) => free));
      expect(left.find((one) => one.place === name)?.free ?? Infinity).toBe(least);
    }),
  );
});

test("with a part of a card goes that part of vCPUs and memory, never more than the host has", () => {
  const pool = poolOf([hostWith("h", [23_034, 23_034], { cpuCount: 12, memoryMb: 48_000 })]);
  const places = Array.from({ length: 12 }, () => pool.allocate(asking(4)));
  expect(places.every((place) => place !== undefined)).toBe(true);
  expect(places[0]?.size).toMatchObject({ cpuMilli: 993, memoryMb: 3_973, gpuMemoryMb: 3_814 });
  expect(new Set(places.flatMap((place) => place?.gpuIndexes)).size).toBe(2);
  expect(pool.allocate(asking(1))).toBeUndefined();
});

test("CPU, memory or disk of a host that is taken leaves no place on its cards", () => {
  const few = hostWith("h", [23_034], { diskMb: 10_000, diskFreeMb: 10_000 });
  const pool = poolOf([few]);
  expect(pool.allocate(asking(4, { containerDiskInGb: 8 }))).toBeDefined();
  expect(pool.allocate(asking(4, { containerDiskInGb: 8 }))).toBeUndefined();
});

test("parts that make up the nominal memory of a card fit on it", () => {
  const pool = poolOf([hostWith("h", [23_034])]);
  expect([12, 8, 4].map((each) => pool.allocate(asking(each)) !== undefined)).toEqual([true, true, true]);
  expect(pool.allocate(asking(1))).toBeUndefined();
});

test("a standby worker gives way only where its part is needed", () => {
  const size = { cpuMilli: 1, memoryMb: 1, diskMb: 1, gpuMemoryMb: 10_000 };
  const standby = { gpuIndexes: [0], size, standbyAt: 1 };
  const [host] = [hostWith("h", [23_034, 23_034])];
  expect(poolOf([host], [standby]).allocate(asking(8))).toMatchObject({ gpuIndexes: [0] });
  expect(poolOf([host], [standby]).allocate(asking(20))).toMatchObject({ gpuIndexes: [1] });
  expect(poolOf([host], [standby]).allocate(asking(0))).toMatchObject({ gpuIndexes: [1] });
});

test("a part of a divided card goes to workers that declare what they need, and to no others", () => {
  const mig: Gpu = {
    index: 1_000,
    name: "NVIDIA A100-SXM4-80GB MIG 1g.10gb",
    tier: "AMPERE_80",
    memoryMb: 9_728,
    isSimulated: false,
    migUuid: "MIG-1",
  };
  const host = hostWith("h", [], { gpus: [mig] });
  const gpuTiers = ["AMPERE_80"];
  expect(poolOf([host]).allocate(asking(0, { gpuTiers }))).toBeUndefined();
  expect(poolOf([host]).allocate(asking(20, { gpuTiers }))).toBeUndefined();
  expect(poolOf([host]).allocate(asking(10, { gpuTiers }))).toMatchObject({ gpuIndexes: [1_000] });
  const size = { gpuMemoryMb: 9_728 };
  expect(cardsTaken({ gpuIndexes: [1_000], size }, [mig])).toBeCloseTo(0.119, 3);
});
