import { and, asc, eq, lte, notExists, or, sql } from "drizzle-orm";
import { isWithinQuota } from "./quotas.ts";
import { changedFields, auditIfChanged, type AuditSubject, type Author, writeAudited } from "./audit-log.ts";
import { isOneOf, rowIf, type Database, isOwn } from "./database.ts";
import type { EndpointRecord } from "./endpoints.ts";
import { isUsedByNoPod } from "./pods.ts";
import { randomRowId } from "./row-id.ts";
import { endpoint, networkVolume } from "./schema.ts";

export type NetworkVolumeRecord = typeof networkVolume.$inferSelect;

/** What a client decides about a network volume. */
export type NetworkVolumeValues = Pick<NetworkVolumeRecord, "name" | "sizeGb" | "dataCenterId">;

export async function findNetworkVolume(
  db: Database,
  accountId: string,
  volumeId: string,
): Promise<NetworkVolumeRecord | undefined> {
  return await db
    .select()
    .from(networkVolume)
    .where(isOwn(networkVolume, accountId, volumeId))
    .get();
}

/** Those of the named volumes that are the account's, in no order. */
export async function findNetworkVolumes(
  db: Database,
  accountId: string,
  volumeIds: readonly string[],
): Promise<NetworkVolumeRecord[]> {
  return await db
    .select()
    .from(networkVolume)
    .where(and(eq(networkVolume.accountId, accountId), isOneOf(networkVolume.id, volumeIds)));
}

export async function listNetworkVolumes(db: Database, accountId: string): Promise<NetworkVolumeRecord[]> {
  return await db
    .select()
    .from(networkVolume)
    .where(eq(networkVolume.accountId, accountId))
    .orderBy(asc(networkVolume.createdAt), asc(networkVolume.id));
}

/** Endpoints that name a volume. */
export async function listEndpointsOfVolume(
  db: Database,
  accountId: string,
  volumeId: string,
): Promise<EndpointRecord[]> {
  return await db.select().from(endpoint).where(namesVolume(accountId, volumeId));
}

/** Inserts a volume; undefined when the quota of the account is used up. */
export async function insertNetworkVolumeWithinQuota(
  db: Database,
  author: Author,
  values: NetworkVolumeValues,
): Promise<NetworkVolumeRecord | undefined> {
  const { accountId, now } = author;
  const record = { ...values, accountId, id: randomRowId(), createdAt: now, updatedAt: now };
  const row = rowIf(networkVolume, record, isWithinQuota("networkVolume", accountId));
  return await writeAudited(db, author, db.insert(networkVolume).select(row).returning(), subjectOf(record));
}

/** Renames or grows a volume; undefined when it is gone, or larger than that by now. */
export async function growNetworkVolume(
  db: Database,
  author: Author,
  read: NetworkVolumeRecord,
  values: Pick<NetworkVolumeValues, "name" | "sizeGb">,
): Promise<NetworkVolumeRecord | undefined> {
  const fields = changedFields<Partial<NetworkVolumeRecord>>(read, values);
  if (fields.length === 0) return read;
  const update = db
    .update(networkVolume)
    .set({ ...values, updatedAt: author.now })
    .where(and(isOwn(networkVolume, author.accountId, read.id), lte(networkVolume.sizeGb, values.sizeGb)))
    .returning();
  const [updated] = await db.batch([
    update,
    auditIfChanged(db, author, { ...subjectOf({ ...read, ...values }), fields }),
  ]);
  return updated[0];
}

/** Deletes a volume unless an endpoint or a pod names it; returns whether it did. */
export async function deleteNetworkVolumeIfUnused(
  db: Database,
  author: Author,
  read: NetworkVolumeRecord,
): Promise<boolean> {
  const users = db
    .select({ one: sql`1` })
    .from(endpoint)
    .where(namesVolume(author.accountId, read.id));
  const deletion = db
    .delete(networkVolume)
    .where(
      and(
        isOwn(networkVolume, author.accountId, read.id),
        notExists(users),
        isUsedByNoPod(author.accountId, { networkVolumeId: read.id }),
      ),
    )
    .returning({ id: networkVolume.id });
  return (await writeAudited(db, author, deletion, subjectOf(read))) !== undefined;
}

function namesVolume(accountId: string, volumeId: string) {
  const isListed = sql`EXISTS (SELECT 1 FROM json_each(${endpoint.networkVolumeIds}) WHERE value = ${volumeId})`;
  return and(eq(endpoint.accountId, accountId), or(eq(endpoint.networkVolumeId, volumeId), isListed));
}

function subjectOf({ id, name }: NetworkVolumeRecord): AuditSubject {
  return { kind: "network_volume", id, name };
}
