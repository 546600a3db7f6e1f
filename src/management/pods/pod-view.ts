/** A pod as users see it. */
import { findDataCenter } from "../../catalog/data-centers.ts";
import { findGpuCard } from "../../catalog/gpu-cards.ts";
import { readCpuInstance } from "../../catalog/cpu-flavors.ts";
import type { PublishedPort } from "../../contract/agent/agent.ts";
import type { StopReason } from "../../domain/pods/pod-life.ts";
import type { PodView } from "../../fleet/messages.ts";
import { cpuPrice, gpuPrice, roundPrice } from "../../domain/costs/nominal-prices.ts";
import { readGpuPrices } from "../catalog/prices.ts";
import type { RequestContext } from "../context.ts";
import { describeChange, startOf } from "../endpoints/worker-pods.ts";
import { GPU_SHARE_DEFAULT } from "../nouns/compute.ts";
import { portsOf } from "../nouns/pod.ts";
import type { Pod, PodRecord } from "./pods.ts";

const MEGABYTES_PER_GB = 1_000;
/** Clients take the address of a port that is not public for that of the container itself. */
const OWN_ADDRESS = "127.0.0.1";
/** Stands in the list of ports where a pod has no HTTP port of its own. */
const PLACEHOLDER_PORT = 19_123;

/** A port as it is reached. */
export type ShownPort = {
  readonly ip: string;
  readonly isIpPublic: boolean;
  readonly privatePort: number;
  readonly publicPort: number;
  readonly type: "http" | "tcp";
};

export function showPod({ env, now }: Pick<RequestContext, "env" | "now">, { record, view }: Pod) {
  const { worker, host } = view;
  const startedAt = worker && isUp(view) ? startOf(worker) : null;
  const uptimeSeconds = startedAt === null ? 0 : Math.max(0, Math.floor((now - startedAt) / 1_000));
  const { id, name, imageName, dockerArgs, containerDiskInGb, volumeInGb, volumeMountPath, ports } = record;
  const { templateId, networkVolumeId, containerRegistryAuthId, version, stopAfter, terminateAfter } = record;
  return {
    ...{ id, name, imageName, dockerArgs, containerDiskInGb, volumeInGb, volumeMountPath, ports },
    ...{ templateId, networkVolumeId, containerRegistryAuthId, version, stopAfter, terminateAfter },
    clusterId: record.clusterId,
    clusterIdx: record.clusterRank,
    clusterIp: view.clusterAddress,
    podType: record.isInterruptible ? ("INTERRUPTABLE" as const) : ("RESERVED" as const),
    desiredStatus: view.desired === "running" ? ("RUNNING" as const) : ("EXITED" as const),
    env: record.env.map(({ key, value }) => `${key}=${value}`),
    imageDigest: worker?.imageDigest ?? null,
    ...sizeOf(record, view),
    costPerHr: costOf(record, view, env.GPU_PRICES),
    machineId: host?.hostId ?? "",
    machine: machineOf(record, view),
    dataCenterId: host?.dataCenterId ?? null,
    lastStartedAt: startedAt === null ? null : new Date(startedAt).toISOString(),
    lastStatusChange: describe(view) + lackOfNetwork(record, view),
    uptimeSeconds,
    runtime: isUp(view) ? runtimeOf(record, view, uptimeSeconds) : null,
  };
}
export type ShownPod = ReturnType<typeof showPod>;

/** Whether its container runs, as far as its host says. An unhealthy pod has none: something that it needs is missing. */
export function isUp({ desired, worker }: PodView): boolean {
  return desired === "running" && worker?.state === "ready";
}

/** What it may use, or gets at least where nothing limits it. Whole numbers, as some clients decode nothing else. */
function sizeOf(record: PodRecord, { worker }: PodView) {
  const { gpuCount } = record;
  if (!worker?.limits) return { gpuCount, ...leastOf(record) };
  const { cpuMilli, memoryMb } = worker.limits;
  const vcpuCount = Math.max(1, Math.floor(cpuMilli / 1_000));
  return { gpuCount, vcpuCount, memoryInGb: Math.max(1, Math.floor(memoryMb / MEGABYTES_PER_GB)) };
}

function leastOf({ instanceIds: [instanceId], gpuCount, minVcpuCount, minMemoryInGb }: PodRecord) {
  const reading = instanceId === undefined ? undefined : readCpuInstance(instanceId);
  if (reading?.kind === "instance")
    return { vcpuCount: reading.instance.vcpus, memoryInGb: reading.instance.memoryGb };
  return {
    vcpuCount: minVcpuCount || gpuCount * GPU_SHARE_DEFAULT.vcpus,
    memoryInGb: minMemoryInGb || gpuCount * GPU_SHARE_DEFAULT.memoryGb,
  };
}

/** Dollars per hour, by the prices of the catalog. */
function costOf(record: PodRecord, { worker }: PodView, gpuPrices: string | undefined): number {
  const [instanceId] = record.instanceIds;
  if (instanceId !== undefined) {
    const reading = readCpuInstance(instanceId);
    return reading.kind === "instance" ? cpuPrice(reading.instance.vcpus) : 0;
  }
  const [model = ""] = record.gpuTypeIds;
  const prices = readGpuPrices(gpuPrices);
  const models = worker?.gpuModels ?? Array.from({ length: record.gpuCount }, () => model);
  const costs = models.map((name) => {
    const card = findGpuCard(name);
    return card === undefined ? 0 : gpuPrice(card, prices);
  });
  return roundPrice(costs.reduce((sum, cost) => sum + cost, 0));
}

/** A pod without a place shows the card that it would rather have. */
function machineOf(record: PodRecord, { podId, host, worker }: PodView) {
  const model = worker?.gpuModels[0] ?? record.gpuTypeIds[0];
  return {
    podHostId: host === null ? "" : `${podId}-${host.hostId.slice(0, 8)}`,
    gpuTypeId: model ?? null,
    gpuDisplayName: model === undefined ? null : (findGpuCard(model)?.displayName ?? model),
    isGpuSimulated: worker?.isGpuSimulated ?? false,
    location: host === null ? null : (findDataCenter(host.dataCenterId)?.countryCode ?? null),
  };
}

function runtimeOf(record: PodRecord, view: PodView, uptimeInSeconds: number) {
  const { cpuPercent, memoryPercent, gpuUse } = view;
  const gpus = (view.worker?.gpuModels ?? []).map((_, index) => ({
    id: `${index}`,
    gpuUtilPercent: gpuUse[index]?.utilPercent ?? null,
    memoryUtilPercent: gpuUse[index]?.memoryPercent ?? null,
  }));
  return { uptimeInSeconds, ports: showPorts(record, view), gpus, container: { cpuPercent, memoryPercent } };
}

function showPorts(record: PodRecord, { ports, host }: PodView): readonly ShownPort[] {
  const ip = host?.publicAddress ?? null;
  const published = ip === null ? [] : ports;
  const http = portsOf(record).filter(({ protocol }) => protocol === "http");
  const inside = http.length > 0 ? http.map(({ port }) => port) : [PLACEHOLDER_PORT];
  return [
    ...published.map((port) => showPublished(port, ip ?? "")),
    ...inside.map((port) => ({
      ip: OWN_ADDRESS,
      isIpPublic: false,
      privatePort: port,
      publicPort: port,
      type: "http" as const,
    })),
  ];
}

function showPublished(port: PublishedPort, ip: string): ShownPort {
  return { ip, isIpPublic: true, privatePort: port.private, publicPort: port.public, type: "tcp" };
}

/** Said of a pod that its peers do not reach. */
function lackOfNetwork({ clusterId }: PodRecord, { clusterAddress, desired }: PodView): string {
  if (clusterId === null || clusterAddress !== null || desired === "stopped") return "";
  return ". It has no private address: when its cluster was made, no host that separates its containers had places for all pods, and not all hosts had an address for clusters (--cluster-address). Agents with --allow-open-network give none";
}

const STOPPED: Record<StopReason, string> = {
  stopped: "Stopped",
  stop_time: "Stopped, as its stopAfter asked,",
  preempted: "Preempted, since its capacity was needed,",
  host_removed: "Stopped, as its host was removed and its local volume with it,",
};

/** What happened last, and when. */
function describe({ desired, stopReason, changedAt, worker, host, waiting }: PodView): string {
  if (desired === "stopped") return `${STOPPED[stopReason ?? "stopped"]} at ${timeOf(changedAt)}`;
  if (host && !host.isPresent) {
    const since = host.lastSeenAt === null ? "" : ` since ${timeOf(host.lastSeenAt)}`;
    return `Host '${host.name}' has been away${since}. The pod goes on when it returns; a pod without a local volume can be stopped and started to move it.`;
  }
  if (worker === null) {
    const reason = waiting === null ? "" : `: ${waiting.detail}`;
    return `Waiting for a place since ${timeOf(changedAt)}${reason}`;
  }
  return describeChange(worker);
}

function timeOf(at: number): string {
  return new Date(at).toISOString();
}
