/** What hosts have free by the rows of Fleet, and which of them have what a worker of an endpoint asks for. */
import type { Gpu } from "../../../src/contract/agent/agent.ts";
import type { SimulatedHost } from "../host/host.ts";
import type { WorkerRow } from "./fleet-rows.ts";
import type { HistoryPlan } from "./plan.ts";

/** What each worker of an endpoint asks for. */
export type Requirement = {
  /** In order of preference. */
  readonly tiers: readonly string[];
  readonly excludedModels: readonly string[];
  readonly gpuCount: number;
  /** MiB that it declares of one GPU; infinite where it has its GPUs to itself. */
  readonly gpuMemoryMb: number;
  readonly diskMb: number;
};

/** Beside GPUs. */
export type Amounts = { readonly cpuMilli: number; readonly memoryMb: number; readonly diskMb: number };

export function requirementFrom(
  { containerDiskGb }: HistoryPlan,
  gpuIds: string,
  gpuCount: number,
  gpuMemoryGb = 0,
): Requirement {
  const tokens = gpuIds.split(",");
  return {
    tiers: tokens.filter((token) => !token.startsWith("-")),
    excludedModels: tokens.filter((token) => token.startsWith("-")).map((token) => token.slice(1)),
    gpuCount,
    gpuMemoryMb: gpuMemoryGb > 0 ? Math.floor((gpuMemoryGb * 1e9) / 2 ** 20) : Infinity,
    diskMb: containerDiskGb * 1_000,
  };
}

/** Of each endpoint with a queue. */
export function endpointRequirements(plan: HistoryPlan): readonly Requirement[] {
  return plan.endpointGpus.map((gpuCount, index) =>
    requirementFrom(
      plan,
      plan.endpointGpuIds[index] ?? plan.otherGpuIds,
      gpuCount,
      plan.endpointGpuMemoryGb[index],
    ),
  );
}

/** Whether a worker of the one fits wherever one of the other does. */
export function asksForNoMore(one: Requirement, other: Requirement): boolean {
  return (
    one.gpuCount <= other.gpuCount &&
    one.gpuMemoryMb <= other.gpuMemoryMb &&
    Number.isFinite(one.gpuMemoryMb) === Number.isFinite(other.gpuMemoryMb) &&
    one.diskMb <= other.diskMb &&
    other.tiers.every((tier) => one.tiers.includes(tier)) &&
    one.excludedModels.every((model) => other.excludedModels.includes(model))
  );
}

/** What the host has for workers; no limits where its GPUs are simulated. */
export function totalOf({ inventory }: SimulatedHost): Amounts {
  if (inventory.gpus.some(({ isSimulated }) => isSimulated))
    return { cpuMilli: Infinity, memoryMb: Infinity, diskMb: Infinity };
  return {
    cpuMilli: inventory.cpuCount * 1_000,
    memoryMb: inventory.memoryMb,
    diskMb: inventory.diskFreeMb,
  };
}

/** What goes with the GPUs of a worker, or with its part of one, `gpu`, and its disk. */
export function amountsFor(
  { inventory }: SimulatedHost,
  { gpuCount, gpuMemoryMb, diskMb }: Requirement,
  gpu: Gpu | undefined,
): Amounts {
  const { gpus, cpuCount, memoryMb } = inventory;
  const part = gpu && Number.isFinite(gpuMemoryMb) ? gpuMemoryMb / gpu.memoryMb : 1;
  const share = (gpuCount * part) / gpus.length;
  return { cpuMilli: Math.floor(cpuCount * 1_000 * share), memoryMb: Math.floor(memoryMb * share), diskMb };
}

/** What the workers on a host take of it; those on standby take nothing. */
export function takenOf(host: SimulatedHost, workers: readonly WorkerRow[]): Taken {
  const taken = workers
    .filter(({ host_id: hostId, standby_at: standbyAt }) => hostId === host.hostId && standbyAt === null)
    .flatMap(placesOf);
  const sum = (name: keyof Amounts): number => taken.reduce((total, { size }) => total + size[name], 0);
  return {
    gpuMemoryMb: takenMemory(taken),
    amounts: { cpuMilli: sum("cpuMilli"), memoryMb: sum("memoryMb"), diskMb: sum("diskMb") },
  };
}

type Taken = {
  /** MiB by GPU; infinite for one that a worker has to itself, and more where it has not. */
  readonly gpuMemoryMb: ReadonlyMap<number, GpuUse>;
  readonly amounts: Amounts;
};
type GpuUse = { readonly memoryMb: number; readonly workers: number };
type Place = { readonly gpuIndexes: readonly number[]; readonly size: Amounts & SharedMemory };
type SharedMemory = { readonly gpuMemoryMb?: number };

function takenMemory(places: readonly Place[]): ReadonlyMap<number, GpuUse> {
  const uses = new Map<number, GpuUse>();
  for (const { gpuIndexes, size } of places)
    for (const index of gpuIndexes) {
      const { memoryMb = 0, workers = 0 } = uses.get(index) ?? {};
      uses.set(index, { memoryMb: memoryMb + (size.gpuMemoryMb ?? Infinity), workers: workers + 1 });
    }
  return uses;
}

/** GPUs of which workers have more than there is, or which one has to itself that is not alone. */
export function overfullGpus({ inventory }: SimulatedHost, { gpuMemoryMb }: Taken): readonly number[] {
  return inventory.gpus.flatMap((gpu) => {
    const use = gpuMemoryMb.get(gpu.index);
    return use && use.workers > 1 && use.memoryMb > gpu.memoryMb ? [gpu.index] : [];
  });
}

const NOTHING: Amounts = { cpuMilli: 0, memoryMb: 0, diskMb: 0 };

/** That of the worker, and what an earlier version of a pod has left. */
function placesOf({ gpu_indexes: indexes, size, leaving }: WorkerRow): readonly Place[] {
  const own = { gpuIndexes: JSON.parse(indexes) as number[], size: amountsOf(size) };
  return leaving === null ? [own] : [own, JSON.parse(leaving) as Place];
}

/** JSON; null for none. */
export function amountsOf(size: string | null): Amounts & SharedMemory {
  return size === null ? NOTHING : (JSON.parse(size) as Amounts & SharedMemory);
}

/** Whether one more worker has a place there, on GPUs of one of the tiers. */
export function hasPlace(
  host: SimulatedHost,
  requirement: Requirement,
  workers: readonly WorkerRow[],
  tiers = requirement.tiers,
): boolean {
  const { gpuMemoryMb, amounts } = takenOf(host, workers);
  const total = totalOf(host);
  const isShared = Number.isFinite(requirement.gpuMemoryMb);
  const free = host.inventory.gpus.filter((gpu) => {
    const taken = gpuMemoryMb.get(gpu.index)?.memoryMb ?? 0;
    const fitsOn = isShared ? taken + requirement.gpuMemoryMb <= gpu.memoryMb : taken === 0;
    const needed = amountsFor(host, requirement, gpu);
    return fitsOn && NAMES.every((name) => amounts[name] + needed[name] <= total[name]);
  });
  const isAllowed = (name: string): boolean => !requirement.excludedModels.includes(name);
  const countIn = (tier: string): number =>
    free.filter((gpu) => gpu.tier === tier && isAllowed(gpu.name)).length;
  return tiers.some((tier) => countIn(tier) >= requirement.gpuCount);
}

export const NAMES = ["cpuMilli", "memoryMb", "diskMb"] as const;
