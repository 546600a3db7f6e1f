import { and, asc, eq, gt, isNull, lte, or, sql, type SQL } from "drizzle-orm";
import { findApiKey, mayAddHosts } from "./credentials/api-keys.ts";
import { auditIfChanged, type AuditSubject, type Author } from "./audit-log.ts";
import { rowIf, type Database, isOwn } from "./database.ts";
import { randomRowId } from "./row-id.ts";
import { host } from "./schema.ts";

/** Hosts that have ended do not count. Fleet has those of all accounts in memory. */
export const HOSTS_MAX = 1_000;

export type HostRecord = typeof host.$inferSelect;

export type FoundHost = {
  readonly hostId: string;
  readonly accountId: string;
  readonly name: string;
  readonly expiresAt: number | null;
};

export type NewHost = Pick<HostRecord, "accountId" | "name" | "tokenHash" | "apiKeyId">;

/**
 * Inserts a host, which ends with the key that let it in; returns undefined when that key has ended, or when the
 * account has as many hosts as it may have.
 */
export async function createHost(
  db: Database,
  values: NewHost,
  now: number,
): Promise<HostRecord | undefined> {
  const { accountId, apiKeyId } = values;
  const key = apiKeyId === null ? undefined : await findApiKey(db, accountId, apiKeyId);
  const expiresAt = key?.expiresAt ?? null; // null for a key that never expires
  const record = { ...values, id: randomRowId(), createdAt: now, revokedAt: null, expiresAt };
  const isAllowed = apiKeyId === null ? sql`1` : mayAddHosts(db, apiKeyId, now);
  const [inserted] = await db
    .insert(host)
    .select(rowIf(host, record, and(isAllowed, mayHaveMoreHosts(db, accountId, now))))
    .returning();
  return inserted;
}

export async function countHosts(db: Database, accountId: string, now: number): Promise<number> {
  return await db.$count(host, isListed(accountId, now));
}

function mayHaveMoreHosts(db: Database, accountId: string, now: number): SQL {
  return sql`${db.$count(host, isListed(accountId, now))} < ${HOSTS_MAX}`;
}

/** The hosts of the account that have not ended. */
function isListed(accountId: string, now: number): SQL | undefined {
  const hasNotEnded = and(isNull(host.revokedAt), or(isNull(host.expiresAt), gt(host.expiresAt, now)));
  return and(eq(host.accountId, accountId), hasNotEnded);
}

/** Finds a host whose token is not revoked; it may have ended with its key. */
export async function findHostByTokenHash(db: Database, hash: string): Promise<FoundHost | undefined> {
  return await db
    .select({ hostId: host.id, accountId: host.accountId, name: host.name, expiresAt: host.expiresAt })
    .from(host)
    .where(and(eq(host.tokenHash, hash), isNull(host.revokedAt)))
    .get();
}

/** Finds a host of the account, also one whose token is revoked. */
export async function findOwnHost(
  db: Database,
  accountId: string,
  hostId: string,
): Promise<HostRecord | undefined> {
  return await db
    .select()
    .from(host)
    .where(isOwn(host, accountId, hostId))
    .get();
}

/** The hosts of the account that have not ended, the oldest first. */
export async function listHosts(db: Database, accountId: string, now: number): Promise<HostRecord[]> {
  return await db
    .select()
    .from(host)
    .where(isListed(accountId, now))
    .orderBy(asc(host.createdAt), asc(host.id));
}

/**
 * Records what the account wants of a host, which Fleet keeps; returns whether the host is still the account's.
 * The row is written unchanged, since an audit entry always follows a write.
 */
export async function auditHostChange(
  db: Database,
  author: Author,
  read: HostRecord,
  fields: readonly string[],
): Promise<boolean> {
  const write = db
    .update(host)
    .set({ name: read.name })
    .where(and(isOwn(host, author.accountId, read.id), isNull(host.revokedAt)))
    .returning({ id: host.id });
  const [written] = await db.batch([write, auditIfChanged(db, author, { ...subjectOf(read), fields })]);
  return written.length > 0;
}

/** Revokes the token of a host; one that is revoked stays as it is. */
export async function revokeHost(db: Database, author: Author, read: HostRecord): Promise<void> {
  const write = db
    .update(host)
    .set({ revokedAt: author.now })
    .where(and(isOwn(host, author.accountId, read.id), isNull(host.revokedAt)));
  await db.batch([write, auditIfChanged(db, author, subjectOf(read))]);
}

/** The hosts that a key of the account has let in and whose token is not revoked. */
export async function listHostsOfKey(
  db: Database,
  accountId: string,
  apiKeyId: string,
): Promise<HostRecord[]> {
  return await db
    .select()
    .from(host)
    .where(and(eq(host.accountId, accountId), eq(host.apiKeyId, apiKeyId), isNull(host.revokedAt)));
}

/** Hosts of all accounts that have ended with their keys and whose token is not revoked. */
export async function listExpiredHosts(db: Database, now: number, limit: number): Promise<HostRecord[]> {
  return await db
    .select()
    .from(host)
    .where(and(isNull(host.revokedAt), lte(host.expiresAt, now)))
    .limit(limit);
}

function subjectOf({ id, name }: HostRecord): AuditSubject {
  return { kind: "host", id, name };
}
