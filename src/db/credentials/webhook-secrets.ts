import { and, desc, eq, gt, isNotNull, isNull, lte, or, sql } from "drizzle-orm";
import { auditIfChanged, type Author } from "../audit-log.ts";
import { rowIf, type Database } from "../database.ts";
import { webhookSecret } from "../schema.ts";

/** After a change of an account's secret, calls carry a signature of the old one as well for this long. */
export const WEBHOOK_SECRET_OVERLAP_MS = 86_400_000;

/** Secrets that sign webhooks at once; each call carries a signature of every one. */
export const WEBHOOK_SECRETS_MAX = 5;

/** A secret as it is stored: sealed, or plain where no key was configured when it was made. */
export type StoredWebhookSecret = typeof webhookSecret.$inferSelect;

/** The account's secrets that sign now, the newest first. */
export async function listWebhookSecrets(
  db: Database,
  accountId: string,
  now: number,
): Promise<StoredWebhookSecret[]> {
  return await db
    .select()
    .from(webhookSecret)
    .where(
      and(
        eq(webhookSecret.accountId, accountId),
        or(isNull(webhookSecret.validUntil), gt(webhookSecret.validUntil, now)),
      ),
    )
    .orderBy(isNotNull(webhookSecret.validUntil), desc(webhookSecret.validUntil));
}

/** Inserts a secret unless the account has one in force. */
export async function insertFirstWebhookSecret(db: Database, fresh: StoredWebhookSecret): Promise<void> {
  await db.insert(webhookSecret).values(fresh).onConflictDoNothing();
}

/**
 * Puts a new secret in force; the old one signs beside it for WEBHOOK_SECRET_OVERLAP_MS. Returns whether it did:
 * not while WEBHOOK_SECRETS_MAX sign already.
 */
export async function replaceWebhookSecret(
  db: Database,
  author: Author,
  fresh: StoredWebhookSecret,
): Promise<boolean> {
  const { accountId, createdAt: now } = fresh;
  const isOwn = eq(webhookSecret.accountId, accountId);
  const isBelowLimit = sql`(SELECT count(*) FROM ${webhookSecret} AS other WHERE other.account_id = ${accountId}) < ${WEBHOOK_SECRETS_MAX}`;
  const hasNoneInForce = sql`NOT EXISTS (SELECT 1 FROM ${webhookSecret} AS other WHERE other.account_id = ${accountId} AND other.valid_until IS NULL)`;
  const [, , inserted] = await db.batch([
    db.delete(webhookSecret).where(and(isOwn, lte(webhookSecret.validUntil, now))),
    db
      .update(webhookSecret)
      .set({ validUntil: now + WEBHOOK_SECRET_OVERLAP_MS })
      .where(and(isOwn, isNull(webhookSecret.validUntil), isBelowLimit)),
    db
      .insert(webhookSecret)
      .select(rowIf(webhookSecret, fresh, hasNoneInForce))
      .returning({ id: webhookSecret.id }),
    auditIfChanged(db, author, { kind: "webhook_secret", id: fresh.id, name: null }),
  ]);
  return inserted.length > 0;
}
