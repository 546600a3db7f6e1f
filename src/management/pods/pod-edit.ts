/** What an edit makes of a pod: what its creation would have made of what is sent and what stays. */
import type { PodRecord, PodValues } from "../../db/pods.ts";
import { splitList } from "../../db/schema.ts";
import type { RequestContext } from "../context.ts";
import { changesOf } from "../nouns/field.ts";
import { podCreationFields, type PodEdit } from "../nouns/pod.ts";
import {
  computeOf,
  cudaOf,
  defined,
  locationsOf,
  needsPublicAddress,
  templatePatch,
  withPassword,
} from "./pod-creation.ts";
import { invalid, requireFuture, requireRunnable } from "./pod-settings.ts";

/** All that is sent, by column; throws invalid_input for what the pod cannot be. */
export async function valuesOfEdit(
  context: RequestContext,
  record: PodRecord,
  edit: PodEdit,
): Promise<Partial<PodValues>> {
  const { templateId, minVcpuCount, minMemoryInGb, bidPerGpu, supportPublicIp } = edit;
  refuseOtherKind(record, edit);
  const patch = templateId === undefined ? edit : await templatePatch(context, templateId, edit);
  const container = changesOf(podCreationFields, patch);
  const changes: Partial<PodValues> = {
    ...container,
    ...sent({ templateId, minVcpuCount, minMemoryInGb, bidPerGpu }),
    ...computeChanges(record, edit),
    ...cudaChanges(record, edit),
    ...(await placeChanges(context, record, edit)),
    ...(supportPublicIp !== undefined && {
      needsPublicAddress: needsPublicAddress(edit, { ...record, ...container }),
    }),
  };
  const isNewJupyter = container.startJupyter !== undefined || container.env !== undefined;
  const values: PodValues = { ...record, ...changes };
  refuseUnlike(record, values);
  requireFuture(context, changes);
  requireRunnable(values);
  return isNewJupyter ? { ...changes, env: withPassword(values, record.env) } : changes;
}

/** Pods of a cluster are made with the same GPUs and in one data center, which their variables say as well. */
export function refuseUnlike({ id, clusterId, ...record }: PodRecord, values: Partial<PodValues>): void {
  if (clusterId === null) return;
  for (const [column, field] of CLUSTER_TRAITS) {
    const value = values[column];
    if (value === undefined || JSON.stringify(value) === JSON.stringify(record[column])) continue;
    throw invalid(
      `${field}: pod ${id} is one of cluster ${clusterId}, whose pods are alike and in one data center; make another cluster`,
    );
  }
}

const CLUSTER_TRAITS = [
  ["gpuTypeIds", "gpuTypeId"],
  ["gpuCount", "gpuCount"],
  ["locations", "dataCenterId"],
] as const;

/** A pod stays on what its image was chosen for: GPUs or CPUs. */
function refuseOtherKind(record: PodRecord, { computeType, gpuTypeIds, instanceIds }: PodEdit): void {
  const kind = isOnCpus(record) ? "CPU" : "GPU";
  const other =
    kind === "CPU" ? (["gpuTypeId", gpuTypeIds] as const) : (["instanceIds", instanceIds] as const);
  const field = computeType !== undefined && computeType !== kind ? "computeType" : other[0];
  if (field !== "computeType" && !other[1]?.length) return;
  throw invalid(
    `${field}: pod ${record.id} runs on ${kind}s, and a pod stays on GPUs or on CPUs; create another pod`,
  );
}

function isOnCpus({ gpuTypeIds }: Pick<PodRecord, "gpuTypeIds">): boolean {
  return gpuTypeIds.length === 0;
}

function computeChanges(record: PodRecord, { gpuTypeIds, gpuCount, instanceIds }: PodEdit) {
  return computeOf(
    {
      gpuTypeIds: [...(gpuTypeIds ?? record.gpuTypeIds)],
      gpuCount: gpuCount ?? record.gpuCount,
      instanceIds: [...(instanceIds ?? record.instanceIds)],
    },
    isOnCpus(record),
  );
}

function cudaChanges(record: PodRecord, edit: PodEdit) {
  const {
    allowedCudaVersions = splitList(record.allowedCudaVersions),
    minCudaVersion = record.minCudaVersion,
  } = edit;
  return cudaOf({
    allowedCudaVersions: [...allowedCudaVersions],
    minCudaVersion: minCudaVersion ?? undefined,
  });
}

/** The places that are sent take the place of the present ones; so does the data center of another network volume. */
async function placeChanges(
  context: RequestContext,
  record: PodRecord,
  { dataCenterIds, countryCodes, networkVolumeId = record.networkVolumeId }: PodEdit,
): Promise<Partial<PodValues>> {
  const isSent = dataCenterIds !== undefined || countryCodes !== undefined;
  if (!isSent && networkVolumeId === record.networkVolumeId) return {};
  const isOfVolume = networkVolumeId !== null && record.networkVolumeId !== null;
  const present = isOfVolume ? [] : [...record.locations];
  const places = isSent ? { dataCenterIds, countryCodes } : { dataCenterIds: present };
  return { locations: await locationsOf(context, { ...places, networkVolumeId }) };
}

function sent<Values extends object>(values: Values) {
  return defined(values) as { [Name in keyof Values]?: Exclude<Values[Name], undefined> };
}
