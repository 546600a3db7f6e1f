/** The audit log: every change of the management API is noted in the transaction that makes it. */
import { sql } from "drizzle-orm";
import type { Database } from "./database.ts";
import { auditEntry } from "./schema.ts";

/** Who changes something, by which operation, and when. */
export type Author = {
  readonly accountId: string;
  readonly apiKeyId: string;
  /** The field of the mutation, or method and path of a REST call. */
  readonly operation: string;
  readonly now: number;
};

export type AuditSubject = {
  readonly kind:
    | "account"
    | "api_key"
    | "endpoint"
    | "join_token"
    | "network_volume"
    | "registry_auth"
    | "secret"
    | "template"
    | "webhook_secret";
  readonly id: string;
  readonly name: string | null;
  /** Names of what was set or changed, never values; absent where that says nothing. */
  readonly fields?: readonly string[];
};

/**
 * A statement for the place right behind a write in the same batch: notes that write if it changed a row.
 * SQLite's changes() tells of the statement before, so nothing may stand between the two.
 */
export function noteIfChanged(db: Database, author: Author, subject: AuditSubject) {
  const { accountId, now, apiKeyId, operation } = author;
  const { kind, id, name, fields = [] } = subject;
  const note = db
    .select({
      id: sql<number>`NULL`.as("id"),
      accountId: sql<string>`${accountId}`.as("account_id"),
      at: sql<number>`${now}`.as("at"),
      apiKeyId: sql<string>`${apiKeyId}`.as("api_key_id"),
      operation: sql<string>`${operation}`.as("operation"),
      subjectKind: sql<string>`${kind}`.as("subject_kind"),
      subjectId: sql<string>`${id}`.as("subject_id"),
      subjectName: sql<string | null>`${name}`.as("subject_name"),
      fields: sql<readonly string[]>`${JSON.stringify(fields)}`.as("fields"),
    })
    .from(sql`(SELECT 1)`)
    .where(sql`changes() > 0`);
  return db.insert(auditEntry).select(note);
}

/** Names of the fields in which two versions of a row differ. */
export function changedFields<Values extends object>(before: Values, after: Partial<Values>): string[] {
  return Object.entries(after)
    .filter(([field, value]) => JSON.stringify(value) !== JSON.stringify(before[field as keyof Values]))
    .map(([field]) => field);
}
