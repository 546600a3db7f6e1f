import { describe, test } from "vitest";
import { resolveDataCenter } from "../../catalog/data-centers.ts";
import { findGpuCard, type GpuCard } from "../../catalog/gpu-cards.ts";
import {
  clusterPlacesOf,
  cpuStatus,
  cudaStockOf,
  offerOf,
  stockOfHost,
  type HostQuestion,
  type HostStock,
} from "./stock.ts";

function cardOf(id: string): GpuCard {
  const card = findGpuCard(id);
  if (card === undefined) throw new Error(`${id} is no card`);
  return card;
}

const L4 = cardOf("NVIDIA L4");
const model = (index: number, name = "NVIDIA L4", tier: string | null = "AMPERE_24") => {
  return { index, name, tier, memoryMb: 24_000, isSimulated: false };
};
const host = (free: number, total = free, more: Partial<HostStock> = {}): HostStock => ({
  dataCenterId: "EU-RO-1",
  cpuCount: 16,
  memoryMb: 64_000,
  cudaVersion: "12.8",
  canJoinClusters: true,
  gpus: [{ model: "NVIDIA L4", tier: "AMPERE_24", isSimulated: false, total, free }],
  ...more,
});

describe("the stock of a host", () => {
  test("it counts each model once, and what nobody has taken of it", ({ expect }) => {
    const gpus = [model(0), model(1), model(2, "NVIDIA A40", "AMPERE_48"), model(3, "NVIDIA L4", null)];
    const stock = stockOfHost({ gpus, cpuCount: 8, memoryMb: 1, dataCenterId: "US-KS-2" }, new Set([1, 2]));
    expect(stock).toEqual({
      dataCenterId: "US-KS-2",
      cpuCount: 8,
      memoryMb: 1,
      cudaVersion: null,
      canJoinClusters: false,
      gpus: [
        { model: "NVIDIA L4", tier: "AMPERE_24", isSimulated: false, total: 2, free: 1 },
        { model: "NVIDIA A40", tier: "AMPERE_48", isSimulated: false, total: 1, free: 0 },
        { model: "NVIDIA L4", tier: null, isSimulated: false, total: 1, free: 1 },
      ],
    });
  });

  test("it does not count simulated GPUs with those that are there", ({ expect }) => {
    const gpus = [model(0), { ...model(1), isSimulated: true }, { ...model(2), isSimulated: true }];
    const { gpus: counted } = stockOfHost({ gpus, cpuCount: 8, memoryMb: 1 }, new Set());
    expect(counted.map(({ isSimulated, total }) => [isSimulated, total])).toEqual([
      [false, 1],
      [true, 2],
    ]);
  });

  test("an unknown data center is the default one", ({ expect }) => {
    expect(["US-KS-2", "us-ks-2", "cellar", undefined].map(resolveDataCenter)).toEqual([
      "US-KS-2",
      "EU-RO-1",
      "EU-RO-1",
      "EU-RO-1",
    ]);
  });
});

describe("the offer of a card", () => {
  test.for([
    [[], 1, null],
    [[host(1)], 1, "Low"],
    [[host(1), host(1)], 1, "Medium"],
    [[host(8)], 1, "High"],
    [[host(1), host(1)], 2, null],
    [[host(3)], 2, "Low"],
    [[host(0, 8)], 1, null],
  ] as const)("hosts %j have for %i GPUs at once: %s", ([hosts, gpuCount, status], { expect }) => {
    expect(offerOf(L4, hosts, { gpuCount }).status).toBe(status);
  });

  test("the share of a host is that of its GPUs, and never nothing", ({ expect }) => {
    const small = host(2, 4, { cpuCount: 2, memoryMb: 500 });
    expect(offerOf(L4, [small], { gpuCount: 1 })).toMatchObject({ minVcpuCount: 1, minMemoryGb: 1 });
    const mixed = host(2, 2, {
      gpus: [
        { model: "NVIDIA L4", tier: "AMPERE_24", isSimulated: false, total: 2, free: 2 },
        { model: "NVIDIA A40", tier: "AMPERE_48", isSimulated: false, total: 2, free: 0 },
      ],
    });
    expect(offerOf(L4, [mixed], { gpuCount: 2 })).toMatchObject({ minVcpuCount: 8, minMemoryGb: 32 });
  });
});

describe("clusters", () => {
  const apart = (dataCenterId: string, free = 1) => host(free, 1, { dataCenterId, canJoinClusters: false });

  test("hosts on which pods of a cluster reach each other are those for clusters", ({ expect }) => {
    expect(offerOf(L4, [apart("EU-RO-1")], { gpuCount: 1, products: ["CLUSTER"] }).status).toBeNull();
    expect(offerOf(L4, [apart("EU-RO-1")], { gpuCount: 1, products: ["CLUSTER", "POD"] }).status).toBe("Low");
  });

  test("their places are those that have the card, free or not", ({ expect }) => {
    const hosts = [
      apart("EU-RO-1"),
      host(0, 1, { dataCenterId: "US-KS-2" }),
      host(1, 1, { dataCenterId: "US-KS-2" }),
      host(1, 1, { dataCenterId: "CA-MTL-1" }),
      host(1, 1, { dataCenterId: "EUR-NO-1", gpus: [] }),
    ];
    expect(clusterPlacesOf(L4, hosts)).toEqual(["CA-MTL-1", "US-KS-2"]);
  });
});

describe("the hosts that a question means", () => {
  test.for<[question: HostQuestion, isMeant: boolean]>([
    [{}, true],
    [{ products: ["SERVERLESS"] }, true],
    [{ products: ["POD"] }, true],
    [{ products: ["CLUSTER"] }, true],
    [{ products: [] }, false],
    [{ cloud: "SECURE" }, true],
    [{ cloud: "COMMUNITY" }, false],
    [{ dataCenterId: "EU-RO-1" }, true],
    [{ dataCenterId: "US-KS-2" }, false],
    [{ countryCodes: ["US", "RO"] }, true],
    [{ countryCodes: ["US"] }, false],
    [{ countryCodes: [] }, false],
    [{ cudaVersions: ["12.8", "13.0"] }, true],
    [{ cudaVersions: ["12.7"] }, false],
    [{ minCudaVersion: "12" }, true],
    [{ minCudaVersion: "12.8" }, true],
    [{ minCudaVersion: "12.10" }, false],
    [{ cudaVersions: ["12.8"], minCudaVersion: "13.0" }, false],
  ])("%j: %s", ([question, isMeant], { expect }) => {
    const status = isMeant ? "Low" : null;
    expect(offerOf(L4, [host(1)], { ...question, gpuCount: 1 }).status).toBe(status);
    expect(cpuStatus([host(0)], { vcpus: 16, memoryGb: 32 }, question)).toBe(status);
  });

  test("a host that has not reported its version of CUDA is no host with one", ({ expect }) => {
    const unknown = host(1, 1, { cudaVersion: null });
    expect(offerOf(L4, [unknown], { gpuCount: 1 }).status).toBe("Low");
    expect(offerOf(L4, [unknown], { gpuCount: 1, minCudaVersion: "11" }).status).toBeNull();
    expect(offerOf(L4, [unknown], { gpuCount: 1, cudaVersions: ["12.8"] }).status).toBeNull();
    expect(cudaStockOf(L4, [unknown], { gpuCount: 1 })).toEqual([]);
  });
});

test("lists the versions of CUDA that hosts with the card have, in order", ({ expect }) => {
  const hosts = [
    host(1, 1, { cudaVersion: "12.10" }),
    host(4, 4, { cudaVersion: "12.8" }),
    host(0, 4, { cudaVersion: "12.8" }),
    host(0, 1, { cudaVersion: "13.0" }),
    host(1, 1, { cudaVersion: "11.8", gpus: [] }),
  ];
  expect(cudaStockOf(L4, hosts, { gpuCount: 1 })).toEqual([
    { version: "12.8", isAvailable: true },
    { version: "12.10", isAvailable: true },
    { version: "13.0", isAvailable: false },
  ]);
  expect(cudaStockOf(L4, hosts, { gpuCount: 2, minCudaVersion: "12.9" })).toEqual([
    { version: "12.10", isAvailable: false },
    { version: "13.0", isAvailable: false },
  ]);
  expect(cudaStockOf(L4, hosts, { gpuCount: 1, products: [] })).toEqual([]);
});

test("a CPU instance has room where both its vCPUs and its memory fit", ({ expect }) => {
  const hosts = [host(0)];
  expect(cpuStatus(hosts, { vcpus: 16, memoryGb: 32 }, {})).toBe("Low");
  expect(cpuStatus(hosts, { vcpus: 4, memoryGb: 64 }, {})).toBe("Low");
  expect(cpuStatus(hosts, { vcpus: 4, memoryGb: 65 }, {})).toBeNull();
  expect(cpuStatus(hosts, { vcpus: 1, memoryGb: 2 }, { dataCenterId: "EU-RO-1" })).toBe("High");
  expect(cpuStatus(hosts, { vcpus: 1, memoryGb: 2 }, { dataCenterId: "US-KS-2" })).toBeNull();
});
