import { and, desc, eq, gt, inArray, isNull, lte } from "drizzle-orm";
import { audit, auditIfChanged, writeAudited, type AuditSubject, type Author } from "../audit-log.ts";
import { isOwn, rowIf, type Database } from "../database.ts";
import { isWithinQuota } from "../quotas.ts";
import { randomRowId } from "../row-id.ts";
import { apiKey, signIn } from "../schema.ts";
import type { FoundApiKey } from "./api-keys.ts";

export type SignInRecord = typeof signIn.$inferSelect;

// Reading

/** The key of a browser that is signed in, unless it is revoked; it may have expired. Its hash tells whether it is still that of the environment. */
export async function findSignInKey(
  db: Database,
  hash: string,
): Promise<(FoundApiKey & { readonly signInId: string; readonly keyHash: string }) | undefined> {
  const found = await db
    .select({ own: signIn, key: apiKey })
    .from(signIn)
    .innerJoin(apiKey, and(eq(apiKey.accountId, signIn.accountId), eq(apiKey.id, signIn.apiKeyId)))
    .where(and(eq(signIn.hash, hash), eq(signIn.isLink, false), isNull(apiKey.revokedAt)))
    .get();
  if (found === undefined) return undefined;
  const { own, key } = found;
  return {
    apiKeyId: key.id,
    accountId: key.accountId,
    name: key.name,
    isRoot: key.isRoot,
    permissions: key.permissions,
    expiresAt: Math.min(own.expiresAt, key.expiresAt ?? Infinity),
    lastUsedAt: key.lastUsedAt,
    signInId: own.id,
    keyHash: key.hash,
  };
}

/** The account's browsers and links that have not ended, the newest first. */
export async function listSignIns(db: Database, accountId: string, now: number): Promise<SignInRecord[]> {
  return await db
    .select()
    .from(signIn)
    .where(and(eq(signIn.accountId, accountId), gt(signIn.expiresAt, now)))
    .orderBy(desc(signIn.createdAt), desc(signIn.id));
}

// Writing

/** Inserts a sign-in if the quota of the account allows one more. */
export async function insertSignInWithinQuota(
  db: Database,
  author: Author,
  values: Pick<SignInRecord, "hash" | "isLink" | "client" | "expiresAt">,
): Promise<SignInRecord | undefined> {
  const { accountId, apiKeyId, now } = author;
  const record = { ...values, id: randomRowId(), accountId, apiKeyId, createdAt: now };
  const row = rowIf(signIn, record, isWithinQuota("signIn", accountId));
  return await writeAudited(db, author, db.insert(signIn).select(row).returning(), subjectOf(record));
}

/** Turns a link into the sign-in of the browser that follows it; undefined for one that was followed or has expired. */
export async function followLink(
  db: Database,
  linkHash: string,
  { now, ...values }: Pick<SignInRecord, "hash" | "client" | "expiresAt"> & { readonly now: number },
): Promise<SignInRecord | undefined> {
  const isOpen = and(eq(signIn.hash, linkHash), eq(signIn.isLink, true), gt(signIn.expiresAt, now));
  const [followed] = await db
    .update(signIn)
    .set({ ...values, isLink: false, createdAt: now })
    .where(isOpen)
    .returning();
  if (followed === undefined) return undefined;
  const { accountId, apiKeyId } = followed;
  await audit(db, { accountId, apiKeyId, operation: "follow sign-in link", now }, subjectOf(followed));
  return followed;
}

/** Ends a sign-in of the account; returns whether there was one. */
export async function removeSignIn(db: Database, author: Author, id: string): Promise<boolean> {
  const removal = db
    .delete(signIn)
    .where(isOwn(signIn, author.accountId, id))
    .returning({ id: signIn.id });
  const [removed] = await db.batch([removal, auditIfChanged(db, author, subjectOf({ id, client: "" }))]);
  return removed.length > 0;
}

/** Removes sign-ins of all accounts that have expired; returns how many. */
export async function removeExpiredSignIns(db: Database, now: number, limit: number): Promise<number> {
  const expired = db.select({ id: signIn.id }).from(signIn).where(lte(signIn.expiresAt, now)).limit(limit);
  const removed = await db.delete(signIn).where(inArray(signIn.id, expired)).returning({ id: signIn.id });
  return removed.length;
}

function subjectOf({ id, client }: Pick<SignInRecord, "id" | "client">): AuditSubject {
  return { kind: "sign_in", id, name: client || null };
}
