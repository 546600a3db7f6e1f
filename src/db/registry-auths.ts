import { and, asc, eq } from "drizzle-orm";
import { noteIfChanged, type Author, type AuditSubject } from "./audit-log.ts";
import type { Database } from "./database.ts";
import { randomRowId } from "./row-id.ts";
import { registryAuth } from "./schema.ts";

export type RegistryAuthRecord = typeof registryAuth.$inferSelect;

export async function listRegistryAuthsOf(db: Database, accountId: string): Promise<RegistryAuthRecord[]> {
  return await db
    .select()
    .from(registryAuth)
    .where(eq(registryAuth.accountId, accountId))
    .orderBy(asc(registryAuth.createdAt), asc(registryAuth.id));
}

export async function findRegistryAuth(
  db: Database,
  accountId: string,
  registryAuthId: string,
): Promise<RegistryAuthRecord | undefined> {
  return await db.select().from(registryAuth).where(isOwn(accountId, registryAuthId)).get();
}

export async function insertRegistryAuth(
  db: Database,
  author: Author,
  values: Pick<RegistryAuthRecord, "name" | "sealedCredentials">,
): Promise<RegistryAuthRecord> {
  const { accountId, now } = author;
  const record = { ...values, id: randomRowId(), accountId, createdAt: now, updatedAt: now };
  await db.batch([db.insert(registryAuth).values(record), noteIfChanged(db, author, subjectOf(record))]);
  return record;
}

export async function removeRegistryAuth(
  db: Database,
  author: Author,
  read: RegistryAuthRecord,
): Promise<void> {
  const deletion = db.delete(registryAuth).where(isOwn(author.accountId, read.id));
  await db.batch([deletion, noteIfChanged(db, author, subjectOf(read))]);
}

function isOwn(accountId: string, registryAuthId: string) {
  return and(eq(registryAuth.accountId, accountId), eq(registryAuth.id, registryAuthId));
}

function subjectOf({ id, name }: RegistryAuthRecord): AuditSubject {
  return { kind: "registry_auth", id, name };
}
