/** What pods were asked to be. Whether they run is known to the Fleet object; a pod exists when both know it. */
import { and, asc, eq, gt, lt, sql, type SQL } from "drizzle-orm";
import type { PodConfig } from "../contract/pod.ts";
import { auditIfChanged, changedFields, type Author, type AuditSubject, writeAudited } from "./audit-log.ts";
import { isOneOf, isOwn, rowIf, type Database } from "./database.ts";
import { isWithinQuota } from "./quotas.ts";
import { networkVolume, pod, registryAuth, splitList } from "./schema.ts";
import { markPodUsage } from "./usage.ts";

export type PodRecord = typeof pod.$inferSelect;

/** What a client decides about a pod. */
export type PodValues = Omit<
  PodRecord,
  "id" | "accountId" | "version" | "rowVersion" | "createdAt" | "updatedAt"
>;

// Reading

export async function findPod(
  db: Database,
  accountId: string,
  podId: string,
): Promise<PodRecord | undefined> {
  return await db
    .select()
    .from(pod)
    .where(isOwn(pod, accountId, podId))
    .get();
}

/** The pods of an account, the oldest first. */
export async function listPods(db: Database, accountId: string): Promise<PodRecord[]> {
  return await db
    .select()
    .from(pod)
    .where(eq(pod.accountId, accountId))
    .orderBy(asc(pod.createdAt), asc(pod.id));
}

/** The account of a pod; undefined when there is no such pod. */
export async function findPodAccount(db: Database, podId: string): Promise<string | undefined> {
  const found = await db.select({ accountId: pod.accountId }).from(pod).where(eq(pod.id, podId)).get();
  return found?.accountId;
}

/** Account and ports of a pod; undefined when there is no such pod. */
export async function findPodPorts(
  db: Database,
  podId: string,
): Promise<Pick<PodRecord, "accountId" | "ports"> | undefined> {
  return await db
    .select({ accountId: pod.accountId, ports: pod.ports })
    .from(pod)
    .where(eq(pod.id, podId))
    .get();
}

/** Pods of all accounts that were made before, in the order of their ids. */
export async function listPodsAfter(
  db: Database,
  podId: string,
  before: number,
  limit: number,
): Promise<PodRecord[]> {
  return await db
    .select()
    .from(pod)
    .where(and(gt(pod.id, podId), lt(pod.createdAt, before)))
    .orderBy(asc(pod.id))
    .limit(limit);
}

/** Those of the ids that are pods of any account. */
export async function findKnownPodIds(db: Database, podIds: readonly string[]): Promise<ReadonlySet<string>> {
  const known = await db.select({ id: pod.id }).from(pod).where(isOneOf(pod.id, podIds));
  return new Set(known.map(({ id }) => id));
}

/** Ids of the pods that use a template, a registry credential or a network volume. */
export async function listPodsUsing(
  db: Database,
  accountId: string,
  used: Partial<Pick<PodRecord, (typeof USES)[number]>>,
): Promise<string[]> {
  const users = await db.select({ id: pod.id }).from(pod).where(usesOne(accountId, used));
  return users.map(({ id }) => id);
}

const USES = ["templateId", "containerRegistryAuthId", "networkVolumeId"] as const;

/** For a write: whether no pod of the account uses it at that moment. */
export function isUsedByNoPod(accountId: string, used: Parameters<typeof listPodsUsing>[2]): SQL {
  return sql`NOT EXISTS (SELECT 1 FROM ${pod} WHERE ${usesOne(accountId, used)})`;
}

function usesOne(accountId: string, used: Parameters<typeof listPodsUsing>[2]): SQL | undefined {
  const uses = USES.flatMap((column) => {
    const id = used[column];
    return typeof id === "string" ? [eq(pod[column], id)] : [];
  });
  return and(eq(pod.accountId, accountId), ...uses);
}

/** The configuration that the Fleet object gets. */
export function toPodConfig(record: PodRecord): PodConfig {
  return {
    podId: record.id,
    accountId: record.accountId,
    name: record.name,
    version: record.version,
    gpuModels: record.gpuTypeIds,
    gpuCount: record.gpuCount,
    instanceIds: record.instanceIds,
    locations: record.locations,
    containerDiskInGb: record.containerDiskInGb,
    volumeInGb: localVolumeGb(record),
    networkVolumeIds: record.networkVolumeId === null ? [] : [record.networkVolumeId],
    allowedCudaVersions: splitList(record.allowedCudaVersions),
    minCudaVersion: record.minCudaVersion,
    minMemoryMb: record.minMemoryInGb * 1_000,
    minCpuMilli: record.minVcpuCount * 1_000,
    needsPublicAddress: record.needsPublicAddress,
    isInterruptible: record.isInterruptible,
    bidPerGpu: record.bidPerGpu,
    ...(record.clusterId !== null && {
      cluster: { clusterId: record.clusterId, rank: record.clusterRank ?? 0 },
    }),
    stopAt: record.stopAfter,
    terminateAt: record.terminateAfter,
  };
}

/** What of a configuration decides which places fit it, as a record has it. */
export function placeValuesOf(
  config: PodConfig,
  { volumeInGb, containerDiskInGb }: PodRecord,
): Partial<PodValues> {
  const [networkVolumeId = null] = config.networkVolumeIds ?? [];
  return {
    networkVolumeId,
    gpuTypeIds: config.gpuModels,
    gpuCount: config.gpuCount,
    instanceIds: config.instanceIds ?? [],
    locations: config.locations,
    containerDiskInGb: config.containerDiskInGb ?? containerDiskInGb,
    volumeInGb: networkVolumeId === null ? config.volumeInGb : volumeInGb,
    allowedCudaVersions: (config.allowedCudaVersions ?? []).join(","),
    minCudaVersion: config.minCudaVersion ?? null,
    minMemoryInGb: config.minMemoryMb / 1_000,
    minVcpuCount: config.minCpuMilli / 1_000,
    needsPublicAddress: config.needsPublicAddress,
    isInterruptible: config.isInterruptible,
  };
}

/** GB of the volume on its host; a network volume takes its place. */
export function localVolumeGb({ networkVolumeId, volumeInGb }: PodValues): number {
  return networkVolumeId === null ? volumeInGb : 0;
}

// Writing

/** Inserts a pod; undefined when the quota is used up, or when its credential or volume is gone. */
export async function insertPodIfAllowed(
  db: Database,
  author: Author,
  podId: string,
  values: PodValues,
): Promise<PodRecord | undefined> {
  const { accountId, now } = author;
  const record = {
    ...values,
    id: podId,
    accountId,
    version: 1,
    rowVersion: 1,
    createdAt: now,
    updatedAt: now,
  };
  const condition = and(isWithinQuota("pod", accountId), hasNeeds(accountId, values));
  return await writeAudited(
    db,
    author,
    db
      .insert(pod)
      .select(rowIf(pod, record, condition))
      .returning(),
    subjectOf(record),
  );
}

/** Changes a pod if it still is as it was read and what it needs is there. */
export async function updatePodIfUnchanged(
  db: Database,
  author: Author,
  read: PodRecord,
  values: Partial<PodValues> & Partial<Pick<PodRecord, "version">>,
): Promise<PodRecord | undefined> {
  const { version: _, ...changed } = values;
  const update = db
    .update(pod)
    .set({ ...values, rowVersion: read.rowVersion + 1, updatedAt: author.now })
    .where(
      and(
        isOwn(pod, author.accountId, read.id),
        eq(pod.rowVersion, read.rowVersion),
        hasNeeds(author.accountId, { ...read, ...changed }),
      ),
    )
    .returning();
  const subject = { ...subjectOf({ ...read, ...changed }), fields: changedFields<PodValues>(read, changed) };
  const [[updated]] = await db.batch([update, auditIfChanged(db, author, subject)]);
  return updated;
}

/** Records that the state of a pod was changed, which D1 does not store. */
export async function recordPodAction(db: Database, author: Author, read: PodRecord): Promise<void> {
  const touch = db
    .update(pod)
    .set({ updatedAt: author.now })
    .where(isOwn(pod, author.accountId, read.id))
    .returning();
  await writeAudited(db, author, touch, subjectOf(read));
}

/** Takes back a change that the Fleet object did not follow, as far as it said, unless another one came after it. */
export async function restorePod(db: Database, changed: PodRecord, read: PodRecord): Promise<void> {
  const isUnchanged = and(isOwn(pod, read.accountId, read.id), eq(pod.rowVersion, changed.rowVersion));
  await db
    .update(pod)
    .set({ ...read, updatedAt: changed.updatedAt, rowVersion: changed.rowVersion + 1 })
    .where(isUnchanged);
}

/** Deletes a pod; whether it was there. */
export async function deletePod(db: Database, author: Author, read: PodRecord): Promise<boolean> {
  const deletion = db
    .delete(pod)
    .where(isOwn(pod, author.accountId, read.id))
    .returning({ id: pod.id });
  const mark = markPodUsage(db, isOwn(pod, author.accountId, read.id), author.now);
  const [, deleted] = await db.batch([mark, deletion, auditIfChanged(db, author, subjectOf(read))]);
  return deleted.length > 0;
}

/** Removes what is left of pods that the Fleet object does not know. */
export async function removePods(db: Database, podIds: readonly string[], now: number): Promise<void> {
  const isGone = isOneOf(pod.id, podIds);
  await db.batch([markPodUsage(db, isGone, now), db.delete(pod).where(isGone)]);
}

/** Whether the account has what a pod names at the moment of the write. */
function hasNeeds(accountId: string, values: PodValues): SQL | undefined {
  return and(
    isThere(registryAuth, accountId, values.containerRegistryAuthId),
    isThere(networkVolume, accountId, values.networkVolumeId),
  );
}

function isThere(
  table: typeof registryAuth | typeof networkVolume,
  accountId: string,
  id: string | null,
): SQL | undefined {
  if (id === null) return undefined;
  return sql`EXISTS (SELECT 1 FROM ${table} WHERE ${table.accountId} = ${accountId} AND ${table.id} = ${id})`;
}

function subjectOf({ id, name }: Pick<PodRecord, "id" | "name">): AuditSubject {
  return { kind: "pod", id, name };
}
