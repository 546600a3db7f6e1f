import { describe, test } from "vitest";
import { findGpuCard, type GpuCard } from "../../catalog/gpu-cards.ts";
import { cpuStatus, resolveDataCenter, offerOf, stockOfHost, type HostStock } from "./stock.ts";

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

test("a CPU instance has room where both its vCPUs and its memory fit", ({ expect }) => {
  const hosts = [host(0)];
  expect(cpuStatus(hosts, { vcpus: 16, memoryGb: 32 }, undefined)).toBe("Low");
  expect(cpuStatus(hosts, { vcpus: 4, memoryGb: 64 }, undefined)).toBe("Low");
  expect(cpuStatus(hosts, { vcpus: 4, memoryGb: 65 }, undefined)).toBeNull();
  expect(cpuStatus(hosts, { vcpus: 1, memoryGb: 2 }, "EU-RO-1")).toBe("High");
  expect(cpuStatus(hosts, { vcpus: 1, memoryGb: 2 }, "US-KS-2")).toBeNull();
});
