import { and, asc, eq, gt, isNull, lt, sql, type SQL } from "drizzle-orm";
import { isWithinQuota } from "../quotas.ts";
import { type Author, writeAudited } from "../audit-log.ts";
import { isOneOf, rowIf, type Database } from "../database.ts";
import { flashApp, flashBuild, flashUpload, flashUploadPart } from "../schema.ts";

export type FlashUploadRecord = typeof flashUpload.$inferSelect;
export type FlashUploadPartRecord = Omit<typeof flashUploadPart.$inferSelect, "uploadId">;

/** An upload that has not ended, by the hash of its token; of any account. */
export async function findOpenUploadByToken(
  db: Database,
  tokenHash: string,
  now: number,
): Promise<FlashUploadRecord | undefined> {
  return await findOpen(db, eq(flashUpload.tokenHash, tokenHash), now);
}

/** An upload of an app, ended or not. */
export async function findFlashUploadByKey(
  db: Database,
  app: { readonly accountId: string; readonly id: string },
  objectKey: string,
): Promise<FlashUploadRecord | undefined> {
  return await db
    .select()
    .from(flashUpload)
    .where(and(isOf(app), eq(flashUpload.objectKey, objectKey)))
    .get();
}

/** The upload of an artifact that was announced with its SHA-256. */
export async function findOpenUploadOf(
  db: Database,
  app: { readonly accountId: string; readonly id: string },
  { sha256, sizeBytes }: { readonly sha256: string; readonly sizeBytes: number },
  now: number,
): Promise<FlashUploadRecord | undefined> {
  const isIt = and(eq(flashUpload.sha256, sha256), eq(flashUpload.sizeBytes, sizeBytes));
  return await findOpen(db, and(isOf(app), isIt), now);
}

async function findOpen(
  db: Database,
  isIt: SQL | undefined,
  now: number,
): Promise<FlashUploadRecord | undefined> {
  return await db
    .select()
    .from(flashUpload)
    .where(and(isIt, gt(flashUpload.expiresAt, now)))
    .get();
}

/** Bytes of the artifacts of an account: one that several builds share, or whose upload is open, counts once. */
function artifactBytes(accountId: string): SQL {
  return sql`(SELECT coalesce(sum(size_bytes), 0) FROM (
    SELECT object_key, size_bytes FROM ${flashBuild} WHERE ${flashBuild.accountId} = ${accountId}
    UNION SELECT object_key, size_bytes FROM ${flashUpload} WHERE ${flashUpload.accountId} = ${accountId}))`;
}

/** The same, now, in bytes. */
export async function artifactBytesOf(db: Database, accountId: string): Promise<number> {
  const row = await db.get<{ readonly bytes: number }>(sql`SELECT ${artifactBytes(accountId)} AS "bytes"`);
  return row.bytes;
}

/** Inserts an upload; undefined when its app is gone or the quota or the storage of the account is used up. */
export async function insertFlashUploadWithinQuota(
  db: Database,
  author: Author,
  record: FlashUploadRecord,
  storageBytes: number,
): Promise<FlashUploadRecord | undefined> {
  const hasApp = sql`EXISTS (SELECT 1 FROM ${flashApp} WHERE ${flashApp.id} = ${record.appId})`;
  const hasStorage = sql`${artifactBytes(record.accountId)} + ${record.sizeBytes} <= ${storageBytes}`;
  const row = rowIf(
    flashUpload,
    record,
    and(hasApp, isWithinQuota("flashUpload", record.accountId), hasStorage),
  );
  return await writeAudited(db, author, db.insert(flashUpload).select(row).returning(), {
    kind: "flash_upload",
    id: record.id,
    name: null,
  });
}

/** Gives an upload another token and a longer life; returns undefined when the upload is gone. */
export async function renewFlashUpload(
  db: Database,
  author: Author,
  uploadId: string,
  change: Pick<FlashUploadRecord, "tokenHash" | "expiresAt">,
): Promise<FlashUploadRecord | undefined> {
  const update = db
    .update(flashUpload)
    .set(change)
    .where(and(eq(flashUpload.id, uploadId), gt(flashUpload.expiresAt, author.now)))
    .returning();
  return await writeAudited(db, author, update, { kind: "flash_upload", id: uploadId, name: null });
}

/** Records the SHA-256 that was computed while the artifact arrived; false when the upload is no longer there. */
export async function saveFoundHash(db: Database, uploadId: string, sha256: string): Promise<boolean> {
  const updated = await db
    .update(flashUpload)
    .set({ sha256 })
    .where(eq(flashUpload.id, uploadId))
    .returning({ id: flashUpload.id });
  return updated.length > 0;
}

// Parts

/** Stores R2's name of the upload in parts; the first one stays. Undefined when the upload is gone. */
export async function beginFlashUploadParts(
  db: Database,
  uploadId: string,
  multipartId: string,
): Promise<FlashUploadRecord | undefined> {
  await db
    .update(flashUpload)
    .set({ multipartId })
    .where(and(eq(flashUpload.id, uploadId), isNull(flashUpload.multipartId)));
  return await db.select().from(flashUpload).where(eq(flashUpload.id, uploadId)).get();
}

/** Records a part that has arrived; false when the upload in parts is no longer there. */
export async function saveFlashUploadPart(
  db: Database,
  { id, multipartId }: FlashUploadRecord,
  { number, etag }: FlashUploadPartRecord,
): Promise<boolean> {
  const isThere = sql`EXISTS (SELECT 1 FROM ${flashUpload}
    WHERE ${flashUpload.id} = ${id} AND ${flashUpload.multipartId} = ${multipartId})`;
  const saved = await db
    .insert(flashUploadPart)
    .select(rowIf(flashUploadPart, { uploadId: id, number, etag }, isThere))
    .onConflictDoUpdate({
      target: [flashUploadPart.uploadId, flashUploadPart.number],
      set: { etag },
    })
    .returning({ number: flashUploadPart.number });
  return saved.length > 0;
}

/** Parts that have arrived, in the order of their numbers. */
export async function listFlashUploadParts(db: Database, uploadId: string): Promise<FlashUploadPartRecord[]> {
  return await db
    .select({ number: flashUploadPart.number, etag: flashUploadPart.etag })
    .from(flashUploadPart)
    .where(eq(flashUploadPart.uploadId, uploadId))
    .orderBy(asc(flashUploadPart.number));
}

/** Forgets all parts that have arrived: they must be sent again. */
export async function deleteFlashUploadParts(db: Database, uploadId: string): Promise<void> {
  await db.batch([
    db.delete(flashUploadPart).where(eq(flashUploadPart.uploadId, uploadId)),
    db.update(flashUpload).set({ multipartId: null }).where(eq(flashUpload.id, uploadId)),
  ]);
}

// Ending

/** Uploads of all accounts that ended before. */
export async function listEndedFlashUploads(
  db: Database,
  before: number,
  limit: number,
): Promise<FlashUploadRecord[]> {
  return await db.select().from(flashUpload).where(lt(flashUpload.expiresAt, before)).limit(limit);
}

export async function listFlashUploadsOfApp(
  db: Database,
  accountId: string,
  appId: string,
  limit: number,
): Promise<FlashUploadRecord[]> {
  return await db
    .select()
    .from(flashUpload)
    .where(isOf({ accountId, id: appId }))
    .limit(limit);
}

/** Ends an upload; maintenance removes its object. */
export async function endFlashUpload(db: Database, uploadId: string, now: number): Promise<void> {
  await db.update(flashUpload).set({ expiresAt: now }).where(eq(flashUpload.id, uploadId));
}

export async function deleteFlashUploads(db: Database, uploadIds: readonly string[]): Promise<void> {
  const parts = db.delete(flashUploadPart).where(isOneOf(flashUploadPart.uploadId, uploadIds));
  await db.batch([parts, db.delete(flashUpload).where(isOneOf(flashUpload.id, uploadIds))]);
}

function isOf(app: { readonly accountId: string; readonly id: string }): SQL | undefined {
  return and(eq(flashUpload.accountId, app.accountId), eq(flashUpload.appId, app.id));
}
