import fc from "fast-check";
import { describe, test } from "vitest";
import type { CandidateHost, Size } from "./host-capacity.ts";
import type { Requirement } from "./host-fit.ts";
import { HostPool, type Place } from "./host-pool.ts";
import { HOST_WORKERS_MAX } from "../../contract/agent/agent.ts";

const TIERS = ["ADA_24", "AMPERE_48", "AMPERE_80"] as const;
const PLACES = ["EU-RO-1", "US-KS-2", "EU-FR-1"] as const;
const tier = fc.constantFrom(...TIERS);

const candidate: fc.Arbitrary<CandidateHost> = fc
  .record({
    tiers: fc.array(tier, { maxLength: 6 }),
    cpuCount: fc.integer({ min: 1, max: 16 }),
    memoryGb: fc.integer({ min: 1, max: 64 }),
    diskGb: fc.integer({ min: 0, max: 100 }),
    dataCenterId: fc.option(fc.constantFrom(...PLACES), { nil: undefined }),
    cudaVersion: fc.option(fc.constantFrom("11.8", "12.4"), { nil: undefined }),
    networkVolumeIds: fc.option(fc.constant(["v1"]), { nil: undefined }),
    isCordoned: fc.nat(9).map((chance) => chance === 0),
    isDrained: fc.nat(9).map((chance) => chance === 0),
  })
  .map(({ tiers, memoryGb, diskGb, ...rest }) => ({
    ...rest,
    hostId: "",
    name: "",
    memoryMb: memoryGb * 1_000,
    diskMb: diskGb * 1_000,
    diskFreeMb: diskGb * 1_000,
    gpus: tiers.map((name, index) => gpu(index, name)),
  }));
const candidates = fc
  .array(candidate, { maxLength: 6 })
  .map((hosts) => hosts.map((host, index) => ({ ...host, hostId: `h${index}` })));

const requirement: fc.Arbitrary<Requirement> = fc.record({
  gpuTiers: fc.uniqueArray(tier, { maxLength: 3 }),
  excludedGpuModels: fc.uniqueArray(
    tier.map((name) => `GPU ${name}`),
    { maxLength: 1 },
  ),
  gpuCount: fc.integer({ min: 1, max: 3 }),
  locations: fc.uniqueArray(fc.constantFrom("RO", "US", "EU-FR-1"), { maxLength: 2 }),
  instanceIds: fc.uniqueArray(fc.constantFrom("cpu5c-4-8", "cpu5c-1-2", "cpu3g-2-8"), { maxLength: 2 }),
  containerDiskInGb: fc.constantFrom(0, 5, 50),
  networkVolumeIds: fc.uniqueArray(fc.constantFrom("v1", "v2"), { maxLength: 2 }),
  minCudaVersion: fc.constantFrom(null, "12.0"),
});

function gpu(index: number, name: string) {
  return { index, name: `GPU ${name}`, tier: name, memoryMb: 1, isSimulated: false };
}

function poolOf(hosts: readonly CandidateHost[]): HostPool {
  const pool = new HostPool();
  for (const host of hosts) pool.upsert(host, []);
  return pool;
}

/** As many workers as the pool takes. */
function fill(pool: HostPool, required: Requirement, limit = 200): Place[] {
  const places: Place[] = [];
  for (let place = pool.allocate(required); place && places.length < limit; place = pool.allocate(required)) {
    places.push(place);
  }
  return places;
}

function host(hostId: string, gpus: readonly string[], more: Partial<CandidateHost> = {}): CandidateHost {
  return {
    hostId,
    name: hostId,
    gpus: gpus.map((name, index) => gpu(index, name)),
    cpuCount: 16,
    memoryMb: 64_000,
    diskMb: 500_000,
    diskFreeMb: 500_000,
    isCordoned: false,
    isDrained: false,
    ...more,
  };
}

const GPU: Requirement = { gpuTiers: ["ADA_24"], excludedGpuModels: [], gpuCount: 1, locations: [] };
const CPU: Requirement = { ...GPU, gpuTiers: [], gpuCount: 0, instanceIds: ["cpu5c-4-8"] };

describe("whatever is asked for", () => {
  test("no two workers have a GPU in common, and none has more of a host than there is", ({ expect }) => {
    fc.assert(
      fc.property(candidates, fc.array(requirement, { maxLength: 30 }), (hosts, requirements) => {
        const pool = poolOf(hosts);
        const places = requirements.flatMap((required) => pool.allocate(required) ?? []);
        for (const { hostId, cpuCount, memoryMb, diskMb } of hosts) {
          const here = places.filter((place) => place.hostId === hostId);
          const gpus = here.flatMap(({ gpuIndexes }) => gpuIndexes);
          expect(new Set(gpus).size).toBe(gpus.length);
          const sum = (part: Exclude<keyof Size, "gpuMemoryMb">) =>
            here.reduce((total, { size }) => total + size[part], 0);
          expect(sum("cpuMilli")).toBeLessThanOrEqual(cpuCount * 1_000);
          expect(sum("memoryMb")).toBeLessThanOrEqual(memoryMb);
          expect(sum("diskMb")).toBeLessThanOrEqual(diskMb);
        }
      }),
    );
  });

  test("a worker gets what its endpoint asks for, where it asks for it", ({ expect }) => {
    fc.assert(
      fc.property(candidates, requirement, (hosts, required) => {
        const place = poolOf(hosts).allocate(required);
        if (!place) return;
        const chosen = hosts.find(({ hostId }) => hostId === place.hostId);
        const gpus = place.gpuIndexes.map((index) => chosen?.gpus[index]);
        expect(gpus).toHaveLength(required.gpuTiers.length > 0 ? required.gpuCount : 0);
        expect(new Set(gpus.map((each) => each?.tier)).size).toBeLessThanOrEqual(1);
        for (const each of gpus) {
          expect(required.gpuTiers).toContain(each?.tier);
          expect(required.excludedGpuModels).not.toContain(each?.name);
        }
        expect(chosen).toMatchObject({ isCordoned: false, isDrained: false });
        const place2 = chosen?.dataCenterId ?? "EU-RO-1";
        const isInside = ["RO", "US", "FR"].some(
          (word) => place2.includes(word) && required.locations.includes(word),
        );
        expect(required.locations.length === 0 || isInside || required.locations.includes(place2)).toBe(true);
      }),
    );
  });

  test.for([
    [{}, true],
    [{ allowedCudaVersions: [] }, true],
    [{ allowedCudaVersions: ["12.4"] }, true],
    [{ allowedCudaVersions: ["12.3"] }, false],
    [{ minCudaVersion: "12.4" }, true],
    [{ minCudaVersion: "12.10" }, false],
  ] as const)("a host with CUDA 12.4 has capacity for %j: %s", ([required, hasCapacity], { expect }) => {
    const pool = poolOf([host("h", ["ADA_24"], { cudaVersion: "12.4" })]);
    expect(pool.allocate({ ...GPU, ...required }) !== undefined).toBe(hasCapacity);
  });

  test("a tier is taken only when no host has room in a tier before it", ({ expect }) => {
    fc.assert(
      fc.property(candidates, requirement, (hosts, required) => {
        const placed = fill(poolOf(hosts), required);
        const tierOf = ({ hostId, gpuIndexes: [first = -1] }: Place) =>
          required.gpuTiers.indexOf(hosts.find((each) => each.hostId === hostId)?.gpus[first]?.tier ?? "");
        for (const [at, place] of placed.entries()) {
          const before = required.gpuTiers.slice(0, Math.max(0, tierOf(place)));
          if (required.gpuTiers.length === 0 || before.length === 0) continue;
          const pool = poolOf(hosts);
          for (let count = 0; count < at; count += 1) pool.allocate(required);
          expect(pool.allocate({ ...required, gpuTiers: before })).toBeUndefined();
        }
      }),
    );
  });

  test("with a host more, no endpoint gets fewer workers", ({ expect }) => {
    fc.assert(
      fc.property(candidates, candidate, requirement, (hosts, another, required) => {
        const more = [...hosts, { ...another, hostId: "another" }];
        const few = fill(poolOf(hosts), required).length;
        expect(fill(poolOf(more), required).length).toBeGreaterThanOrEqual(few);
      }),
    );
  });
});

describe("among hosts with room", () => {
  test("single GPUs are spread, the emptiest host first", ({ expect }) => {
    const pool = poolOf([host("a", ["ADA_24", "ADA_24"]), host("b", ["ADA_24", "ADA_24", "ADA_24"])]);
    expect(fill(pool, GPU).map(({ hostId }) => hostId)).toEqual(["b", "a", "b", "a", "b"]);
  });

  test("several GPUs go where they leave the fewest over", ({ expect }) => {
    const pool = poolOf([host("big", Array(8).fill("ADA_24")), host("small", Array(3).fill("ADA_24"))]);
    const places = fill(pool, { ...GPU, gpuCount: 2 });
    expect(places.map(({ hostId }) => hostId)).toEqual(["small", "big", "big", "big", "big"]);
  });

  test("workers without GPUs leave hosts with GPUs alone while others have room", ({ expect }) => {
    const pool = poolOf([host("gpu", ["ADA_24"], { cpuCount: 32 }), host("plain", [], { cpuCount: 9 })]);
    expect(
      fill(pool, CPU)
        .map(({ hostId }) => hostId)
        .slice(0, 3),
    ).toEqual(["plain", "plain", "gpu"]);
  });

  test("a size is taken only when no host has capacity for one before it", ({ expect }) => {
    const pool = poolOf([host("a", [], { cpuCount: 5 }), host("b", [], { cpuCount: 3 })]);
    const places = fill(pool, { ...CPU, instanceIds: ["cpu5c-4-8", "cpu5c-1-2"] });
    expect(places.map(({ hostId, size }) => [hostId, size.cpuMilli])).toEqual([
      ["a", 4_000],
      ["b", 1_000],
      ["b", 1_000],
      ["a", 1_000],
      ["b", 1_000],
    ]);
  });
});

describe("a host", () => {
  test("that simulates GPUs fits any size and location", ({ expect }) => {
    const simulated = host("laptop", ["ADA_24"], { cpuCount: 2, memoryMb: 1_000, diskMb: 1, diskFreeMb: 1 });
    const gpus = simulated.gpus.map((each) => ({ ...each, isSimulated: true }));
    const required = { ...GPU, containerDiskInGb: 500, locations: ["US"] };
    expect(poolOf([{ ...simulated, gpus }]).allocate(required)).toBeDefined();
    expect(poolOf([{ ...simulated, gpus, dataCenterId: "EU-RO-1" }]).allocate(required)).toBeUndefined();
    expect(poolOf([{ ...simulated, gpus }]).allocate({ ...CPU, instanceIds: ["cpu5c-32-64"] })).toBeDefined();
  });

  test("whose disk other programs have filled takes no worker, whatever is allocated", ({ expect }) => {
    const required = { ...GPU, containerDiskInGb: 50 };
    expect(poolOf([host("a", ["ADA_24"], { diskFreeMb: 50_000 })]).allocate(required)).toBeDefined();
    expect(poolOf([host("a", ["ADA_24"], { diskFreeMb: 49_999 })]).allocate(required)).toBeUndefined();
  });

  test("has so many workers and no more, however large it says it is", ({ expect }) => {
    const boasting = host("h", [], { cpuCount: 1_000_000_000, memoryMb: 1_000_000_000 });
    const pool = poolOf([boasting]);
    const tiny: Requirement = { ...CPU, instanceIds: [] };
    expect(fill(pool, tiny, 2 * HOST_WORKERS_MAX)).toHaveLength(HOST_WORKERS_MAX);
    pool.upsert(
      boasting,
      Array.from({ length: HOST_WORKERS_MAX - 1 }, () => ({ gpuIndexes: [], size: null })),
    );
    expect(fill(pool, tiny, 2)).toHaveLength(1);
  });

  test("has free capacity again when a worker leaves", ({ expect }) => {
    const pool = poolOf([host("a", ["ADA_24"])]);
    expect(fill(pool, GPU)).toHaveLength(1);
    pool.upsert(host("a", ["ADA_24"]), []);
    expect(fill(pool, GPU)).toHaveLength(1);
    pool.upsert(host("a", ["ADA_24"]), [{ gpuIndexes: [0], size: null }]);
    expect(fill(pool, GPU)).toHaveLength(0);
    pool.remove("a");
    expect(pool.hosts).toEqual([]);
  });
});

test("a host that is updated is found with its new capacity only", ({ expect }) => {
  const host = {
    ...{ hostId: "h", name: "h", gpus: [gpu(0, "ADA_24")], cpuCount: 8, memoryMb: 8_000 },
    ...{ diskMb: 8_000, diskFreeMb: 8_000, isCordoned: false, isDrained: false },
  };
  const needed = { gpuTiers: ["ADA_24"], excludedGpuModels: [], gpuCount: 1, locations: [] };
  const pool = new HostPool();
  pool.upsert(host, []);
  pool.upsert(host, [{ gpuIndexes: [0], size: null }]);
  expect(pool.allocate(needed)).toBeUndefined();
  pool.upsert(host, []);
  expect(pool.allocate(needed)).toMatchObject({ hostId: "h", gpuIndexes: [0] });
});
