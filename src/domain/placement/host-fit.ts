/** Whether a worker fits a host, and what prevents it if not. */
import { compareCudaVersions } from "./cuda-version.ts";
import type { Gpu } from "../../contract/agent/agent.ts";
import { readCpuInstance } from "../../catalog/cpu-flavors.ts";
import { findGpuCard } from "../../catalog/gpu-cards.ts";
import type { EndpointConfig } from "../../contract/endpoint.ts";
import { gpuMemoryMbOf, partOf } from "./gpu-memory.ts";
import type { GpuRequest, HostCapacity, Size } from "./host-capacity.ts";

export type Requirement = Pick<
  EndpointConfig,
  | "gpuTiers"
  | "excludedGpuModels"
  | "gpuCount"
  | "gpuMemoryGb"
  | "locations"
  | "instanceIds"
  | "containerDiskInGb"
  | "networkVolumeIds"
  | "allowedCudaVersions"
  | "minCudaVersion"
  | "contents"
> & {
  /** Only pods have these. */
  readonly pod?: PodRequirement | undefined;
};

export type PodRequirement = {
  /** Models of GPUs in order of preference, in place of tiers. */
  readonly gpuModels: readonly string[];
  /** What it needs where the share that goes with its GPUs is less. */
  readonly minMemoryMb: number;
  readonly minCpuMilli: number;
  /** Disk of a volume that is not on its host yet. */
  readonly newVolumeMb: number;
  /** The only host that will do, such as the one that has its volume; null for any. */
  readonly hostId: string | null;
  readonly needsPublicAddress: boolean;
  /** Hosts on which it reaches the other pods of its cluster; absent for any. */
  readonly clusterHosts?: readonly string[];
};

/** One of the sets of resources with which a worker of the endpoint can run. */
export type ResourceRequest =
  | ({ readonly kind: "gpu" } & GpuRequest)
  | { readonly kind: "cpu"; readonly cpuMilli: number; readonly memoryMb: number };

/** What prevents a fit; later in this list, more of the host is right. */
export const MISFITS = [
  "other_host",
  "no_gpu",
  "few_gpus",
  "gpu_memory",
  "no_pods",
  "no_address",
  "no_network",
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

/** The ways in which a worker can be had, in order of preference. Of a model that is no card of a tier there are none. */
export function resourceRequests(requirement: Requirement): readonly ResourceRequest[] {
  const { gpuTiers, instanceIds = [], pod } = requirement;
  if (pod && pod.gpuModels.length > 0) {
    return pod.gpuModels.map((model) => ({ kind: "gpu", tier: findGpuCard(model)?.tier ?? "", model }));
  }
  const gpuMemoryMb = gpuMemoryMbOf(requirement);
  const declared = gpuMemoryMb === undefined ? {} : { gpuMemoryMb };
  if (gpuTiers.length > 0) return gpuTiers.map((tier) => ({ kind: "gpu", tier, ...declared }));
  const sizes = instanceIds.flatMap((id): ResourceRequest[] => {
    const reading = readCpuInstance(id);
    if (reading.kind === "refused") return [];
    const { vcpus, memoryGb } = reading.instance;
    return [{ kind: "cpu", cpuMilli: vcpus * 1_000, memoryMb: memoryGb * MEGABYTES_PER_GB }];
  });
  return sizes.length > 0 ? sizes : [{ kind: "cpu", cpuMilli: 0, memoryMb: 0 }];
}

/** Whether it asks for GPUs. */
export function needsGpus({ gpuTiers, pod }: Requirement): boolean {
  return gpuTiers.length > 0 || (pod?.gpuModels.length ?? 0) > 0;
}

/** MB of disk that a worker may fill. */
export function diskOf({ containerDiskInGb = 0, pod }: Requirement): number {
  return containerDiskInGb * MEGABYTES_PER_GB + (pod?.newVolumeMb ?? 0);
}

export function fitOf(capacity: HostCapacity, requirement: Requirement, request: ResourceRequest): Fit {
  const gpus = request.kind === "gpu" ? capacity.gpusOf(request, requirement.excludedGpuModels) : [];
  const free = freeGpus(capacity, requirement, { request, gpus });
  const size = sizeOf(capacity, requirement, request, free[0] ?? gpus[0]);
  const misfit =
    permanentMisfit(capacity, requirement, { request, gpus, size }) ?? temporaryMisfit(capacity, requirement);
  if (misfit) return { kind: "misfit", misfit };

  const count = request.kind === "gpu" ? requirement.gpuCount : 0;
  if (free.length < count || !contains(capacity.free, size)) {
    return { kind: "misfit", misfit: lacksDisk(capacity, size) ? "disk" : "taken" };
  }
  return { kind: "fits", gpuIndexes: free.map(({ index }) => index), size };
}

/** As many as the worker asks for, or those that there are. */
function freeGpus(
  capacity: HostCapacity,
  { gpuCount }: Requirement,
  { request, gpus }: Omit<Need, "size">,
): readonly Gpu[] {
  if (request.kind === "cpu") return [];
  const { gpuMemoryMb } = request;
  return gpus.filter((gpu) => capacity.fitsOn(gpu, { gpuMemoryMb })).slice(0, gpuCount);
}

/** Whether a worker that has this of the host meets the requirement where it is, so that it can stay as it is. */
export function isSuited(
  capacity: HostCapacity,
  requirement: Requirement,
  { gpuIndexes, size }: { readonly gpuIndexes: readonly number[]; readonly size: Size },
): boolean {
  return resourceRequests(requirement).some((request) => {
    const isGpu = request.kind === "gpu";
    const gpus = isGpu ? capacity.gpusOf(request, requirement.excludedGpuModels) : [];
    const own = gpus.filter(({ index }) => gpuIndexes.includes(index));
    const needed = sizeOf(capacity, requirement, request, own[0]);
    if (permanentMisfit(capacity, requirement, { request, gpus, size: needed })) return false;
    const hasGpus =
      gpuIndexes.length === (isGpu ? requirement.gpuCount : 0) && own.length === gpuIndexes.length;
    // GPUs come with at least their share; a CPU size and declared memory are exact.
    const isExact = size.gpuMemoryMb === needed.gpuMemoryMb && (isGpu || contains(needed, size));
    return hasGpus && contains(size, needed) && isExact;
  });
}

type Need = { readonly request: ResourceRequest; readonly gpus: readonly Gpu[]; readonly size: Size };

/** What would be in the way if the host had no workers. */
function permanentMisfit(
  capacity: HostCapacity,
  requirement: Requirement,
  { request, gpus, size }: Need,
): Misfit | undefined {
  const { pod } = requirement;
  if (pod && pod.hostId !== null && pod.hostId !== capacity.host.hostId) return "other_host";
  if (request.kind === "gpu" && gpus.length === 0) return "no_gpu";
  if (request.kind === "gpu" && gpus.length < requirement.gpuCount) return "few_gpus";
  if (request.kind === "gpu" && !gpus.some(({ memoryMb }) => memoryMb >= (request.gpuMemoryMb ?? 0)))
    return "gpu_memory";
  if (pod && !capacity.host.canRunPods) return "no_pods";
  if (pod?.needsPublicAddress && !capacity.host.hasPublicAddress) return "no_address";
  if (pod?.clusterHosts && !pod.clusterHosts.includes(capacity.host.hostId)) return "no_network";
  if (!capacity.isIn(requirement.locations)) return "location";
  if (request.kind === "gpu" && !hasCuda(capacity.host.cudaVersion, requirement)) return "cuda";
  if (!hasVolume(capacity.host.networkVolumeIds, requirement.networkVolumeIds)) return "volume";
  if (size.cpuMilli > capacity.total.cpuMilli || size.memoryMb > capacity.total.memoryMb) return "small";
  return size.diskMb > capacity.total.diskMb ? "disk" : undefined;
}

function temporaryMisfit(capacity: HostCapacity, { pod }: Requirement): Misfit | undefined {
  if (capacity.host.isDrained) return "drained";
  if (capacity.host.isCordoned) return "cordoned";
  const needsVolume = pod !== undefined && pod.newVolumeMb > 0;
  return capacity.isFull || (needsVolume && capacity.isFullOfVolumes) ? "taken" : undefined;
}

/** With a part of a card, `card`, goes that part of what goes with a whole one. */
function sizeOf(
  capacity: HostCapacity,
  requirement: Requirement,
  request: ResourceRequest,
  card: Gpu | undefined,
): Size {
  const { cpuMilli, memoryMb } =
    request.kind === "cpu"
      ? request
      : capacity.shareOf(requirement.gpuCount * partOf(request.gpuMemoryMb, card?.memoryMb ?? 0));
  const { minCpuMilli = 0, minMemoryMb = 0 } = requirement.pod ?? {};
  const gpuMemoryMb = request.kind === "gpu" ? request.gpuMemoryMb : undefined;
  return {
    cpuMilli: Math.max(cpuMilli, minCpuMilli),
    memoryMb: Math.max(memoryMb, minMemoryMb),
    diskMb: diskOf(requirement),
    ...(gpuMemoryMb !== undefined && { gpuMemoryMb }),
  };
}

function contains(free: Size, size: Size): boolean {
  return size.cpuMilli <= free.cpuMilli && size.memoryMb <= free.memoryMb && size.diskMb <= free.diskMb;
}

/** All else would fit. */
function lacksDisk({ free }: HostCapacity, size: Size): boolean {
  return size.diskMb > free.diskMb && contains(free, { ...size, diskMb: free.diskMb });
}

/** A host that does not say what it has may have anything. */
function hasVolume(present: readonly string[] | undefined, required: readonly string[] = []): boolean {
  return present === undefined || required.length === 0 || required.some((id) => present.includes(id));
}

function hasCuda(version: string | undefined, requirement: Requirement): boolean {
  if (version === undefined) return true;
  const { allowedCudaVersions: allowed = [], minCudaVersion: least } = requirement;
  if (allowed.length > 0 && !allowed.includes(version)) return false;
  return !least || compareCudaVersions(version, least) >= 0;
}
