import { asc, eq } from "drizzle-orm";
import { freshApiKey, type NewApiKey } from "./credentials/api-keys.ts";
import { changedFields, auditIfChanged, type Author } from "./audit-log.ts";
import type { Database } from "./database.ts";
import { randomRowId } from "./row-id.ts";
import { account, apiKey } from "./schema.ts";

export type AccountRecord = typeof account.$inferSelect;

/** Settings of an account that it may change. */
export type AccountSettings = Pick<AccountRecord, "pubKey">;

export async function findAccount(db: Database, accountId: string): Promise<AccountRecord | undefined> {
  return await db.select().from(account).where(eq(account.id, accountId)).get();
}

/** All accounts, the oldest first; for the operator alone. */
export async function listAccounts(db: Database): Promise<AccountRecord[]> {
  return await db.select().from(account).orderBy(asc(account.createdAt), asc(account.id));
}

/** Makes an account with its first key; the author belongs to another account. */
export async function insertAccount(
  db: Database,
  author: Author,
  values: Pick<AccountRecord, "name" | "email">,
  key: NewApiKey,
): Promise<AccountRecord> {
  const record = { ...values, id: randomRowId(), pubKey: null, createdAt: author.now };
  await db.batch([
    db.insert(account).values(record),
    auditIfChanged(db, author, { kind: "account", id: record.id, name: record.name }),
    db.insert(apiKey).values(freshApiKey(record.id, key, author.now)),
  ]);
  return record;
}

/** Changes settings of the author's own account. */
export async function updateAccountSettings(
  db: Database,
  author: Author,
  read: AccountRecord,
  settings: AccountSettings,
): Promise<AccountRecord> {
  const fields = changedFields(read, settings);
  if (fields.length === 0) return read;
  const subject = { kind: "account", id: read.id, name: read.name, fields } as const;
  await db.batch([
    db.update(account).set(settings).where(eq(account.id, author.accountId)),
    auditIfChanged(db, author, subject),
  ]);
  return { ...read, ...settings };
}
