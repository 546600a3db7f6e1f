import { test } from "vitest";
import type { CandidateHost } from "../placement/host-capacity.ts";
import type { Requirement } from "../placement/host-fit.ts";
import { findEvictionSets, type Tenant } from "./eviction-sets.ts";

const desired = (gpuCount = 1): Requirement => {
  return { gpuTiers: ["ADA_24"], excludedGpuModels: [], gpuCount, locations: [] };
};
function host(hostId: string, gpuCount: number, fields: Partial<CandidateHost> = {}): CandidateHost {
  const gpus = Array.from({ length: gpuCount }, (_, index) => {
    return { index, name: "card", tier: "ADA_24", memoryMb: 1, isSimulated: false };
  });
  const size = { cpuCount: 8, memoryMb: 8_000, diskMb: 8_000, diskFreeMb: 8_000 };
  return { hostId, name: hostId, gpus, ...size, isCordoned: false, isDrained: false, ...fields };
}
function tenant(workerId: string, gpuIndexes: number[], isOutdated = true): Tenant {
  const size = { cpuMilli: 1_000 * gpuIndexes.length, memoryMb: 0, diskMb: 0 };
  return { workerId, gpuIndexes, size, isOutdated };
}

test("each outdated worker whose removal frees a place is named, and no other", ({ expect }) => {
  const full = { host: host("a", 3), tenants: [tenant("1", [0]), tenant("2", [1]), tenant("3", [2], false)] };
  expect(findEvictionSets(desired(), [full])).toEqual([["1"], ["2"]]);
});

test("where one is not enough, as few as are", ({ expect }) => {
  const tenants = [tenant("1", [0]), tenant("2", [1]), tenant("3", [2])];
  expect(findEvictionSets(desired(2), [{ host: host("a", 3), tenants }])).toEqual([["1", "2"]]);
});

test("a host that would not do if it were empty is no help", ({ expect }) => {
  const tenants = [tenant("1", [0])];
  expect(findEvictionSets(desired(2), [{ host: host("small", 1), tenants }])).toEqual([]);
  const cordoned = host("cordoned", 1, { isCordoned: true });
  expect(findEvictionSets(desired(), [{ host: cordoned, tenants }])).toEqual([]);
});
