import { and, desc, eq, gt, isNotNull, isNull, lte, or } from "drizzle-orm";
import { WEBHOOK_SECRET_OVERLAP_MS } from "../contract/limits.ts";
import type { WebhookSecret } from "../contract/webhook.ts";
import { noteIfChanged, type Author } from "./audit-log.ts";
import type { Database } from "./database.ts";
import { randomRowId } from "./row-id.ts";
import { webhookSecret } from "./schema.ts";

const SECRET_BYTES = 32;
const PLAIN = "plain:";

/** The account's secrets that sign now, the newest first; makes the first one when there is none. */
export async function ensureWebhookSecrets(
  db: Database,
  accountId: string,
  now: number,
): Promise<WebhookSecret[]> {
  const known = await listSecrets(db, accountId, now);
  if (known.length > 0) return known;
  await db.insert(webhookSecret).values(freshSecret(accountId, now)).onConflictDoNothing();
  return await listSecrets(db, accountId, now);
}

/** Makes a new secret; the old one signs beside it for WEBHOOK_SECRET_OVERLAP_MS. */
export async function rotateWebhookSecret(db: Database, author: Author): Promise<WebhookSecret[]> {
  const { accountId, now } = author;
  const isOwn = eq(webhookSecret.accountId, accountId);
  const fresh = freshSecret(accountId, now);
  await db.batch([
    db.delete(webhookSecret).where(and(isOwn, lte(webhookSecret.validUntil, now))),
    db
      .update(webhookSecret)
      .set({ validUntil: now + WEBHOOK_SECRET_OVERLAP_MS })
      .where(and(isOwn, isNull(webhookSecret.validUntil))),
    db.insert(webhookSecret).values(fresh),
    noteIfChanged(db, author, { kind: "webhook_secret", id: fresh.id, name: null }),
  ]);
  return await listSecrets(db, accountId, now);
}

async function listSecrets(db: Database, accountId: string, now: number): Promise<WebhookSecret[]> {
  const rows = await db
    .select()
    .from(webhookSecret)
    .where(
      and(
        eq(webhookSecret.accountId, accountId),
        or(isNull(webhookSecret.validUntil), gt(webhookSecret.validUntil, now)),
      ),
    )
    .orderBy(isNotNull(webhookSecret.validUntil), desc(webhookSecret.validUntil));
  return rows.map(({ secret, createdAt, validUntil }) => ({
    secret: readForm(secret),
    createdAt,
    validUntil,
  }));
}

function freshSecret(accountId: string, now: number) {
  const bytes = crypto.getRandomValues(new Uint8Array(SECRET_BYTES));
  const secret = `${PLAIN}whsec_${btoa(String.fromCharCode(...bytes))}`;
  return { id: randomRowId(), accountId, secret, createdAt: now, validUntil: null };
}

function readForm(stored: string): string {
  if (stored.startsWith(PLAIN)) return stored.slice(PLAIN.length);
  throw new Error("A webhook secret is stored in an unknown form.");
}
