/** What a simulated host has. */
import type { Gpu, Inventory } from "../../../src/contract/agent/agent.ts";

export type GpuModel = Pick<Gpu, "name" | "tier" | "memoryMb">;

/** A host with limits. */
export type HostKind = {
  /** One for each GPU. */
  readonly models: readonly GpuModel[];
  readonly cpuCount: number;
  readonly memoryMb: number;
  readonly diskMb: number;
};

export const RTX_4090: GpuModel = { name: "NVIDIA GeForce RTX 4090", tier: "ADA_24", memoryMb: 24_564 };

/** Of a host with simulated GPUs of one model, which has as much of all else as anyone asks for. */
export function unlimitedInventory(gpuCount: number): Inventory {
  const gpus = Array.from({ length: gpuCount }, (_, index) => ({ ...RTX_4090, isSimulated: true, index }));
  return { ...COMMON, gpus, cpuCount: 16, memoryMb: 64_000, diskFreeMb: 500_000 };
}

export function inventoryOf({ models, cpuCount, memoryMb, diskMb }: HostKind): Inventory {
  const gpus = models.map((model, index) => ({ ...model, isSimulated: false, index }));
  return { ...COMMON, gpus, cpuCount, memoryMb, diskFreeMb: diskMb };
}

const COMMON = { runtime: "process", canFreeze: true, canRunPods: true } as const;
