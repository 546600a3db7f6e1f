import { and, desc, eq, inArray, isNull, lt, or } from "drizzle-orm";
import type { Permissions } from "../domain/permissions.ts";
import { changedFields, noteIfChanged, type AuditSubject, type Author } from "./audit-log.ts";
import type { Database } from "./database.ts";
import { randomRowId } from "./row-id.ts";
import { account, apiKey } from "./schema.ts";

/** The account that the key of the environment opens. */
const ROOT_ACCOUNT_ID = "default";

export type ApiKeyRecord = typeof apiKey.$inferSelect;

export type FoundApiKey = {
  readonly apiKeyId: string;
  readonly accountId: string;
  readonly name: string;
  readonly isRoot: boolean;
  readonly permissions: Permissions;
  readonly expiresAt: number | null;
  readonly lastUsedAt: number | null;
};

// Reading

/** Finds a key that is not revoked; it may have expired. */
export async function findApiKeyByHash(db: Database, hash: string): Promise<FoundApiKey | undefined> {
  return await db
    .select({
      apiKeyId: apiKey.id,
      accountId: apiKey.accountId,
      name: apiKey.name,
      isRoot: apiKey.isRoot,
      permissions: apiKey.permissions,
      expiresAt: apiKey.expiresAt,
      lastUsedAt: apiKey.lastUsedAt,
    })
    .from(apiKey)
    .where(and(eq(apiKey.hash, hash), isNull(apiKey.revokedAt)))
    .get();
}

export async function findApiKey(
  db: Database,
  accountId: string,
  apiKeyId: string,
): Promise<ApiKeyRecord | undefined> {
  return await db
    .select()
    .from(apiKey)
    .where(and(eq(apiKey.accountId, accountId), eq(apiKey.id, apiKeyId)))
    .get();
}

/** The account's keys, revoked and expired ones included, the newest first. */
export async function listApiKeys(db: Database, accountId: string): Promise<ApiKeyRecord[]> {
  return await db
    .select()
    .from(apiKey)
    .where(eq(apiKey.accountId, accountId))
    .orderBy(desc(apiKey.createdAt), desc(apiKey.id));
}

// Writing

export type NewApiKey = Pick<ApiKeyRecord, "hash" | "name" | "hint" | "permissions" | "expiresAt">;

export async function insertApiKey(db: Database, author: Author, values: NewApiKey): Promise<ApiKeyRecord> {
  const record = freshApiKey(author.accountId, values, author.now);
  await db.batch([db.insert(apiKey).values(record), noteIfChanged(db, author, subjectOf(record))]);
  return record;
}

/** The row of a new key, not yet written. */
export function freshApiKey(accountId: string, values: NewApiKey, now: number): ApiKeyRecord {
  return {
    ...values,
    id: randomRowId(),
    accountId,
    isRoot: false,
    createdAt: now,
    revokedAt: null,
    lastUsedAt: null,
  };
}

/** Changes a key if it still is in force and allows what it was read to allow. */
export async function updateApiKeyIfUnchanged(
  db: Database,
  author: Author,
  read: ApiKeyRecord,
  values: Pick<ApiKeyRecord, "name" | "permissions">,
): Promise<ApiKeyRecord | undefined> {
  const fields = changedFields(read, values);
  if (fields.length === 0) return read;
  const [[updated]] = await db.batch([
    db.update(apiKey).set(values).where(isUnchanged(author, read)).returning(),
    noteIfChanged(db, author, { ...subjectOf({ ...read, ...values }), fields }),
  ]);
  return updated;
}

/** Revokes a key if it still is in force and allows what it was read to allow. */
export async function revokeApiKeyIfUnchanged(
  db: Database,
  author: Author,
  read: ApiKeyRecord,
): Promise<ApiKeyRecord | undefined> {
  const [[revoked]] = await db.batch([
    db.update(apiKey).set({ revokedAt: author.now }).where(isUnchanged(author, read)).returning(),
    noteIfChanged(db, author, subjectOf(read)),
  ]);
  return revoked;
}

function isUnchanged({ accountId }: Author, read: ApiKeyRecord) {
  return and(
    eq(apiKey.accountId, accountId),
    eq(apiKey.id, read.id),
    eq(apiKey.permissions, read.permissions),
    isNull(apiKey.revokedAt),
  );
}

/** Makes the account "default" and this key of it exist; a revoked key stays revoked. */
export async function ensureRootApiKey(db: Database, hash: string, now: number): Promise<void> {
  await db.batch([
    db
      .insert(account)
      .values({ id: ROOT_ACCOUNT_ID, name: ROOT_ACCOUNT_ID, createdAt: now })
      .onConflictDoNothing(),
    db
      .insert(apiKey)
      .values({
        id: randomRowId(),
        accountId: ROOT_ACCOUNT_ID,
        hash,
        name: "root",
        isRoot: true,
        createdAt: now,
      })
      .onConflictDoNothing({ target: apiKey.hash }),
  ]);
}

export async function recordApiKeyUse(db: Database, apiKeyId: string, now: number): Promise<void> {
  await db.update(apiKey).set({ lastUsedAt: now }).where(eq(apiKey.id, apiKeyId));
}

/** Removes keys of all accounts that were revoked or expired before; says how many. */
export async function removeDeadApiKeys(db: Database, before: number, limit: number): Promise<number> {
  const dead = db
    .select({ id: apiKey.id })
    .from(apiKey)
    .where(or(lt(apiKey.revokedAt, before), lt(apiKey.expiresAt, before)))
    .limit(limit);
  const removed = await db.delete(apiKey).where(inArray(apiKey.id, dead)).returning({ id: apiKey.id });
  return removed.length;
}

function subjectOf({ id, name }: Pick<ApiKeyRecord, "id" | "name">): AuditSubject {
  return { kind: "api_key", id, name };
}
