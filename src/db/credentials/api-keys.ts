import { and, desc, eq, exists, gt, inArray, isNull, lt, or, sql, type SQLWrapper } from "drizzle-orm";
import { alias } from "drizzle-orm/sqlite-core";
import { OWNER_PERMISSIONS, type Permissions } from "../../domain/accounts/permissions.ts";
import { isWithinQuota } from "../quotas.ts";
import { changedFields, type AuditSubject, type Author, writeAudited } from "../audit-log.ts";
import { rowIf, type Database, isOwn } from "../database.ts";
import { randomRowId } from "../row-id.ts";
import { account, apiKey } from "../schema.ts";

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
    .where(isOwn(apiKey, accountId, apiKeyId))
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

/** Inserts a key; undefined when the author's own key has changed, or the quota is used up. */
export async function insertApiKeyIfAllowed(
  db: Database,
  author: Author,
  own: ApiKeyRecord,
  values: NewApiKey,
): Promise<ApiKeyRecord | undefined> {
  const record = freshApiKey(author.accountId, values, author.now);
  const row = rowIf(apiKey, record, and(isWithinQuota("apiKey", author.accountId), stillAllows(db, own)));
  return await writeAudited(db, author, db.insert(apiKey).select(row).returning(), subjectOf(record));
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

/** Changes a key if it and the author's own still are in force and allow what they were read to allow. */
export async function updateApiKeyIfUnchanged(
  db: Database,
  author: Author,
  own: ApiKeyRecord,
  read: ApiKeyRecord,
  values: Pick<ApiKeyRecord, "name" | "permissions">,
): Promise<ApiKeyRecord | undefined> {
  const fields = changedFields(read, values);
  if (fields.length === 0) return read;
  return await writeAudited(
    db,
    author,
    db
      .update(apiKey)
      .set(values)
      .where(and(isUnchanged(author, read), stillAllows(db, own)))
      .returning(),
    { ...subjectOf({ ...read, ...values }), fields },
  );
}

/** Revokes a key if it and the author's own still are in force and allow what they were read to allow. */
export async function revokeApiKeyIfUnchanged(
  db: Database,
  author: Author,
  own: ApiKeyRecord,
  read: ApiKeyRecord,
): Promise<ApiKeyRecord | undefined> {
  return await writeAudited(
    db,
    author,
    db
      .update(apiKey)
      .set({ revokedAt: author.now })
      .where(and(isUnchanged(author, read), stillAllows(db, own)))
      .returning(),
    subjectOf(read),
  );
}

function isUnchanged({ accountId }: Author, read: ApiKeyRecord) {
  return and(
    eq(apiKey.accountId, accountId),
    eq(apiKey.id, read.id),
    eq(apiKey.permissions, read.permissions),
    isNull(apiKey.revokedAt),
  );
}

/** Whether a key is in force and allows what it was read to allow, at the moment of a write to any key. */
export function stillAllows(db: Database, read: ApiKeyRecord) {
  const own = alias(apiKey, "own");
  const isAsRead = and(
    eq(own.accountId, read.accountId),
    eq(own.id, read.id),
    eq(own.permissions, read.permissions),
    isNull(own.revokedAt),
  );
  return exists(
    db
      .select({ one: sql`1` })
      .from(own)
      .where(isAsRead),
  );
}

/** For a write: whether the key of this id may change the account at that moment, and so let hosts in. */
export function mayAddHosts(db: Database, apiKeyId: SQLWrapper | string, now: number) {
  const isInForce = and(
    eq(apiKey.id, apiKeyId),
    isNull(apiKey.revokedAt),
    or(isNull(apiKey.expiresAt), gt(apiKey.expiresAt, now)),
    sql`json_extract(${apiKey.permissions}, '$.graphql') = 'write'`,
  );
  return exists(
    db
      .select({ one: sql`1` })
      .from(apiKey)
      .where(isInForce),
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
        permissions: OWNER_PERMISSIONS,
        createdAt: now,
      })
      .onConflictDoNothing({ target: apiKey.hash }),
  ]);
}

export async function recordApiKeyUse(db: Database, apiKeyId: string, now: number): Promise<void> {
  await db.update(apiKey).set({ lastUsedAt: now }).where(eq(apiKey.id, apiKeyId));
}

/** Removes keys of all accounts that were revoked or expired before; returns how many. */
export async function removeEndedApiKeys(db: Database, before: number, limit: number): Promise<number> {
  const ended = db
    .select({ id: apiKey.id })
    .from(apiKey)
    .where(or(lt(apiKey.revokedAt, before), lt(apiKey.expiresAt, before)))
    .limit(limit);
  const removed = await db.delete(apiKey).where(inArray(apiKey.id, ended)).returning({ id: apiKey.id });
  return removed.length;
}

function subjectOf({ id, name }: Pick<ApiKeyRecord, "id" | "name">): AuditSubject {
  return { kind: "api_key", id, name };
}
