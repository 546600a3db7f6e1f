/** Clients that wait for the approval of a user in the browser. */
import { and, eq, gt, inArray, lt, sql } from "drizzle-orm";
import { freshApiKey, stillAllows, type ApiKeyRecord, type NewApiKey } from "../credentials/api-keys.ts";
import { auditIfChanged, type Author, writeAudited } from "../audit-log.ts";
import { isWithinQuota } from "../quotas.ts";
import { rowIf, type Database } from "../database.ts";
import { apiKey, flashAuthRequest } from "../schema.ts";

export type FlashAuthRecord = typeof flashAuthRequest.$inferSelect;

export async function findAuthRequest(db: Database, id: string): Promise<FlashAuthRecord | undefined> {
  return await db.select().from(flashAuthRequest).where(eq(flashAuthRequest.id, id)).get();
}

export type Approval = {
  readonly request: FlashAuthRecord;
  /** The approver's own key, as it was read. */
  readonly own: ApiKeyRecord;
  readonly values: NewApiKey;
  readonly sealedKey: string;
};

/** Makes the key and stores it with the request; returns undefined when either is no longer allowed. */
export async function approveIfPending(
  db: Database,
  author: Author,
  { request, own, values, sealedKey }: Approval,
): Promise<FlashAuthRecord | undefined> {
  const { accountId, now } = author;
  const key = freshApiKey(accountId, values, now);
  const approved = { ...request, status: "APPROVED", accountId, sealedKey } as const;
  const row = rowIf(
    apiKey,
    key,
    and(isWithinQuota("apiKey", accountId), stillAllows(db, own), isUndecided(request)),
  );
  const isMade = sql`EXISTS (SELECT 1 FROM ${apiKey} WHERE ${apiKey.id} = ${key.id})`;
  const [, , [inserted]] = await db.batch([
    db.insert(apiKey).select(row),
    auditIfChanged(db, author, { kind: "api_key", id: key.id, name: key.name }),
    db
      .insert(flashAuthRequest)
      .select(rowIf(flashAuthRequest, approved, isMade))
      .returning(),
  ]);
  return inserted;
}

export async function denyIfPending(
  db: Database,
  author: Author,
  request: FlashAuthRecord,
): Promise<FlashAuthRecord | undefined> {
  const denied = { ...request, status: "DENIED", accountId: author.accountId } as const;
  return await writeAudited(
    db,
    author,
    db
      .insert(flashAuthRequest)
      .select(rowIf(flashAuthRequest, denied, isUndecided(request)))
      .returning(),
    { kind: "flash_auth_request", id: request.id, name: request.client },
  );
}

/** Takes the sealed key out of an approved request; true for one caller alone. */
export async function consumeIfApproved(
  db: Database,
  { id }: FlashAuthRecord,
  now: number,
): Promise<boolean> {
  const isApproved = and(
    eq(flashAuthRequest.id, id),
    eq(flashAuthRequest.status, "APPROVED"),
    gt(flashAuthRequest.expiresAt, now),
  );
  const consumed = await db
    .update(flashAuthRequest)
    .set({ status: "CONSUMED", sealedKey: null })
    .where(isApproved)
    .returning({ id: flashAuthRequest.id });
  return consumed.length > 0;
}

/** Removes requests that expired before; returns how many. */
export async function removeOldAuthRequests(db: Database, before: number, limit: number): Promise<number> {
  const old = db
    .select({ id: flashAuthRequest.id })
    .from(flashAuthRequest)
    .where(lt(flashAuthRequest.expiresAt, before))
    .limit(limit);
  const removed = await db
    .delete(flashAuthRequest)
    .where(inArray(flashAuthRequest.id, old))
    .returning({ id: flashAuthRequest.id });
  return removed.length;
}

/** A request has a row from its decision on. */
function isUndecided({ id }: FlashAuthRecord) {
  return sql`NOT EXISTS (SELECT 1 FROM ${flashAuthRequest} WHERE ${flashAuthRequest.id} = ${id})`;
}
