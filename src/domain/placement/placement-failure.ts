/** Why a wanted worker has no place: what was looked for, and how near the nearest host comes. */
import type { Gpu } from "../../contract/agent/agent.ts";
import type { HostCapacity } from "./host-capacity.ts";
import {
  resourceRequests,
  diskOf,
  fitOf,
  needsGpus,
  MISFITS,
  type ResourceRequest,
  type Misfit,
  type Requirement,
} from "./host-fit.ts";
import type { PlacementFailure } from "./host-pool.ts";

type Miss = { readonly capacity: HostCapacity; readonly request: ResourceRequest; readonly misfit: Misfit };

const NAMES_MAX = 3;
const NO_HOST = "No host of this account is connected. Join one (joinTokenCreate), or start its agent.";

/**
 * To be called only for a worker that does not fit on any host. `isTaken`: it would fit one whose capacity others have.
 */
export function explainPlacementFailure(
  requirement: Requirement,
  capacities: readonly HostCapacity[],
): PlacementFailure & { readonly isTaken: boolean } {
  if (capacities.length === 0) return { reason: "no_host", detail: NO_HOST, isTaken: false };
  const nearest = nearestMisses(requirement, capacities);
  const isAway = nearest.some(({ misfit }) => misfit === "other_host");
  const reason = needsGpus(requirement) && !isAway ? "no_matching_gpu" : "no_host";
  const isTaken = nearest.some(({ misfit }) => misfit === "taken");
  return { reason, detail: describeMisses(requirement, capacities, nearest), isTaken };
}

/** What the hosts that come nearest lack; of one host the way that comes nearest. */
function nearestMisses(requirement: Requirement, capacities: readonly HostCapacity[]): readonly Miss[] {
  const asks = resourceRequests(requirement);
  let nearest: Miss[] = [];
  let best = -1;
  for (const capacity of capacities) {
    for (const request of asks) {
      const fit = fitOf(capacity, requirement, request);
      if (fit.kind === "fits") continue;
      const rank = MISFITS.indexOf(fit.misfit);
      if (rank > best) nearest = [];
      best = Math.max(best, rank);
      if (rank === best) nearest.push({ capacity, request, misfit: fit.misfit });
    }
  }
  return nearest;
}

function describeMisses(
  requirement: Requirement,
  capacities: readonly HostCapacity[],
  misses: readonly Miss[],
): string {
  const [first] = misses;
  if (!first) return "No host had capacity a moment ago; Edgerun is looking for one again.";
  const hosts = [...new Set(misses.map(({ capacity }) => capacity))];
  switch (first.misfit) {
    case "other_host":
      return AWAY;
    case "no_pods":
      return `${nameHosts(hosts)} ${hosts.length === 1 ? "has an agent that runs" : "have agents that run"} no pods. ${UPGRADE}`;
    case "no_address":
      return `${nameHosts(hosts)} ${has(hosts)} no public address. ${PUBLISH}`;
    case "no_network":
      return `From ${nameHosts(hosts)} the other pods of its cluster are not reached. ${LINK}`;
    case "no_gpu":
      return describeNoGpu(requirement, capacities);
    case "few_gpus":
      return describeFewGpus(requirement, hosts);
    case "gpu_memory":
      return describeGpuMemory(requirement, hosts);
    case "location":
      return `No host ${having(requirement)}is in ${list(requirement.locations, "or")}; ${describeLocations(hosts)}. ${requirement.pod ? MOVE_POD : MOVE}`;
    case "cuda":
      return `${nameHosts(hosts)} ${has(hosts)} CUDA ${list(cudaVersions(hosts), "and")}; ${describeCuda(requirement)}. ${RELAX}`;
    case "volume":
      return `Network volume ${list(requirement.networkVolumeIds ?? [], "or")} is not there: ${nameHosts(hosts)} ${has(hosts)} others or none. ${ATTACH}`;
    case "small":
      return `${describeLargest(hosts)}; ${describeSize(first)} are asked for. Ask for less, or join a larger host.`;
    case "disk":
      return `${describeMostDisk(hosts)}; ${gb(diskOf(requirement))} are asked for. Free some of it, or lower ${diskFieldsOf(requirement)}.`;
    case "drained":
    case "cordoned":
      return `${nameHosts(hosts)} ${hosts.length === 1 ? "is" : "are"} ${first.misfit}. Lift that (hostUpdate), or join a host.`;
    case "taken":
      return describeTaken(requirement, hosts, first);
  }
}

const AWAY =
  "The host that the pod is on, or that has its volume, is not connected. Start its agent, or make another pod.";
const UPGRADE = "On a host with Docker, run: sudo edgerun-agent upgrade";
const PUBLISH = "Ask for none (supportPublicIp), or give a host one.";
const LINK = "Give all hosts an address for clusters (--cluster-address), or make the cluster again.";
const MOVE = "Allow one of these places in locations, or join a host there.";
/** Each API that makes pods has its own names for these. */
const MOVE_POD = "Allow one of these countries or data centers, or join a host there.";
const RELAX = "Allow another version, or update the driver.";
const ATTACH = "Use another volume, or join a host that has it.";

function describeNoGpu(requirement: Requirement, capacities: readonly HostCapacity[]): string {
  const { excludedGpuModels, pod } = requirement;
  const gpus = capacities.flatMap(({ host }) => host.gpus);
  const offered = [
    ...new Set(
      gpus.flatMap(({ name, tier, migUuid }) =>
        tier === null
          ? []
          : migUuid
            ? `${tier} in parts (MIG), for workers with gpuMemoryGb`
            : pod
              ? name
              : tier,
      ),
    ),
  ].toSorted();
  const hosts = capacities.length === 1 ? "the connected host" : `the ${capacities.length} connected hosts`;
  const without = excludedGpuModels.length > 0 ? ` without ${list(excludedGpuModels, "and")}` : "";
  const offer = offered.length > 0 ? offered.join(", ") : "no GPU of a known tier";
  const advice = pod ? "Name a model that is there" : "Add a tier that is there to gpuIds";
  return (
    `${asksFor(requirement)} ${gpuNames(requirement).join(", ")}${without}, and ${hosts} can give ${offer}. ` +
    `${advice}, or join a host that has one of these.`
  );
}

function describeFewGpus(requirement: Requirement, hosts: readonly HostCapacity[]): string {
  const most = Math.max(
    ...hosts.flatMap((capacity) =>
      resourceRequests(requirement).map((request) => gpusFor(capacity, requirement, request).length),
    ),
  );
  return (
    `${asksFor(requirement)} ${requirement.gpuCount} GPUs of ${list(gpuNames(requirement), "or")} on one host; ` +
    `no host has more than ${most}. Lower gpuCount, or join a larger host.`
  );
}

function describeGpuMemory(requirement: Requirement, hosts: readonly HostCapacity[]): string {
  const gpus = usableGpus(requirement, hosts);
  const most = Math.max(...gpus.map(({ gpu }) => gpu.memoryMb));
  return (
    `${asksFor(requirement)} ${requirement.gpuMemoryGb} GB of the memory of one GPU of ${list(gpuNames(requirement), "or")}; ` +
    `no GPU has more than ${gpuGb(most)}. Lower gpuMemoryGb, or join a host with larger GPUs.`
  );
}

/** The GPUs of the hosts that would do if they were free, and their hosts. */
function usableGpus(requirement: Requirement, hosts: readonly HostCapacity[]) {
  const requests = resourceRequests(requirement);
  return hosts.flatMap((capacity) => {
    const usable = new Set(requests.flatMap((each) => gpusFor(capacity, requirement, each)));
    return [...usable].map((gpu) => ({ capacity, gpu }));
  });
}

function describeTaken(requirement: Requirement, hosts: readonly HostCapacity[], { request }: Miss): string {
  const wait = "Wait for other workers to leave, or join a host.";
  if (request.kind === "cpu") {
    const vcpus = Math.max(...hosts.map(({ free }) => free.cpuMilli)) / 1_000;
    const memory = Math.max(...hosts.map(({ free }) => free.memoryMb));
    const free = `at most ${round(vcpus)} vCPUs and ${gb(memory)} of memory free`;
    return `${nameHosts(hosts)} ${has(hosts)} ${free}; ${describeResources(request)} are asked for. ${wait}`;
  }
  const requests = resourceRequests(requirement).filter((each) =>
    hosts.some((capacity) => gpusFor(capacity, requirement, each).length > 0),
  );
  const gpus = usableGpus(requirement, hosts);
  const free = gpus.filter(({ capacity, gpu }) => capacity.fitsOn(gpu, request)).length;
  const subject = `${nameHosts(hosts)} ${has(hosts)} ${list(requests.flatMap(gpuName), "and")}`;
  if (free === 0 && request.gpuMemoryMb !== undefined) {
    const most = Math.max(0, ...gpus.map(({ capacity, gpu }) => capacity.freeGpuMemoryOf(gpu)));
    return `${subject}, but no GPU has ${requirement.gpuMemoryGb} GB of its memory left for another worker; the most is ${gpuGb(most)}. ${wait}`;
  }
  if (free === 0) {
    const all = gpus.length === 1 ? "the only GPU is" : `all ${gpus.length} GPUs are`;
    return `${subject}, but ${all} taken. ${wait}`;
  }
  return (
    `${subject}, and ${free} of ${gpus.length} GPUs ${free === 1 ? "is" : "are"} free, but no host has capacity for ` +
    `${request.gpuMemoryMb === undefined ? requirement.gpuCount : `${requirement.gpuMemoryGb} GB of one`} with the vCPUs, memory and disk that go with them. ${wait}`
  );
}

// Words

function nameHosts(hosts: readonly HostCapacity[]): string {
  const names = hosts.map(({ host }) => host.name || host.hostId);
  if (names.length === 1) return `Host ${names[0]}`;
  if (names.length > NAMES_MAX) return `${names.length} hosts`;
  return `${names.length} hosts (${list(names, "and")})`;
}

function has(hosts: readonly HostCapacity[]): string {
  return hosts.length === 1 ? "has" : "have";
}

function having(requirement: Requirement): string {
  return needsGpus(requirement) ? `with ${list(gpuNames(requirement), "or")} ` : "";
}

function asksFor({ pod }: Requirement): string {
  return `The ${pod ? "pod" : "endpoint"} asks for`;
}

/** The tiers or models of the GPUs that it asks for. */
function gpuNames(requirement: Requirement): readonly string[] {
  return resourceRequests(requirement).flatMap(gpuName);
}

function gpuName(request: ResourceRequest): readonly string[] {
  return request.kind === "gpu" ? [request.model ?? request.tier] : [];
}

function describeLocations(hosts: readonly HostCapacity[]): string {
  const places = [
    ...new Set(hosts.map((capacity) => `${capacity.countryCode} (${capacity.dataCenterId})`)),
  ].toSorted();
  const subject = hosts.length === 1 ? "the one that would do is" : "those that would do are";
  return `${subject} in ${list(places, "and")}`;
}

function cudaVersions(hosts: readonly HostCapacity[]): readonly string[] {
  return [...new Set(hosts.map(({ host }) => host.cudaVersion ?? "unknown"))].toSorted();
}

function describeCuda({ allowedCudaVersions = [], minCudaVersion }: Requirement): string {
  const allowed = allowedCudaVersions.length > 0 ? [list(allowedCudaVersions, "or")] : [];
  return `${[...allowed, ...(minCudaVersion ? [`${minCudaVersion} or later`] : [])].join(", ")} is asked for`;
}

function describeLargest(hosts: readonly HostCapacity[]): string {
  const [largest] = hosts.toSorted((a, b) => b.total.cpuMilli - a.total.cpuMilli);
  if (!largest) return "";
  const { cpuMilli, memoryMb } = largest.total;
  return `${nameHosts([largest])} has ${round(cpuMilli / 1_000)} vCPUs and ${gb(memoryMb)} of memory`;
}

function describeSize({ request }: Miss): string {
  return request.kind === "cpu" ? describeResources(request) : "more vCPUs or memory";
}

function describeResources({
  cpuMilli,
  memoryMb,
}: {
  readonly cpuMilli: number;
  readonly memoryMb: number;
}): string {
  return `${round(cpuMilli / 1_000)} vCPUs and ${gb(memoryMb)}`;
}

function diskFieldsOf({ pod }: Requirement): string {
  return pod && pod.newVolumeMb > 0 ? "containerDiskInGb or volumeInGb" : "containerDiskInGb";
}

function describeMostDisk(hosts: readonly HostCapacity[]): string {
  const [most] = hosts.toSorted((a, b) => b.free.diskMb - a.free.diskMb);
  if (!most) return "";
  const others = hosts.length > 1 ? ", the most of all" : "";
  return `${nameHosts([most])} has ${gb(Math.max(0, most.free.diskMb))} of disk free${others}`;
}

function gpusFor(
  capacity: HostCapacity,
  { excludedGpuModels }: Requirement,
  request: ResourceRequest,
): readonly Gpu[] {
  return request.kind === "gpu" ? capacity.gpusOf(request, excludedGpuModels) : [];
}

/** Memory of GPUs, of which MiB are counted. */
function gpuGb(mebibytes: number): string {
  return gb((mebibytes * 2 ** 20) / 1e6);
}

function gb(megabytes: number): string {
  return `${Math.floor(megabytes / 100) / 10} GB`;
}

function round(value: number): number {
  return Math.floor(value * 10) / 10;
}

function list(items: readonly string[], last: "and" | "or"): string {
  if (items.length < 2) return items.join("");
  return `${items.slice(0, -1).join(", ")} ${last} ${items.at(-1)}`;
}
