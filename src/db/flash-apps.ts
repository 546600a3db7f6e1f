import { and, asc, eq, notExists, sql } from "drizzle-orm";
import { hasRoom } from "./account-room.ts";
import { noteIfChanged, type AuditSubject, type Author } from "./audit-log.ts";
import { rowIf } from "./conditional-insert.ts";
import type { Database } from "./database.ts";
import { randomRowId } from "./row-id.ts";
import { flashApp, flashBuild, flashEnvironment, flashUpload } from "./schema.ts";

export type FlashAppRecord = typeof flashApp.$inferSelect;

export async function findFlashApp(
  db: Database,
  accountId: string,
  appId: string,
): Promise<FlashAppRecord | undefined> {
  return await db
    .select()
    .from(flashApp)
    .where(and(eq(flashApp.accountId, accountId), eq(flashApp.id, appId)))
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

/** The oldest first. */
export async function listFlashApps(db: Database, accountId: string): Promise<FlashAppRecord[]> {
  return await db
    .select()
    .from(flashApp)
    .where(eq(flashApp.accountId, accountId))
    .orderBy(asc(flashApp.createdAt), asc(flashApp.id));
}

/** Inserts an app; nothing comes back when its name is taken or the account has no room. */
export async function insertFlashAppIfFree(
  db: Database,
  author: Author,
  name: string,
): Promise<FlashAppRecord | undefined> {
  const { accountId, now } = author;
  const record = { id: randomRowId(), accountId, name, createdAt: now };
  const [[inserted]] = await db.batch([
    db
      .insert(flashApp)
      .select(rowIf(flashApp, record, hasRoom("flashApp", accountId)))
      .onConflictDoNothing({ target: [flashApp.accountId, flashApp.name] })
      .returning(),
    noteIfChanged(db, author, subjectOf(record)),
  ]);
  return inserted;
}

/** Deletes an app that has no environment, build or upload; says whether it did. */
export async function deleteFlashAppIfEmpty(
  db: Database,
  author: Author,
  read: FlashAppRecord,
): Promise<boolean> {
  const parts = [flashEnvironment, flashBuild, flashUpload].map((table) =>
    notExists(
      db
        .select({ one: sql`1` })
        .from(table)
        .where(eq(table.appId, read.id)),
    ),
  );
  const deletion = db
    .delete(flashApp)
    .where(and(eq(flashApp.accountId, author.accountId), eq(flashApp.id, read.id), ...parts))
    .returning({ id: flashApp.id });
  const [deleted] = await db.batch([deletion, noteIfChanged(db, author, subjectOf(read))]);
  return deleted.length > 0;
}

function subjectOf({ id, name }: FlashAppRecord): AuditSubject {
  return { kind: "flash_app", id, name };
}
