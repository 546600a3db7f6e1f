import { and, asc, eq, gt, inArray, isNull, lt, or } from "drizzle-orm";
import { mayAddHosts } from "./api-keys.ts";
import { isWithinQuota } from "../quotas.ts";
import { auditIfChanged, type Author } from "../audit-log.ts";
import { rowIf, type Database } from "../database.ts";
import { joinToken } from "../schema.ts";

export type JoinTokenRecord = typeof joinToken.$inferSelect;

/** Characters of a token's hash by which lists and the audit log name it. */
const SUBJECT_ID_LENGTH = 16;

/** The id of a token, which was shown once and is known by its hash. */
export function idOfJoinToken({ hash }: Pick<JoinTokenRecord, "hash">): string {
  return hash.slice(0, SUBJECT_ID_LENGTH);
}

/** Finds a token, even one that was used or has expired. */
export async function findJoinToken(db: Database, hash: string): Promise<JoinTokenRecord | undefined> {
  return await db.select().from(joinToken).where(eq(joinToken.hash, hash)).get();
}

/** The account's tokens that a host can still join with, the oldest first. */
export async function listJoinTokens(
  db: Database,
  accountId: string,
  now: number,
): Promise<JoinTokenRecord[]> {
  return await db
    .select()
    .from(joinToken)
    .where(and(eq(joinToken.accountId, accountId), isNull(joinToken.usedAt), gt(joinToken.expiresAt, now)))
    .orderBy(asc(joinToken.createdAt), asc(joinToken.hash));
}

/** Removes a token of the account that no host has used; returns whether there was one. */
export async function removeJoinToken(
  db: Database,
  author: Author,
  read: Pick<JoinTokenRecord, "hash" | "name">,
): Promise<boolean> {
  const { hash, name } = read;
  const removal = db
    .delete(joinToken)
    .where(and(eq(joinToken.hash, hash), eq(joinToken.accountId, author.accountId), isNull(joinToken.usedAt)))
    .returning({ hash: joinToken.hash });
  const subject = { kind: "join_token", id: idOfJoinToken(read), name } as const;
  const [removed] = await db.batch([removal, auditIfChanged(db, author, subject)]);
  return removed.length > 0;
}

/** Inserts a join token if the quota of the account allows one more; returns whether it did. */
export async function insertJoinTokenWithinQuota(
  db: Database,
  author: Author,
  values: Pick<JoinTokenRecord, "hash" | "name" | "expiresAt" | "apiKeyId">,
): Promise<boolean> {
  const { accountId, now } = author;
  const { hash, name } = values;
  const record = { ...values, accountId, createdAt: now, usedAt: null };
  const subject = { kind: "join_token", id: idOfJoinToken({ hash }), name } as const;
  const [inserted] = await db.batch([
    db
      .insert(joinToken)
      .select(rowIf(joinToken, record, isWithinQuota("joinToken", accountId)))
      .returning({ hash: joinToken.hash }),
    auditIfChanged(db, author, subject),
  ]);
  return inserted.length > 0;
}

/** Uses up a token that is not used or expired and whose key is in force; only one of several callers succeeds. */
export async function redeemJoinToken(
  db: Database,
  hash: string,
  now: number,
): Promise<Pick<JoinTokenRecord, "accountId" | "apiKeyId"> | undefined> {
  const isOpen = and(eq(joinToken.hash, hash), isNull(joinToken.usedAt), gt(joinToken.expiresAt, now));
  const [redeemed] = await db
    .update(joinToken)
    .set({ usedAt: now })
    .where(and(isOpen, or(isNull(joinToken.apiKeyId), mayAddHosts(db, joinToken.apiKeyId, now))))
    .returning({ accountId: joinToken.accountId, apiKeyId: joinToken.apiKeyId });
  return redeemed;
}

/** Removes tokens of all accounts that expired before; returns how many. */
export async function removeExpiredJoinTokens(db: Database, before: number, limit: number): Promise<number> {
  const expired = db
    .select({ hash: joinToken.hash })
    .from(joinToken)
    .where(lt(joinToken.expiresAt, before))
    .limit(limit);
  const removed = await db
    .delete(joinToken)
    .where(inArray(joinToken.hash, expired))
    .returning({ hash: joinToken.hash });
  return removed.length;
}
