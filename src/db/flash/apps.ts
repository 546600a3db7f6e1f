import { and, asc, eq, inArray, lt, notExists, sql, type SQL } from "drizzle-orm";
import { isWithinQuota } from "../quotas.ts";
import { type AuditSubject, type Author, writeAudited } from "../audit-log.ts";
import { rowIf, type Database, isOwn } from "../database.ts";
import { randomRowId } from "../row-id.ts";
import { flashApp, flashBuild, flashEnvironment, flashUpload } from "../schema.ts";

export type FlashAppRecord = typeof flashApp.$inferSelect;

export async function findFlashApp(
  db: Database,
  accountId: string,
  appId: string,
): Promise<FlashAppRecord | undefined> {
  return await db
    .select()
    .from(flashApp)
    .where(isOwn(flashApp, accountId, appId))
    .get();
}

export async function findFlashAppByName(
  db: Database,
  accountId: string,
  name: string,
): Promise<FlashAppRecord | undefined> {
  return await db
    .select()
    .from(flashApp)
    .where(and(eq(flashApp.accountId, accountId), eq(flashApp.name, name)))
    .get();
}

/** Apps of the account, the oldest first. */
export async function listFlashApps(db: Database, accountId: string): Promise<FlashAppRecord[]> {
  return await db
    .select()
    .from(flashApp)
    .where(eq(flashApp.accountId, accountId))
    .orderBy(asc(flashApp.createdAt), asc(flashApp.id));
}

/** Inserts an app; undefined when its name is taken or the quota of the account is used up. */
export async function insertFlashAppIfFree(
  db: Database,
  author: Author,
  values: Pick<FlashAppRecord, "name" | "isForSessions">,
): Promise<FlashAppRecord | undefined> {
  const { accountId, now } = author;
  const record = { ...values, id: randomRowId(), accountId, createdAt: now };
  return await writeAudited(
    db,
    author,
    db
      .insert(flashApp)
      .select(rowIf(flashApp, record, isWithinQuota("flashApp", accountId)))
      .onConflictDoNothing({ target: [flashApp.accountId, flashApp.name] })
      .returning(),
    subjectOf(record),
  );
}

/** Makes an app permanent that was created for sessions; returns undefined when it is gone, or already permanent. */
export async function makeFlashAppPermanent(
  db: Database,
  author: Author,
  read: FlashAppRecord,
): Promise<FlashAppRecord | undefined> {
  const update = db
    .update(flashApp)
    .set({ isForSessions: false })
    .where(and(isOwn(flashApp, author.accountId, read.id), eq(flashApp.isForSessions, true)))
    .returning();
  return await writeAudited(db, author, update, { ...subjectOf(read), fields: ["isForSessions"] });
}

/** Deletes an app without environment, build or upload that is as permanent as it was read; returns whether it did. */
export async function deleteFlashAppIfEmpty(
  db: Database,
  author: Author,
  read: FlashAppRecord,
): Promise<boolean> {
  const isAsRead = eq(flashApp.isForSessions, read.isForSessions);
  const deletion = db
    .delete(flashApp)
    .where(and(isOwn(flashApp, author.accountId, read.id), isAsRead, isEmpty(db)))
    .returning({ id: flashApp.id });
  return (await writeAudited(db, author, deletion, subjectOf(read))) !== undefined;
}

/** Deletes apps of all accounts that were created for sessions before and are empty; returns how many. */
export async function removeOrphanedFlashApps(db: Database, before: number, limit: number): Promise<number> {
  const isOrphaned = and(eq(flashApp.isForSessions, true), lt(flashApp.createdAt, before), isEmpty(db));
  const orphaned = db.select({ id: flashApp.id }).from(flashApp).where(isOrphaned).limit(limit);
  const deleted = await db
    .delete(flashApp)
    .where(inArray(flashApp.id, orphaned))
    .returning({ id: flashApp.id });
  return deleted.length;
}

function isEmpty(db: Database): SQL | undefined {
  const parts = [flashEnvironment, flashBuild, flashUpload].map((table) =>
    notExists(
      db
        .select({ one: sql`1` })
        .from(table)
        .where(eq(table.appId, flashApp.id)),
    ),
  );
  return and(...parts);
}

function subjectOf({ id, name }: FlashAppRecord): AuditSubject {
  return { kind: "flash_app", id, name };
}
