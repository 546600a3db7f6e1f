import { describe, test } from "vitest";
import type { CandidateHost } from "./host-capacity.ts";
import type { Requirement } from "./host-fit.ts";
import { HostPool } from "./host-pool.ts";
import { explainPlacementFailure } from "./placement-failure.ts";

const GPU: Requirement = { gpuTiers: ["ADA_24"], excludedGpuModels: [], gpuCount: 1, locations: [] };
const CPU: Requirement = { ...GPU, gpuTiers: [], gpuCount: 0, instanceIds: ["cpu5c-4-8"] };

function host(name: string, more: Partial<CandidateHost> = {}, count = 2): CandidateHost {
  const gpu = { name: "NVIDIA GeForce RTX 4090", tier: "ADA_24", memoryMb: 24_000, isSimulated: false };
  return {
    hostId: `id-${name}`,
    name,
    gpus: Array.from({ length: count }, (_, index) => ({ ...gpu, index })),
    cpuCount: 8,
    memoryMb: 32_000,
    diskMb: 100_000,
    diskFreeMb: 100_000,
    isCordoned: false,
    isDrained: false,
    ...more,
  };
}

/** What is said after everything was given away to endpoints of this kind. */
function detailAfter(hosts: readonly CandidateHost[], required: Requirement, others: Requirement = required) {
  const pool = new HostPool();
  for (const each of hosts) pool.upsert(each, []);
  while (pool.allocate(others));
  return explainPlacementFailure(required, pool.hosts);
}

const POD: Requirement = {
  ...GPU,
  gpuTiers: [],
  pod: {
    gpuModels: ["NVIDIA GeForce RTX 4090"],
    minMemoryMb: 0,
    minCpuMilli: 0,
    newVolumeMb: 0,
    hostId: null,
    needsPublicAddress: false,
  },
};
const podWith = (more: Partial<NonNullable<Requirement["pod"]>>): Requirement =>
  POD.pod ? { ...POD, pod: { ...POD.pod, ...more } } : POD;
const podHost = (name: string, more: Partial<CandidateHost> = {}) =>
  host(name, { canRunPods: true, ...more });

describe("of what is in the way of a pod, the nearest is named", () => {
  test.for<[string, RegExp, readonly CandidateHost[], Requirement]>([
    ["an agent that runs no pods", /^Host a has an agent that runs no pods/, [host("a")], POD],
    [
      "no such model",
      /^The pod asks for NVIDIA L4, and the connected host can give NVIDIA GeForce RTX 4090\./,
      [podHost("a")],
      podWith({ gpuModels: ["NVIDIA L4"] }),
    ],
    [
      "no public address",
      /^Host a has no public address/,
      [podHost("a")],
      podWith({ needsPublicAddress: true }),
    ],
    ["little memory", /32 GB of memory/, [podHost("a")], podWith({ minMemoryMb: 33_000 })],
    [
      "a volume too large",
      /100 GB of disk free; 150 GB .*\bvolumeInGb\b/,
      [podHost("a")],
      podWith({ newVolumeMb: 150_000 }),
    ],
    [
      "another place",
      /is in RO \(EU-RO-1\)\. (?!.*\blocations\b).*data centers/,
      [podHost("a")],
      { ...POD, locations: ["FR"] },
    ],
    ["its host away", /is not connected/, [podHost("a")], podWith({ hostId: "id-b" })],
    [
      "its host full",
      /^Host b .*all 2 GPUs are taken/,
      [podHost("a"), podHost("b")],
      podWith({ hostId: "id-b" }),
    ],
  ])("%s", ([, detail, hosts, required], { expect }) => {
    expect(detailAfter(hosts, required).detail).toMatch(detail);
  });

  test("a share of its GPUs that is too small is raised", ({ expect }) => {
    const pool = new HostPool();
    pool.upsert(podHost("a"), []);
    expect(pool.allocate(podWith({ minMemoryMb: 20_000, minCpuMilli: 1_000 }))).toMatchObject({
      size: { cpuMilli: 4_000, memoryMb: 20_000 },
    });
    expect(pool.allocate(podWith({}))).toBeUndefined();
  });
});

describe("of what is in the way, the nearest is named", () => {
  test.for<[string, string, readonly CandidateHost[], Requirement]>([
    ["no host at all", "No host of this account is connected.", [], GPU],
    [
      "no such GPU",
      "The endpoint asks for AMPERE_80, ADA_48_PRO, and the 2 connected hosts can give ADA_24.",
      [host("a"), host("b")],
      { ...GPU, gpuTiers: ["AMPERE_80", "ADA_48_PRO"] },
    ],
    [
      "no such GPU but the one left out",
      "asks for ADA_24 without NVIDIA GeForce RTX 4090, and the connected host can give ADA_24.",
      [host("a")],
      { ...GPU, excludedGpuModels: ["NVIDIA GeForce RTX 4090"] },
    ],
    [
      "too few GPUs on each host",
      "asks for 4 GPUs of ADA_24 on one host; no host has more than 2.",
      [host("a"), host("b")],
      { ...GPU, gpuCount: 4 },
    ],
    [
      "wrong places",
      "No host with ADA_24 is in FR or NO; those that would do are in RO (EU-RO-1) and US (US-KS-2).",
      [host("a"), host("b", { dataCenterId: "US-KS-2" })],
      { ...GPU, locations: ["FR", "NO"] },
    ],
    [
      "an old driver",
      "Host a has CUDA 12.2; 12.4 or later is asked for.",
      [host("a", { cudaVersion: "12.2" })],
      { ...GPU, minCudaVersion: "12.4" },
    ],
    [
      "another driver",
      "Host a has CUDA 12.10; 12.8 or 12.9 is asked for.",
      [host("a", { cudaVersion: "12.10" })],
      { ...GPU, allowedCudaVersions: ["12.8", "12.9"], minCudaVersion: null },
    ],
    [
      "no volume",
      "Network volume v2 is not there: Host a has others or none.",
      [host("a", { networkVolumeIds: ["v1"] })],
      { ...GPU, networkVolumeIds: ["v2"] },
    ],
    [
      "hosts that are too small",
      "Host b has 3 vCPUs and 32 GB of memory; 4 vCPUs and 8 GB are asked for.",
      [host("a", { cpuCount: 2 }), host("b", { cpuCount: 3 })],
      CPU,
    ],
    [
      "a disk that is too small",
      "Host rack-1 has 12 GB of disk free; 50 GB are asked for.",
      [host("rack-1", { diskMb: 12_000, diskFreeMb: 12_000 })],
      { ...GPU, containerDiskInGb: 50 },
    ],
    ["a cordoned host", "Host rack-1 is cordoned.", [host("rack-1", { isCordoned: true })], GPU],
    [
      "drained hosts",
      "2 hosts (a and b) are drained.",
      [host("a", { isDrained: true }), host("b", { isDrained: true, isCordoned: true })],
      GPU,
    ],
    ["GPUs in use", "2 hosts (a and b) have ADA_24, but all 4 GPUs are taken.", [host("a"), host("b")], GPU],
    ["the only GPU in use", "Host a has ADA_24, but the only GPU is taken.", [host("a", {}, 1)], GPU],
    [
      "GPUs that are free but apart",
      "have ADA_24, and 2 of 6 GPUs are free, but no host has capacity for 2",
      [host("a", {}, 3), host("b", {}, 3)],
      { ...GPU, gpuCount: 2 },
    ],
    [
      "vCPUs in use",
      "Host a has at most 1 vCPUs and 22 GB of memory free; 4 vCPUs and 8 GB are asked for.",
      [host("a", { cpuCount: 5, memoryMb: 30_000 })],
      CPU,
    ],
  ])("%s", ([, detail, hosts, required], { expect }) => {
    expect(detailAfter(hosts, required).detail).toContain(detail);
  });

  test("a host that would do but is cordoned, before one that is in another place", ({ expect }) => {
    const hosts = [host("far", { dataCenterId: "US-KS-2" }), host("near", { isCordoned: true })];
    expect(detailAfter(hosts, { ...GPU, locations: ["RO"] }).detail).toContain("Host near is cordoned.");
  });

  test("of several tiers the one that comes nearest", ({ expect }) => {
    const shortage = detailAfter([host("a")], { ...GPU, gpuTiers: ["AMPERE_80", "ADA_24"] });
    expect(shortage).toMatchObject({ reason: "no_matching_gpu" });
    expect(shortage.detail).toContain("Host a has ADA_24, but all 2 GPUs are taken.");
  });
});

test("many hosts are counted instead of named", ({ expect }) => {
  const hosts = ["a", "b", "c", "d"].map((name) => host(name));
  expect(detailAfter(hosts, GPU).detail).toContain("4 hosts have ADA_24, but all 8 GPUs are taken.");
});
