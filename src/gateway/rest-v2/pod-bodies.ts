/** Bodies of requests that create or change a pod, and what they ask for. */
import * as z from "zod";
import {
  CPU_FLAVOR_VCPUS_MAX,
  CPU_FLAVOR_VCPUS_MIN,
  CPU_FLAVORS,
  instanceIdOf,
} from "../../catalog/cpu-flavors.ts";
import { DATA_CENTERS } from "../../catalog/data-centers.ts";
import { CLUSTER_TYPES } from "../../contract/pod.ts";
import { ServiceError } from "../../contract/errors.ts";
import { writeStartCommand } from "../../management/endpoints/start-command.ts";
import type { RequestContext } from "../../management/context.ts";
import { oneOf, stringSchema, wholeNumber } from "../../management/input-schemas.ts";
import { fromNested, nestedInput, nestedNames } from "../../management/nouns/field.ts";
import { cudaVersionsSchema } from "../../management/nouns/compute.ts";
import {
  cardSchema,
  podCreationFields,
  podCreationSchema,
  podFields,
  podPatchSchema,
  type PodCreation,
  type PodPatch,
} from "../../management/nouns/pod.ts";
import type { ClusterCreation } from "../../management/pods/clusters.ts";
import { templatePatch } from "../../management/pods/pod-creation.ts";
import { nestedBody } from "./nesting.ts";
import type { PodRecord } from "../../management/pods/pods.ts";
import { parsePatch } from "../rest/patch.ts";

/** Where each member of a creation stands in a body. */
export const podPlaces = {
  ...nestedNames(podCreationFields),
  networkVolumeId: "mounts.network",
  gpuTypeIds: "gpu.id",
  gpuTypeId: "gpu",
  gpuCount: "gpu.count",
  instanceIds: "cpu",
  allowedCudaVersions: "gpu.allowedCudaVersions",
  minCudaVersion: "gpu.minCudaVersion",
  minVcpuCount: "gpu.minVcpuCountPerGpu",
  minMemoryInGb: "gpu.minRamPerGpu",
  countryCode: "countryCodes",
};

const gpuSchema = z.strictObject({
  id: cardSchema().meta({ description: "A GPU type.", example: "NVIDIA GeForce RTX 4090" }),
  count: wholeNumber(1, 64).default(1),
  allowedCudaVersions: cudaVersionsSchema.optional(),
  minCudaVersion: z.string().optional(),
  minVcpuCountPerGpu: wholeNumber(0, 1_000).optional(),
  minRamPerGpu: wholeNumber(0, 10_000).optional().meta({ description: "GB." }),
});
const cpuSchema = z.strictObject({
  id: oneOf(CPU_FLAVORS.map(({ id }) => id)),
  // From the smallest size of the catalog on, which clients choose from.
  vcpuCount: wholeNumber(CPU_FLAVOR_VCPUS_MIN, CPU_FLAVOR_VCPUS_MAX),
});
const mountsSchema = z.strictObject({
  persistent: z.strictObject({ size: wholeNumber(10, 1_000_000), path: stringSchema }).optional(),
  network: z
    .array(z.strictObject({ volumeId: stringSchema.min(1), path: stringSchema }))
    .max(1)
    .optional(),
});

const startCommandShape = {
  entrypoint: z.array(z.string()).max(1_000).optional().meta({
    description: "Replaces the ENTRYPOINT of the image; with cmd in place of args.",
  }),
  cmd: z.array(z.string()).max(1_000).optional(),
};

const placeShape = {
  gpu: gpuSchema.optional(),
  cpu: cpuSchema.optional().meta({ description: "Instead of gpu." }),
  mounts: mountsSchema.optional(),
  ...startCommandShape,
  templateId: stringSchema.min(1).optional().meta({
    description: "A Pod template whose settings are copied; those of the body win, variables are merged.",
  }),
  cloud: oneOf(["SECURE", "COMMUNITY", "ALL"]).optional().meta({
    description: "Accepted: all hosts count as secure.",
  }),
  dataCenterIds: z
    .array(oneOf(DATA_CENTERS.map(({ id }) => id)))
    .optional()
    .meta({ description: "In order of preference; empty means any." }),
  countryCodes: z.array(z.string()).max(250).optional(),
  interruptible: z.boolean().optional(),
  supportPublicIp: z.boolean().optional(),
  globalNetworking: z.boolean().optional().meta({ description: "Accepted; there is none." }),
};

const { gpu: _gpu, cpu: _cpu, ...changeShape } = placeShape;

/** Mounts are read as a whole. */
function withoutMounts(shape: Readonly<Record<string, z.ZodType>>): Record<string, z.ZodType> {
  return Object.fromEntries(Object.entries(shape).filter(([place]) => !place.startsWith("mounts.")));
}

export const creationSchema = nestedBody({
  ...withoutMounts(nestedInput(podCreationFields, "creation")),
  ...placeShape,
}).meta({ id: "CreatePodInput" });

export const updateSchema = nestedBody({
  ...withoutMounts(nestedInput(podFields, "update")),
  mounts: changeShape.mounts,
  ...startCommandShape,
  templateId: changeShape.templateId,
  globalNetworking: changeShape.globalNetworking,
}).meta({ id: "UpdatePodInput" });

const placeSchema = z.object(placeShape);
type Place = z.output<typeof placeSchema>;

export function readCreation(body: object): PodCreation {
  const place = placeSchema.parse(body);
  const { gpu, cpu, templateId } = place;
  if ((gpu === undefined) === (cpu === undefined)) {
    const issue = "gpu: must be sent, or cpu, and not both: a pod runs on GPUs or on CPUs";
    throw new ServiceError("invalid_input", issue, { issues: [issue] });
  }
  if (cpu) refuseLocalVolume(place);
  if (place.mounts?.persistent && place.mounts.network?.length) {
    throw new ServiceError(
      "invalid_input",
      "mounts: must have either persistent or network: a pod has one volume",
    );
  }
  const creation = {
    ...fromNested(podCreationFields, body, templateId === undefined ? "creation" : "update"),
    ...startOf(place),
    ...mountsOf(place),
    ...(gpu && gpuOf(gpu)),
    ...(cpu && { gpuTypeIds: [], instanceIds: [instanceIdOf(cpu.id, cpu.vcpuCount)], volumeInGb: 0 }),
    templateId,
    dataCenterIds: place.dataCenterIds,
    countryCodes: place.countryCodes,
    isInterruptible: place.interruptible,
    supportPublicIp: place.supportPublicIp,
  };
  return parsePatch(podCreationSchema, creation, podPlaces);
}

export async function readUpdate(
  request: RequestContext,
  body: object,
  stored: PodRecord,
): Promise<PodPatch> {
  const place = placeSchema.partial().parse(body);
  refuseOtherVolume(place, stored);
  if (stored.instanceIds.length > 0 && stored.volumeInGb === 0) refuseLocalVolume(place); // others keep theirs
  const sent = { ...fromNested(podFields, body, "update"), ...startOf(place), ...mountsOf(place) };
  const patch = parsePatch(podPatchSchema, sent, podPlaces);
  return place.templateId === undefined ? patch : await templatePatch(request, place.templateId, patch);
}

/** This API has none for CPU pods. */
function refuseLocalVolume({ mounts }: Place): void {
  if (!mounts?.persistent) return;
  const issue = "mounts.persistent: is not possible for a CPU pod; use a network volume";
  throw new ServiceError("invalid_input", issue, { issues: [issue] });
}

/** The network volume stays that of the creation; the path at which it is found may change. */
function refuseOtherVolume({ mounts }: Place, { networkVolumeId }: Pick<PodRecord, "networkVolumeId">): void {
  const { network, persistent } = mounts ?? {};
  const isSame = network === undefined || (network[0]?.volumeId ?? null) === networkVolumeId;
  if (isSame && (persistent === undefined || networkVolumeId === null)) return;
  throw new ServiceError(
    "invalid_input",
    "mounts.network: a pod keeps its network volume; create another pod for another volume",
  );
}

function gpuOf(gpu: z.output<typeof gpuSchema>): PodCreation {
  const { id, count, allowedCudaVersions, minCudaVersion, minVcpuCountPerGpu, minRamPerGpu } = gpu;
  if (allowedCudaVersions?.length && minCudaVersion) {
    throw new ServiceError(
      "invalid_input",
      "gpu.minCudaVersion: must not be sent together with allowedCudaVersions",
    );
  }
  return {
    gpuTypeIds: [id],
    gpuCount: count,
    allowedCudaVersions,
    minCudaVersion,
    minVcpuCount: (minVcpuCountPerGpu ?? 0) * count,
    minMemoryInGb: (minRamPerGpu ?? 0) * count,
  };
}

function startOf({ entrypoint, cmd }: Place): PodPatch {
  if (entrypoint === undefined && cmd === undefined) return {};
  return { dockerArgs: writeStartCommand({ entrypoint: entrypoint ?? [], command: cmd ?? [] }) };
}

function mountsOf(place: Place): PodCreation {
  const [network] = place.mounts?.network ?? [];
  if (!network) return volumeOf(place);
  return { ...volumeOf(place), networkVolumeId: network.volumeId, volumeMountPath: network.path };
}

function volumeOf({ mounts }: Place): PodPatch {
  const { persistent } = mounts ?? {};
  return persistent ? { volumeInGb: persistent.size, volumeMountPath: persistent.path } : {};
}

// Clusters

const computeSchema = z.strictObject({
  gpuTypeId: cardSchema(),
  gpuCountPerPod: wholeNumber(1, 64),
  podCount: wholeNumber(2, 100),
});

const { gpu: _, cpu: __, interruptible: ___, ...clusterPlaceShape } = placeShape;

const typeSchema = oneOf(CLUSTER_TYPES);

export const clusterCreationSchema = nestedBody({
  ...withoutMounts(nestedInput(podCreationFields, "creation")),
  ...clusterPlaceShape,
  type: typeSchema,
  compute: computeSchema,
}).meta({ id: "CreateClusterInput" });

const clusterSchema = z.object({ name: stringSchema, type: typeSchema, compute: computeSchema });

export function readClusterCreation(body: object): ClusterCreation {
  const { name, type, compute } = clusterSchema.parse(body);
  const { gpuTypeId, gpuCountPerPod, podCount } = compute;
  const pod = readCreation({ ...body, gpu: { id: gpuTypeId, count: gpuCountPerPod } });
  return { name, type, gpuTypeId, gpuCountPerPod, podCount, pod };
}
