/** Whether a host has room for a worker, and what is in the way if it has not. */
import type { Gpu } from "../contract/agent.ts";
import { readCpuInstance } from "../contract/cpu-flavors.ts";
import type { EndpointConfig } from "../contract/endpoint.ts";
import type { HostRoom, Size } from "./host-room.ts";

export type Requirement = Pick<
  EndpointConfig,
  | "gpuTiers"
  | "excludedGpuModels"
  | "gpuCount"
  | "locations"
  | "instanceIds"
  | "containerDiskInGb"
  | "networkVolumeIds"
  | "allowedCudaVersions"
  | "minCudaVersion"
>;

/** One of the ways in which an endpoint's worker can be had. */
export type Ask =
  | { readonly kind: "gpu"; readonly tier: string }
  | { readonly kind: "cpu"; readonly cpuMilli: number; readonly memoryMb: number };

/** What is in the way, the more of it is right the later in this list. */
export const MISFITS = [
  "no_gpu",
  "few_gpus",
  "location",
  "cuda",
  "volume",
  "small",
  "disk",
  "drained",
  "cordoned",
  "taken",
] as const;
export type Misfit = (typeof MISFITS)[number];

export type Fit =
  | { readonly kind: "fits"; readonly gpuIndexes: readonly number[]; readonly size: Size }
  | { readonly kind: "misfit"; readonly misfit: Misfit };

const MEGABYTES_PER_GB = 1_000;

/** The ways in which an endpoint's worker can be had, in order of preference. */
export function asksOf({ gpuTiers, instanceIds = [] }: Requirement): readonly Ask[] {
  if (gpuTiers.length > 0) return gpuTiers.map((tier) => ({ kind: "gpu", tier }));
  const sizes = instanceIds.flatMap((id): Ask[] => {
    const reading = readCpuInstance(id);
    if (reading.kind === "refused") return [];
    const { vcpus, memoryGb } = reading.instance;
    return [{ kind: "cpu", cpuMilli: vcpus * 1_000, memoryMb: memoryGb * MEGABYTES_PER_GB }];
  });
  return sizes.length > 0 ? sizes : [{ kind: "cpu", cpuMilli: 0, memoryMb: 0 }];
}

/** MB of disk that a worker of the endpoint may fill. */
export function diskOf({ containerDiskInGb = 0 }: Requirement): number {
  return containerDiskInGb * MEGABYTES_PER_GB;
}

export function fitOf(room: HostRoom, wanted: Requirement, ask: Ask): Fit {
  const gpus = ask.kind === "gpu" ? room.gpusOf(ask.tier, wanted.excludedGpuModels) : [];
  const size = sizeOf(room, wanted, ask);
  const misfit = neverFits(room, wanted, { ask, gpus, size }) ?? notNow(room);
  if (misfit) return { kind: "misfit", misfit };

  const count = ask.kind === "gpu" ? wanted.gpuCount : 0;
  const free = gpus.filter((gpu) => room.isFree(gpu)).slice(0, count);
  if (free.length < count || !holds(room.free, size)) {
    return { kind: "misfit", misfit: isDiskShort(room, size) ? "disk" : "taken" };
  }
  return { kind: "fits", gpuIndexes: free.map(({ index }) => index), size };
}

type Need = { readonly ask: Ask; readonly gpus: readonly Gpu[]; readonly size: Size };

/** What would be in the way if the host had no workers. */
function neverFits(room: HostRoom, wanted: Requirement, { ask, gpus, size }: Need): Misfit | undefined {
  if (ask.kind === "gpu" && gpus.length === 0) return "no_gpu";
  if (ask.kind === "gpu" && gpus.length < wanted.gpuCount) return "few_gpus";
  if (!room.isIn(wanted.locations)) return "location";
  if (ask.kind === "gpu" && !hasCuda(room.host.cudaVersion, wanted)) return "cuda";
  if (!hasVolume(room.host.networkVolumeIds, wanted.networkVolumeIds)) return "volume";
  if (size.cpuMilli > room.whole.cpuMilli || size.memoryMb > room.whole.memoryMb) return "small";
  return size.diskMb > room.whole.diskMb ? "disk" : undefined;
}

function notNow({ host, isFull }: HostRoom): Misfit | undefined {
  if (host.isDrained) return "drained";
  if (host.isCordoned) return "cordoned";
  return isFull ? "taken" : undefined;
}

function sizeOf(room: HostRoom, wanted: Requirement, ask: Ask): Size {
  const { cpuMilli, memoryMb } = ask.kind === "cpu" ? ask : room.shareOf(wanted.gpuCount);
  return { cpuMilli, memoryMb, diskMb: diskOf(wanted) };
}

function holds(free: Size, size: Size): boolean {
  return size.cpuMilli <= free.cpuMilli && size.memoryMb <= free.memoryMb && size.diskMb <= free.diskMb;
}

/** All else would fit. */
function isDiskShort({ free }: HostRoom, size: Size): boolean {
  return size.diskMb > free.diskMb && holds(free, { ...size, diskMb: free.diskMb });
}

/** A host that does not say what it has may have anything. */
function hasVolume(present: readonly string[] | undefined, wanted: readonly string[] = []): boolean {
  return present === undefined || wanted.length === 0 || wanted.some((id) => present.includes(id));
}

function hasCuda(version: string | undefined, wanted: Requirement): boolean {
  if (version === undefined) return true;
  const { allowedCudaVersions: allowed = [], minCudaVersion: least } = wanted;
  if (allowed.length > 0 && !allowed.includes(version)) return false;
  return !least || rankOf(version) >= rankOf(least);
}

function rankOf(version: string): number {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major * 1_000 + minor;
}
