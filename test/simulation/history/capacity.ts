/** What hosts have free by the rows of Fleet, and which of them have what a worker of an endpoint asks for. */
import type { SimulatedHost } from "../host/host.ts";
import type { WorkerRow } from "./fleet-rows.ts";
import type { HistoryPlan } from "./plan.ts";

/** What each worker of an endpoint asks for. */
export type Requirement = {
  /** In order of preference. */
  readonly tiers: readonly string[];
  readonly excludedModels: readonly string[];
  readonly gpuCount: number;
  readonly diskMb: number;
};

/** Beside GPUs. */
export type Amounts = { readonly cpuMilli: number; readonly memoryMb: number; readonly diskMb: number };

export function requirementFrom(
  { containerDiskGb }: HistoryPlan,
  gpuIds: string,
  gpuCount: number,
): Requirement {
  const tokens = gpuIds.split(",");
  return {
    tiers: tokens.filter((token) => !token.startsWith("-")),
    excludedModels: tokens.filter((token) => token.startsWith("-")).map((token) => token.slice(1)),
    gpuCount,
    diskMb: containerDiskGb * 1_000,
  };
}

/** Of each endpoint with a queue. */
export function endpointRequirements(plan: HistoryPlan): readonly Requirement[] {
  return plan.endpointGpus.map((gpuCount, index) =>
    requirementFrom(plan, plan.endpointGpuIds[index] ?? plan.otherGpuIds, gpuCount),
  );
}

/** Whether a worker of the one fits wherever one of the other does. */
export function asksForNoMore(one: Requirement, other: Requirement): boolean {
  return (
    one.gpuCount <= other.gpuCount &&
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

/** What goes with the GPUs of a worker, and its disk. */
export function amountsFor({ inventory }: SimulatedHost, { gpuCount, diskMb }: Requirement): Amounts {
  const { gpus, cpuCount, memoryMb } = inventory;
  const share = gpuCount / gpus.length;
  return { cpuMilli: Math.floor(cpuCount * 1_000 * share), memoryMb: Math.floor(memoryMb * share), diskMb };
}

/** What the workers on a host take of it; those on standby take nothing. */
export function takenOf(host: SimulatedHost, workers: readonly WorkerRow[]): Taken {
  const taken = workers
    .filter(({ host_id: hostId, standby_at: standbyAt }) => hostId === host.hostId && standbyAt === null)
    .flatMap(placesOf);
  const sum = (name: keyof Amounts): number => taken.reduce((total, { size }) => total + size[name], 0);
  const indexes = taken.flatMap(({ gpuIndexes }) => gpuIndexes);
  return {
    gpuIndexes: new Set(indexes),
    sharedGpus: indexes.filter((index, at) => indexes.indexOf(index) !== at),
    amounts: { cpuMilli: sum("cpuMilli"), memoryMb: sum("memoryMb"), diskMb: sum("diskMb") },
  };
}

type Taken = {
  readonly gpuIndexes: ReadonlySet<number>;
  readonly sharedGpus: readonly number[];
  readonly amounts: Amounts;
};
type Place = { readonly gpuIndexes: readonly number[]; readonly size: Amounts };

const NOTHING: Amounts = { cpuMilli: 0, memoryMb: 0, diskMb: 0 };

/** That of the worker, and what an earlier version of a pod has left. */
function placesOf({ gpu_indexes: indexes, size, leaving }: WorkerRow): readonly Place[] {
  const own = { gpuIndexes: JSON.parse(indexes) as number[], size: amountsOf(size) };
  return leaving === null ? [own] : [own, JSON.parse(leaving) as Place];
}

/** JSON; null for none. */
export function amountsOf(size: string | null): Amounts {
  return size === null ? NOTHING : (JSON.parse(size) as Amounts);
}

/** Whether one more worker has a place there, on GPUs of one of the tiers. */
export function hasPlace(
  host: SimulatedHost,
  requirement: Requirement,
  workers: readonly WorkerRow[],
  tiers = requirement.tiers,
): boolean {
  const { gpuIndexes, amounts } = takenOf(host, workers);
  const [total, needed] = [totalOf(host), amountsFor(host, requirement)];
  const fits = NAMES.every((name) => amounts[name] + needed[name] <= total[name]);
  const free = host.inventory.gpus.filter(({ index }) => !gpuIndexes.has(index));
  const isAllowed = (name: string): boolean => !requirement.excludedModels.includes(name);
  const countIn = (tier: string): number =>
    free.filter((gpu) => gpu.tier === tier && isAllowed(gpu.name)).length;
  return fits && tiers.some((tier) => countIn(tier) >= requirement.gpuCount);
}

export const NAMES = ["cpuMilli", "memoryMb", "diskMb"] as const;
