import { asc, eq } from "drizzle-orm";
import { auditIfChanged, type Author, type AuditSubject, writeAudited } from "./audit-log.ts";
import { isOwn, rowIf, type Database } from "./database.ts";
import { isWithinQuota } from "./quotas.ts";
import { randomRowId } from "./row-id.ts";
import { cluster } from "./schema.ts";

export type ClusterRecord = typeof cluster.$inferSelect;

/** What a client decides about a cluster. */
export type ClusterValues = Omit<ClusterRecord, "id" | "accountId" | "createdAt">;

export async function findCluster(
  db: Database,
  accountId: string,
  clusterId: string,
): Promise<ClusterRecord | undefined> {
  return await db
    .select()
    .from(cluster)
    .where(isOwn(cluster, accountId, clusterId))
    .get();
}

/** The clusters of an account, the oldest first. */
export async function listClusters(db: Database, accountId: string): Promise<ClusterRecord[]> {
  return await db
    .select()
    .from(cluster)
    .where(eq(cluster.accountId, accountId))
    .orderBy(asc(cluster.createdAt), asc(cluster.id));
}

/** Inserts a cluster; undefined when the quota of the account is used up. */
export async function insertClusterWithinQuota(
  db: Database,
  author: Author,
  values: ClusterValues,
): Promise<ClusterRecord | undefined> {
  const { accountId, now } = author;
  const record = { ...values, accountId, id: randomRowId(), createdAt: now };
  const row = rowIf(cluster, record, isWithinQuota("cluster", accountId));
  return await writeAudited(db, author, db.insert(cluster).select(row).returning(), subjectOf(record));
}

/** Renames a cluster; undefined when it is gone. */
export async function renameCluster(
  db: Database,
  author: Author,
  read: ClusterRecord,
  name: string,
): Promise<ClusterRecord | undefined> {
  const update = db
    .update(cluster)
    .set({ name })
    .where(isOwn(cluster, author.accountId, read.id))
    .returning();
  const subject = { ...subjectOf({ ...read, name }), fields: ["name"] };
  const [[renamed]] = await db.batch([update, auditIfChanged(db, author, subject)]);
  return renamed;
}

export async function deleteCluster(db: Database, author: Author, read: ClusterRecord): Promise<void> {
  const deletion = db
    .delete(cluster)
    .where(isOwn(cluster, author.accountId, read.id))
    .returning();
  await writeAudited(db, author, deletion, subjectOf(read));
}

function subjectOf({ id, name }: Pick<ClusterRecord, "id" | "name">): AuditSubject {
  return { kind: "cluster", id, name };
}
