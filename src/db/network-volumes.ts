import { and, asc, eq } from "drizzle-orm";
import { changedFields, noteIfChanged, type Author, type AuditSubject } from "./audit-log.ts";
import type { Database } from "./database.ts";
import { randomRowId } from "./row-id.ts";
import { networkVolume } from "./schema.ts";

export type VolumeRecord = typeof networkVolume.$inferSelect;
export type VolumeValues = Pick<VolumeRecord, "name" | "sizeGb" | "dataCenterId">;

export async function listVolumesOf(db: Database, accountId: string): Promise<VolumeRecord[]> {
  return await db
    .select()
    .from(networkVolume)
    .where(eq(networkVolume.accountId, accountId))
    .orderBy(asc(networkVolume.createdAt), asc(networkVolume.id));
}

export async function findVolume(
  db: Database,
  accountId: string,
  volumeId: string,
): Promise<VolumeRecord | undefined> {
  return await db.select().from(networkVolume).where(isOwn(accountId, volumeId)).get();
}

export async function insertVolume(
  db: Database,
  author: Author,
  values: VolumeValues,
): Promise<VolumeRecord> {
  const { accountId, now } = author;
  const record = { ...values, id: randomRowId(), accountId, createdAt: now, updatedAt: now };
  await db.batch([db.insert(networkVolume).values(record), noteIfChanged(db, author, subjectOf(record))]);
  return record;
}

export async function updateVolume(
  db: Database,
  author: Author,
  read: VolumeRecord,
  values: VolumeValues,
): Promise<VolumeRecord | undefined> {
  const update = db
    .update(networkVolume)
    .set({ ...values, updatedAt: author.now })
    .where(isOwn(author.accountId, read.id))
    .returning();
  const fields = changedFields(read, values);
  const [[updated]] = await db.batch([update, noteIfChanged(db, author, { ...subjectOf(read), fields })]);
  return updated;
}

export async function removeVolume(db: Database, author: Author, read: VolumeRecord): Promise<void> {
  const deletion = db.delete(networkVolume).where(isOwn(author.accountId, read.id));
  await db.batch([deletion, noteIfChanged(db, author, subjectOf(read))]);
}

function isOwn(accountId: string, volumeId: string) {
  return and(eq(networkVolume.accountId, accountId), eq(networkVolume.id, volumeId));
}

function subjectOf({ id, name }: VolumeRecord): AuditSubject {
  return { kind: "network_volume", id, name };
}
