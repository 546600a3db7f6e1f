import { and, asc, eq, isNull } from "drizzle-orm";
import { noteIfChanged, type AuditSubject, type Author } from "./audit-log.ts";
import type { Database } from "./database.ts";
import { randomRowId } from "./row-id.ts";
import { host } from "./schema.ts";

export type HostRecord = typeof host.$inferSelect;

export async function createHost(
  db: Database,
  values: { readonly accountId: string; readonly name: string; readonly tokenHash: string },
  now: number,
): Promise<HostRecord> {
  const record = { ...values, id: randomRowId(), createdAt: now, revokedAt: null };
  await db.insert(host).values(record);
  return record;
}

/** Finds a host whose token is not revoked. */
export async function findHostByTokenHash(
  db: Database,
  hash: string,
): Promise<{ readonly hostId: string; readonly accountId: string; readonly name: string } | undefined> {
  return await db
    .select({ hostId: host.id, accountId: host.accountId, name: host.name })
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
  return await db.select().from(host).where(isOwn(accountId, hostId)).get();
}

/** The hosts of the account whose token is not revoked, the oldest first. */
export async function listHosts(db: Database, accountId: string): Promise<HostRecord[]> {
  return await db
    .select()
    .from(host)
    .where(and(eq(host.accountId, accountId), isNull(host.revokedAt)))
    .orderBy(asc(host.createdAt), asc(host.id));
}

/**
 * Notes what the account wants of a host, which Fleet keeps; says whether the host is still the account's.
 * The row is written as it is, since a note stands behind a write.
 */
export async function noteHostChange(
  db: Database,
  author: Author,
  read: HostRecord,
  fields: readonly string[],
): Promise<boolean> {
  const write = db
    .update(host)
    .set({ name: read.name })
    .where(and(isOwn(author.accountId, read.id), isNull(host.revokedAt)))
    .returning({ id: host.id });
  const [written] = await db.batch([write, noteIfChanged(db, author, { ...subjectOf(read), fields })]);
  return written.length > 0;
}

/** Revokes the token of a host; one that is revoked stays as it is. */
export async function revokeHost(db: Database, author: Author, read: HostRecord): Promise<void> {
  const write = db
    .update(host)
    .set({ revokedAt: author.now })
    .where(and(isOwn(author.accountId, read.id), isNull(host.revokedAt)));
  await db.batch([write, noteIfChanged(db, author, subjectOf(read))]);
}

function isOwn(accountId: string, hostId: string) {
  return and(eq(host.accountId, accountId), eq(host.id, hostId));
}

function subjectOf({ id, name }: HostRecord): AuditSubject {
  return { kind: "host", id, name };
}
