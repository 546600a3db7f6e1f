/** Bodies of requests that create or change a pod, and pods as REST v1 shows them. */
import { CPU_FLAVORS, instanceIdOf } from "../../catalog/cpu-flavors.ts";
import { findGpuCard, GPU_TIER_NAMES, GPU_TIERS, type GpuTier } from "../../catalog/gpu-cards.ts";
import { ServiceError } from "../../contract/errors.ts";
import type { RestPod } from "../../contract/rest/rest-pod.ts";
import { readStartCommand, writeStartCommand } from "../../management/endpoints/start-command.ts";
import type { NetworkVolumeRecord } from "../../management/endpoints/volumes.ts";
import type { RequestContext } from "../../management/context.ts";
import { GPU_SHARE_DEFAULT, VCPU_COUNT_DEFAULT } from "../../management/nouns/compute.ts";
import { fromRest, restNames, toRest, valueAt } from "../../management/nouns/field.ts";
import {
  podCreationFields,
  podCreationSchema,
  podFields,
  podPatchSchema,
  type PodCreateBody,
  type PodCreation,
  type PodPatch,
  type PodUpdateBody,
} from "../../management/nouns/pod.ts";
import { showPod, type ShownPod, type ShownPort } from "../../management/pods/pod-view.ts";
import type { Pod } from "../../management/pods/pods.ts";
import { parsePatch } from "./patch.ts";
import { gpuPriceList } from "./worker-pod.ts";

/** GB of the volume of a GPU pod that sets none. */
const VOLUME_DEFAULT_GB = 20;

const RENAMED = { gpuTypeIds: "gpuTypeIds", isInterruptible: "interruptible", instanceIds: "cpuFlavorIds" };

/** What a body asks for. A template takes the place of the defaults. */
export function creationOf(body: PodCreateBody): PodCreation {
  const { templateId, computeType, gpuTypeIds, cpuFlavorIds, gpuCount = null } = body;
  const isCpu = computeType ? computeType === "CPU" : !gpuTypeIds?.length && Boolean(cpuFlavorIds?.length);
  const fields = fromRest(podCreationFields, body, templateId ? "update" : "creation");
  const gpus = isCpu ? 0 : (gpuCount ?? 1);
  const creation = {
    ...fields,
    ...startOf(body),
    ...(!isCpu && !templateId && { volumeInGb: fields["volumeInGb"] ?? VOLUME_DEFAULT_GB }),
    templateId,
    gpuTypeIds: isCpu ? [] : modelsOf(gpuTypeIds ?? []),
    gpuCount: isCpu ? undefined : gpuCount,
    instanceIds: isCpu ? instanceIds(cpuFlavorIds ?? [], body.vcpuCount ?? VCPU_COUNT_DEFAULT) : [],
    minVcpuCount: (body.minVCPUPerGPU ?? GPU_SHARE_DEFAULT.vcpus) * gpus,
    minMemoryInGb: (body.minRAMPerGPU ?? GPU_SHARE_DEFAULT.memoryGb) * gpus,
    dataCenterIds: body.dataCenterIds,
    countryCodes: body.countryCodes,
    allowedCudaVersions: body.allowedCudaVersions,
    minCudaVersion: body.minCudaVersion,
    supportPublicIp: body.supportPublicIp,
    isInterruptible: body.interruptible,
    startSsh: body.startSsh,
    startJupyter: body.startJupyter,
  };
  return parsePatch(podCreationSchema, creation, { ...restNames(podCreationFields), ...RENAMED });
}

export function patchOf(body: PodUpdateBody, pod: Pod): PodPatch {
  refuseFixed(body, pod);
  const { record: stored } = pod;
  const patch = { ...fromRest(podFields, body, "update"), ...startOf(body, stored.dockerArgs) };
  return parsePatch(podPatchSchema, patch, restNames(podFields));
}

/** What a pod has of the settings that cannot be changed; of several values any may have been read. */
const FIXED: ReadonlyMap<string, (pod: Pod) => readonly unknown[]> = new Map([
  ["image", ({ record }) => [record.imageName]],
  ["templateId", ({ record }) => [record.templateId]],
  ["networkVolumeId", ({ record }) => [record.networkVolumeId]],
  ["interruptible", ({ record }) => [record.isInterruptible]],
  ["computeType", ({ record }) => [record.instanceIds.length === 0 ? "GPU" : "CPU"]],
  ["gpuCount", ({ record }) => [record.gpuCount]],
  ["gpu.count", ({ record }) => [record.gpuCount]],
  ["gpuTypeId", modelsOfPod],
  ["gpu.id", modelsOfPod],
  ["cpuFlavorId", ({ record }) => record.instanceIds.map((id) => id.split("-", 1)[0])],
]);

function modelsOfPod({ record, view }: Pod): readonly unknown[] {
  return [...record.gpuTypeIds, ...(view.worker?.gpuModels ?? [])];
}

/** What is blank, or 0, is not set. */
function refuseFixed(body: PodUpdateBody, pod: Pod): void {
  const issues = [...FIXED].flatMap(([place, presentOf]) => {
    const sent = valueAt(body, place);
    const isKept = !sent && sent !== false;
    return isKept || presentOf(pod).includes(sent) ? [] : [`${place}: ${adviceOf(place)}`];
  });
  if (issues.length > 0) throw new ServiceError("invalid_input", issues.join(" "), { issues });
}

function adviceOf(place: string): string {
  return place === "image"
    ? "imageName changes it."
    : "cannot be changed. Omit it, or create another pod that has it.";
}

/** The entry point and the command keep what a body does not set. */
function startOf(
  { dockerEntrypoint, dockerStartCmd, dockerArgs }: PodUpdateBody,
  stored = "",
): { readonly dockerArgs?: string } {
  if (!dockerEntrypoint && !dockerStartCmd) return dockerArgs ? { dockerArgs } : {};
  const present = readStartCommand(stored);
  return {
    dockerArgs: writeStartCommand({
      entrypoint: dockerEntrypoint ?? present.entrypoint,
      command: dockerStartCmd ?? present.command,
    }),
  };
}

/** Cards, in the place of tiers those that they consist of; all if none is named. */
function modelsOf(gpuTypeIds: readonly string[]): readonly string[] {
  const named = gpuTypeIds.length > 0 ? gpuTypeIds : GPU_TIER_NAMES;
  return [
    ...new Set(
      named.flatMap((id) => (Object.hasOwn(GPU_TIERS, id) ? GPU_TIERS[id as GpuTier].models : [id])),
    ),
  ];
}

function instanceIds(flavorIds: readonly string[], vcpus: number): readonly string[] {
  const flavors = flavorIds.length > 0 ? flavorIds : CPU_FLAVORS.map(({ id }) => id);
  return flavors.map((id) => instanceIdOf(id, vcpus));
}

// Answers

/** What is not known is left out: typed readers take no null. */
export function toRestPod(
  request: RequestContext,
  pod: Pod,
  { volume }: { readonly volume?: NetworkVolumeRecord | undefined } = {},
): RestPod {
  const { record } = pod;
  const shown = showPod(request, pod);
  const { entrypoint, command } = readStartCommand(record.dockerArgs);
  const { id, name, machineId, lastStatusChange, costPerHr, gpuCount, vcpuCount, memoryInGb } = shown;
  const [instanceId] = record.instanceIds;
  const { gpuTypeId } = shown.machine;
  return {
    ...{ id, name, machineId, lastStatusChange, costPerHr, gpuCount, vcpuCount, memoryInGb },
    ...(toRest(podFields, record) as Pick<
      RestPod,
      "containerDiskInGb" | "volumeInGb" | "volumeMountPath" | "env" | "ports" | "locked" | "imageName"
    >),
    image: record.imageName,
    desiredStatus: shown.desiredStatus,
    consumerUserId: record.accountId,
    ...(pod.view.host && { machine: machineOf(shown, pod) }),
    templateId: record.templateId ?? "",
    adjustedCostPerHr: costPerHr,
    ...(gpuTypeId !== null && {
      gpuTypeId,
      gpu: {
        id: gpuTypeId,
        count: gpuCount,
        displayName: findGpuCard(gpuTypeId)?.displayName ?? gpuTypeId,
        ...gpuPriceList(costPerHr, gpuCount),
      },
    }),
    ...(instanceId !== undefined && { cpuFlavorId: instanceId.split("-", 1)[0] ?? "" }),
    computeType: instanceId === undefined ? "GPU" : "CPU",
    volumeEncrypted: false,
    ...(record.networkVolumeId !== null && { networkVolumeId: record.networkVolumeId }),
    ...(volume && {
      networkVolume: {
        id: volume.id,
        name: volume.name,
        size: volume.sizeGb,
        dataCenterId: volume.dataCenterId,
      },
    }),
    ...(record.containerRegistryAuthId !== null && {
      containerRegistryAuthId: record.containerRegistryAuthId,
    }),
    dockerEntrypoint: [...entrypoint],
    dockerStartCmd: [...command],
    ...addressOf(shown),
    interruptible: record.isInterruptible,
    savingsPlans: [],
    uptimeSeconds: shown.uptimeSeconds,
    createdAt: new Date(record.createdAt).toISOString(),
    ...(shown.lastStartedAt !== null && { lastStartedAt: shown.lastStartedAt }),
    ...(shown.runtime && { runtime: { ...shown.runtime, ports: portsByName(shown.runtime.ports) } }),
  };
}

/** An object, since typed clients of REST v1 decode no list here. */
function portsByName(ports: readonly ShownPort[]): Record<string, ShownPort> {
  return Object.fromEntries(ports.map((port) => [`${port.privatePort}/${port.type}`, port]));
}

function machineOf({ machine, dataCenterId, costPerHr }: ShownPod, { view }: Pod): RestPod["machine"] {
  const { gpuTypeId, gpuDisplayName, location } = machine;
  return {
    ...(gpuTypeId !== null && { gpuTypeId }),
    ...(gpuDisplayName !== null && { gpuDisplayName }),
    location: location ?? "",
    dataCenterId: dataCenterId ?? "",
    supportPublicIp: Boolean(view.host?.publicAddress),
    secureCloud: true,
    costPerHr,
  };
}

function addressOf({ runtime }: ShownPod): Pick<RestPod, "publicIp" | "portMappings"> {
  const published = runtime?.ports.filter(({ isIpPublic }) => isIpPublic) ?? [];
  const mappings = published.map(({ privatePort, publicPort }) => [`${privatePort}`, publicPort] as const);
  return { publicIp: published[0]?.ip ?? null, portMappings: Object.fromEntries(mappings) };
}
