/**
 * Clusters: pods that are made together, all alike and in one data center, and terminated together. Either all pods of
 * one have a place or none is kept.
 */
import * as z from "zod";
import { CLUSTER_TYPES } from "../../contract/pod.ts";
import { CLUSTER_PODS_MAX } from "../../contract/limits.ts";
import { hasErrorCode, ServiceError } from "../../contract/errors.ts";
import {
  deleteCluster as deleteRow,
  findCluster,
  insertClusterWithinQuota,
  listClusters,
  renameCluster as renameRow,
  type ClusterRecord,
} from "../../db/clusters.ts";
import type { PodValues } from "../../db/pods.ts";
import { authorOf, retryOnConflict, takingBack, type RequestContext } from "../context.ts";
import { logFailure } from "../failure-log.ts";
import { nameSchema, oneOf, optionalNonEmpty, wholeNumber } from "../input-schemas.ts";
import { cardSchema, podCreationSchema } from "../nouns/pod.ts";
import { mergeVariables } from "../nouns/variables.ts";
import { requireQuota } from "../quota.ts";
import { valuesOfCreation } from "./pod-creation.ts";
import { listOwnPods, makePod, terminatePod, type Pod } from "./pods.ts";

export const clusterShape = {
  type: optionalNonEmpty(oneOf(CLUSTER_TYPES)),
  gpuTypeId: cardSchema(),
  podCount: wholeNumber(1, CLUSTER_PODS_MAX),
  gpuCountPerPod: wholeNumber(1, 64),
};
export const clusterCreationSchema = z.object({
  ...clusterShape,
  name: nameSchema,
  pod: podCreationSchema,
});
export type ClusterCreation = z.output<typeof clusterCreationSchema>;

export type Cluster = { readonly record: ClusterRecord; readonly pods: readonly Pod[] };

/** The clusters of the calling account, the oldest first. */
export async function listOwnClusters(context: RequestContext): Promise<readonly Cluster[]> {
  const records = await listClusters(context.db, context.principal.accountId);
  const pods = records.length === 0 ? [] : await listOwnPods(context);
  return records.map((record) => ({ record, pods: podsOf(record, pods) }));
}

/** A cluster of the calling account; undefined when there is none of this id. */
export async function findOwnCluster(
  context: RequestContext,
  clusterId: string,
): Promise<Cluster | undefined> {
  const record = await findCluster(context.db, context.principal.accountId, clusterId);
  return record && { record, pods: podsOf(record, await listOwnPods(context)) };
}

/** The same; throws cluster_not_found. */
export async function requireCluster(context: RequestContext, clusterId: string): Promise<Cluster> {
  const cluster = await findOwnCluster(context, clusterId);
  if (cluster === undefined) throw clusterNotFound(clusterId);
  return cluster;
}

function podsOf({ id }: ClusterRecord, pods: readonly Pod[]): readonly Pod[] {
  return pods
    .filter(({ record }) => record.clusterId === id)
    .toSorted((one, other) => (one.record.clusterRank ?? 0) - (other.record.clusterRank ?? 0));
}

/** Makes all pods of a cluster; throws no_capacity when one of them has no place, and leaves nothing behind then. */
export async function createCluster(context: RequestContext, creation: ClusterCreation): Promise<Cluster> {
  const { name, type = "APPLICATION", gpuTypeId, gpuCountPerPod, podCount, pod } = creation;
  const shape = { gpuTypeIds: [gpuTypeId], gpuCount: gpuCountPerPod };
  const values = await valuesOfCreation(context, { ...pod, ...shape, name });
  const record = await retryOnConflict(async () => {
    await requireQuota(context, "cluster");
    const row = { name, type, gpuTypeId, gpuCountPerPod, podCount, templateId: values.templateId };
    return await insertClusterWithinQuota(context.db, authorOf(context), row);
  });
  const pods: Pod[] = [];
  try {
    for (let rank = 0; rank < podCount; rank += 1) {
      pods.push(await makePod(context, valuesOfMember(values, record, rank, pods[0]), podCount));
    }
    await requireCluster(context, record.id); // it may have been deleted meanwhile, before its last pods were there
  } catch (error) {
    await takeBack(takingBack(context), record, pods);
    throw pods.length > 0 && hasErrorCode(error, "no_capacity")
      ? beside(pods.length, podCount, error)
      : error;
  }
  return { record, pods };
}

/** The reason counts the places that the pods before it had. */
function beside(placed: number, podCount: number, { message }: ServiceError): ServiceError {
  return new ServiceError(
    "no_capacity",
    `${message} (${placed} of ${podCount} pods have a place; the reason is that of the next one beside them)`,
  );
}

/** The first pod decides on the data center. */
function valuesOfMember(
  values: PodValues,
  { id: clusterId, name, podCount, gpuCountPerPod }: ClusterRecord,
  rank: number,
  first: Pod | undefined,
): PodValues {
  const place = first?.view.host?.dataCenterId;
  const env = [
    { key: "NODE_RANK", value: `${rank}` },
    { key: "NUM_NODES", value: `${podCount}` },
    { key: "NUM_TRAINERS", value: `${gpuCountPerPod}` },
    { key: "WORLD_SIZE", value: `${podCount * gpuCountPerPod}` },
  ];
  return {
    ...values,
    name: `${name.slice(0, 180)}-${rank}`,
    env: mergeVariables(env, values.env),
    ...(place !== undefined && { locations: [place] }),
    clusterId,
    clusterRank: rank,
  };
}

/** A cluster of which pods are left stays listed, so that its owner finds and deletes it. */
async function takeBack(context: RequestContext, record: ClusterRecord, pods: readonly Pod[]): Promise<void> {
  let isOver = true;
  for (const { record: pod } of pods) {
    await endMember(context, pod.id).catch((cause: unknown) => {
      logFailure("fleet_not_reached", { podId: pod.id }, cause);
      isOver = false;
    });
  }
  if (isOver) await deleteRow(context.db, authorOf(context), record);
}

/** It may have been terminated meanwhile, by its owner or by time. */
async function endMember(context: RequestContext, podId: string): Promise<void> {
  await terminatePod(context, podId).catch((error: unknown) => {
    if (!hasErrorCode(error, "pod_not_found")) throw error;
  });
}

/** Terminates the pods of a cluster and forgets it; throws cluster_not_found. */
export async function deleteCluster(context: RequestContext, clusterId: string): Promise<void> {
  const { record, pods } = await requireCluster(context, clusterId);
  for (const { record: pod } of pods) await endMember(context, pod.id);
  await deleteRow(context.db, authorOf(context), record);
}

export async function renameCluster(
  context: RequestContext,
  clusterId: string,
  name: string,
): Promise<Cluster> {
  const { record, pods } = await requireCluster(context, clusterId);
  const renamed = await renameRow(context.db, authorOf(context), record, name);
  if (renamed === undefined) throw clusterNotFound(clusterId);
  return { record: renamed, pods };
}

export function clusterNotFound(clusterId: string): ServiceError {
  return new ServiceError("cluster_not_found", `id: cluster '${clusterId}' was not found`);
}
