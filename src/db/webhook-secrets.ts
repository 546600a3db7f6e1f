import { and, desc, eq, gt, isNotNull, isNull, lte, or } from "drizzle-orm";
import { WEBHOOK_SECRET_OVERLAP_MS } from "../contract/limits.ts";
import { noteIfChanged, type Author } from "./audit-log.ts";
import type { Database } from "./database.ts";
import { webhookSecret } from "./schema.ts";

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

/** Puts a new secret in force; the old one signs beside it for WEBHOOK_SECRET_OVERLAP_MS. */
export async function replaceWebhookSecret(
  db: Database,
  author: Author,
  fresh: StoredWebhookSecret,
): Promise<void> {
  const { accountId, createdAt: now } = fresh;
  const isOwn = eq(webhookSecret.accountId, accountId);
  await db.batch([
    db.delete(webhookSecret).where(and(isOwn, lte(webhookSecret.validUntil, now))),
    db
      .update(webhookSecret)
      .set({ validUntil: now + WEBHOOK_SECRET_OVERLAP_MS })
      .where(and(isOwn, isNull(webhookSecret.validUntil))),
    db.insert(webhookSecret).values(fresh),
    noteIfChanged(db, author, { kind: "webhook_secret", id: fresh.id, name: null }),
  ]);
}
