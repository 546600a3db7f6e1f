import fc from "fast-check";
import { test } from "vitest";
import { GPU_TIER_NAMES } from "../contract/gpu-tiers.ts";
import { place, type CandidateHost, type Requirement } from "./placement.ts";

const tier = fc.constantFrom(...GPU_TIER_NAMES.slice(0, 3));
const host: fc.Arbitrary<CandidateHost> = fc
  .record({
    hostId: fc.uuid(),
    accountId: fc.constantFrom("a", "b"),
    tiers: fc.array(tier, { maxLength: 6 }),
    taken: fc.uniqueArray(fc.nat(5)),
    workerCount: fc.nat(5),
  })
  .map(({ tiers, taken, ...rest }) => ({
    ...rest,
    takenGpus: new Set(taken),
    gpus: tiers.map((name, index) => ({
      index,
      name: `GPU ${name}`,
      tier: name,
      memoryMb: 1,
      isSimulated: false,
    })),
  }));
const requirement: fc.Arbitrary<Requirement> = fc.record({
  accountId: fc.constantFrom("a", "b"),
  gpuTiers: fc.uniqueArray(tier, { maxLength: 3 }),
  excludedGpuModels: fc.uniqueArray(
    tier.map((name) => `GPU ${name}`),
    { maxLength: 1 },
  ),
  gpuCount: fc.integer({ min: 1, max: 3 }),
});

test("a worker gets exactly the free GPUs it asked for, on a host of its account", () => {
  fc.assert(
    fc.property(requirement, fc.array(host, { maxLength: 5 }), (wanted, hosts) => {
      const placement = place(wanted, hosts);
      if (placement.kind === "nowhere") return placement.shortage.detail !== "";
      const chosen = hosts.find(({ hostId }) => hostId === placement.hostId);
      if (!chosen || chosen.accountId !== wanted.accountId) return false;
      const gpus = placement.gpuIndexes.map((index) => chosen.gpus[index]);
      const isFitting = gpus.every(
        (gpu) =>
          gpu !== undefined &&
          gpu.tier === gpus[0]?.tier &&
          wanted.gpuTiers.some((name) => name === gpu.tier) &&
          !wanted.excludedGpuModels.includes(gpu.name) &&
          !chosen.takenGpus.has(gpu.index),
      );
      return isFitting && gpus.length === (wanted.gpuTiers.length === 0 ? 0 : wanted.gpuCount);
    }),
  );
});

test("the first tier in the order of preference that is free is taken", ({ expect }) => {
  const gpus = ["ADA_24", "AMPERE_24"].map((name, index) => ({
    index,
    name,
    tier: name,
    memoryMb: 1,
    isSimulated: false,
  }));
  const candidate = { hostId: "h", accountId: "a", gpus, takenGpus: new Set<number>(), workerCount: 0 };
  const wanted = { accountId: "a", gpuTiers: ["AMPERE_24", "ADA_24"], excludedGpuModels: [], gpuCount: 1 };
  expect(place(wanted, [candidate])).toMatchObject({ gpuIndexes: [1] });
  expect(place(wanted, [{ ...candidate, takenGpus: new Set([1]) }])).toMatchObject({ gpuIndexes: [0] });
});

test("a shortage says whether there is no host or no such GPU", ({ expect }) => {
  const wanted = { accountId: "a", gpuTiers: ["ADA_24"], excludedGpuModels: [], gpuCount: 1 };
  expect(place(wanted, [])).toMatchObject({ shortage: { reason: "no_host" } });
  const bare = { hostId: "h", accountId: "a", gpus: [], takenGpus: new Set<number>(), workerCount: 0 };
  expect(place(wanted, [bare])).toMatchObject({ shortage: { reason: "no_matching_gpu" } });
});
