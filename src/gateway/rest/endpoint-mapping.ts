/** How REST spells endpoints. */
import { CPU_FLAVORS } from "../../catalog/cpu-flavors.ts";
import { GPU_TIER_NAMES } from "../../catalog/gpu-tiers.ts";
import {
  VCPU_COUNT_DEFAULT,
  type EndpointUpdate,
  type RestEndpoint,
} from "../../contract/rest/rest-endpoint.ts";
import type { EndpointRecord } from "../../db/endpoints.ts";
import { modelsOfGpuIds } from "../../catalog/gpu-selection.ts";
import { endpointPatchSchema, type EndpointPatch } from "../../management/endpoints/endpoint-patch.ts";
import { parsePatch, joinList, toMap, toPairs, splitList } from "./mapping.ts";

const REST_NAMES = {
  gpuIds: "gpuTypeIds",
  instanceIds: "cpuFlavorIds",
  locations: "dataCenterIds",
  flashBootType: "flashboot",
};

type Stored = Pick<EndpointRecord, "gpuIds" | "instanceIds">;

/** What a REST body asks of an endpoint; `stored` is the one that it changes, undefined for a new one. */
export function toEndpointPatch(input: EndpointUpdate, stored: Stored | undefined): EndpointPatch {
  const { computeType, gpuTypeIds, cpuFlavorIds, vcpuCount, ...rest } = input;
  const { dataCenterIds, networkVolumeIds, allowedCudaVersions, flashboot, env, ...same } = rest;
  const patch = {
    ...same,
    ...computeOf({ computeType, gpuTypeIds, cpuFlavorIds, vcpuCount }, stored),
    locations: joinList(dataCenterIds),
    networkVolumeIds: networkVolumeIds?.map((networkVolumeId) => ({ networkVolumeId })) ?? networkVolumeIds,
    allowedCudaVersions: joinList(allowedCudaVersions),
    flashBootType: flashboot == null ? undefined : flashboot ? "FLASHBOOT" : "OFF",
    env: toPairs(env),
  };
  return parsePatch(endpointPatchSchema, patch, REST_NAMES);
}

type Compute = Pick<EndpointUpdate, "computeType" | "gpuTypeIds" | "cpuFlavorIds" | "vcpuCount">;

type ComputePatch = { readonly gpuIds?: string; readonly instanceIds?: readonly string[] };

/** GPUs or CPU instances; nothing for a change that touches neither. */
function computeOf(requested: Compute, stored: Stored | undefined): ComputePatch {
  const isCpu = stored?.gpuIds === null;
  return (requestsCpu(requested) ?? isCpu)
    ? cpusOf(requested, isCpu ? stored : undefined)
    : gpusOf(requested, stored !== undefined && !isCpu);
}

/** Undefined when the body does not say. */
function requestsCpu({ computeType, gpuTypeIds, cpuFlavorIds }: Compute): boolean | undefined {
  if (computeType) return computeType === "CPU";
  if (gpuTypeIds?.length) return false;
  return cpuFlavorIds?.length ? true : undefined;
}

function gpusOf({ gpuTypeIds }: Compute, hasGpus: boolean): ComputePatch {
  if (gpuTypeIds?.length) return { gpuIds: gpuTypeIds.join(",") };
  return hasGpus ? {} : { gpuIds: GPU_TIER_NAMES.join(",") };
}

function cpusOf({ cpuFlavorIds, vcpuCount }: Compute, stored: Stored | undefined): ComputePatch {
  if (stored && !cpuFlavorIds?.length && !vcpuCount) return {};
  const sizes = sizesOf(stored?.instanceIds ?? []);
  const all = CPU_FLAVORS.map(({ id }) => id);
  const flavors = firstFilled(cpuFlavorIds, sizes.flavors, all);
  return { instanceIds: instanceIds(flavors, vcpuCount ?? sizes.vcpus ?? VCPU_COUNT_DEFAULT) };
}

function firstFilled(...lists: readonly (readonly string[] | null | undefined)[]): readonly string[] {
  return lists.find((list) => list && list.length > 0) ?? [];
}

function instanceIds(flavors: readonly string[], vcpus: number): readonly string[] {
  return CPU_FLAVORS.filter(({ id }) => flavors.includes(id))
    .toSorted((a, b) => flavors.indexOf(a.id) - flavors.indexOf(b.id))
    .map(({ id, memoryGbPerVcpu }) => `${id}-${vcpus}-${vcpus * memoryGbPerVcpu}`);
}

function sizesOf(ids: readonly string[]): { readonly flavors: string[]; readonly vcpus: number | undefined } {
  const parts = ids.map((id) => id.split("-"));
  const vcpus = Number(parts[0]?.[1]);
  return { flavors: [...new Set(parts.map(([flavor = ""]) => flavor))], vcpus: vcpus || undefined };
}

/** What an endpoint is in REST. */
export function toRestEndpoint(endpoint: EndpointRecord): RestEndpoint {
  const { flavors, vcpus } = sizesOf(endpoint.instanceIds);
  const gpuIds = endpoint.gpuIds ?? "";
  return {
    id: endpoint.id,
    name: endpoint.name,
    userId: endpoint.accountId,
    type: endpoint.type,
    templateId: endpoint.templateId,
    version: endpoint.version,
    createdAt: new Date(endpoint.createdAt).toISOString(),
    computeType: endpoint.gpuIds === null ? "CPU" : "GPU",
    gpuTypeIds: [...modelsOfGpuIds(gpuIds)],
    gpuIds,
    gpuCount: endpoint.gpuCount,
    cpuFlavorIds: flavors,
    ...(vcpus !== undefined && { vcpuCount: vcpus }),
    instanceIds: [...endpoint.instanceIds],
    dataCenterIds: splitList(endpoint.locations),
    locations: endpoint.locations ?? "",
    workersMin: endpoint.workersMin,
    workersMax: endpoint.workersMax,
    idleTimeout: endpoint.idleTimeoutSeconds,
    scalerType: endpoint.scalerType,
    scalerValue: endpoint.scalerValue,
    executionTimeoutMs: endpoint.executionTimeoutMs,
    flashboot: endpoint.flashBootType !== null && endpoint.flashBootType !== "OFF",
    networkVolumeId: endpoint.networkVolumeId ?? "",
    networkVolumeIds: [...endpoint.networkVolumeIds],
    allowedCudaVersions: splitList(endpoint.allowedCudaVersions),
    minCudaVersion: endpoint.minCudaVersion ?? "",
    env: toMap(endpoint.env),
  };
}
