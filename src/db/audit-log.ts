/** The audit log: every change of the management API is recorded in the transaction that makes it. */
import { and, asc, desc, eq, inArray, lt, sql, type SQL } from "drizzle-orm";
import type { RunnableQuery } from "drizzle-orm/runnable-query";
import type { Database } from "./database.ts";
import { apiKey, auditEntry } from "./schema.ts";

/** The author of a change, its operation and its time. */
export type Author = {
  readonly accountId: string;
  /** Empty where nobody called. */
  readonly apiKeyId: string;
  /** The field of the mutation, or method and path of a REST call. */
  readonly operation: string;
  readonly now: number;
};

const POD_KEY = "pod:";

/** How entries name the key of a pod, which has no row. */
export function idOfPodKey(podId: string): string {
  return `${POD_KEY}${podId}`;
}

function nameOfPodKey(apiKeyId: string): string | null {
  return apiKeyId.startsWith(POD_KEY) ? `pod ${apiKeyId.slice(POD_KEY.length)}` : null;
}

export type AuditSubject = {
  readonly kind:
    | "account"
    | "api_key"
    | "cluster"
    | "endpoint"
    | "flash_app"
    | "flash_auth_request"
    | "flash_build"
    | "flash_environment"
    | "flash_upload"
    | "host"
    | "join_token"
    | "network_volume"
    | "pod"
    | "registry_auth"
    | "secret"
    | "sign_in"
    | "template"
    | "webhook_secret"
    | "worker";
  readonly id: string;
  readonly name: string | null;
  /** Names of what was set or changed, never values; absent where they add no information. */
  readonly fields?: readonly string[];
};

/**
 * A statement to follow a write directly in the same batch: records that write if it changed a row.
 * SQLite's changes() counts the rows of the previous statement, so no other may stand between the two.
 */
export function auditIfChanged(db: Database, author: Author, subject: AuditSubject) {
  const { accountId, now, apiKeyId, operation } = author;
  const { kind, id, name, fields = [] } = subject;
  const entry = db
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
  return db.insert(auditEntry).select(entry);
}

/** Records what is no change, such as the opening of a tunnel. */
export async function audit(
  db: Database,
  { now: at, ...author }: Author,
  { kind: subjectKind, id: subjectId, name: subjectName, fields = [] }: AuditSubject,
): Promise<void> {
  await db.insert(auditEntry).values({ ...author, at, subjectKind, subjectId, subjectName, fields });
}

/** Makes a write and records it if it changed a row; returns the first row that it returned. */
export async function writeAudited<Row>(
  db: Database,
  author: Author,
  write: RunnableQuery<Row[], "sqlite">,
  subject: AuditSubject,
): Promise<Row | undefined> {
  const [[row]] = await db.batch([write, auditIfChanged(db, author, subject)]);
  return row;
}

/** Names of the fields in which two versions of a row differ. */
export function changedFields<Values extends object>(before: Values, after: Partial<Values>): string[] {
  return Object.entries(after)
    .filter(([field, value]) => JSON.stringify(value) !== JSON.stringify(before[field as keyof Values]))
    .map(([field]) => field);
}

export type AuditRecord = typeof auditEntry.$inferSelect & {
  /** Null when the key is no longer known. */
  readonly apiKeyName: string | null;
};

/** Which entries to read; absent members do not filter. */
export type AuditSelection = {
  readonly limit: number;
  /** Only entries older than this one. */
  readonly before?: number | undefined;
  readonly subjectId?: string | undefined;
  readonly subjectKind?: string | undefined;
  readonly operation?: string | undefined;
  readonly apiKeyId?: string | undefined;
};

/** Entries of the account, the newest first. */
export async function listAuditEntries(
  db: Database,
  accountId: string,
  selection: AuditSelection,
): Promise<AuditRecord[]> {
  const rows = await db
    .select({ entry: auditEntry, apiKeyName: apiKey.name })
    .from(auditEntry)
    .leftJoin(apiKey, and(eq(apiKey.accountId, auditEntry.accountId), eq(apiKey.id, auditEntry.apiKeyId)))
    .where(and(eq(auditEntry.accountId, accountId), ...conditions(selection)))
    .orderBy(desc(auditEntry.id))
    .limit(selection.limit);
  return rows.map(({ entry, apiKeyName }) => ({
    ...entry,
    apiKeyName: apiKeyName ?? nameOfPodKey(entry.apiKeyId),
  }));
}

function conditions({ before, subjectId, subjectKind, operation, apiKeyId }: AuditSelection): SQL[] {
  return [
    ...(before === undefined ? [] : [lt(auditEntry.id, before)]),
    ...(subjectId === undefined ? [] : [eq(auditEntry.subjectId, subjectId)]),
    ...(subjectKind === undefined ? [] : [eq(auditEntry.subjectKind, subjectKind)]),
    ...(operation === undefined ? [] : [eq(auditEntry.operation, operation)]),
    ...(apiKeyId === undefined ? [] : [eq(auditEntry.apiKeyId, apiKeyId)]),
  ];
}

/** Removes entries of all accounts that are older; returns how many. Reads the oldest ones only. */
export async function removeOldAuditEntries(db: Database, before: number, limit: number): Promise<number> {
  const oldest = db
    .$with("oldest")
    .as(
      db
        .select({ id: auditEntry.id, at: auditEntry.at })
        .from(auditEntry)
        .orderBy(asc(auditEntry.id))
        .limit(limit),
    );
  const removed = await db
    .with(oldest)
    .delete(auditEntry)
    .where(inArray(auditEntry.id, db.select({ id: oldest.id }).from(oldest).where(lt(oldest.at, before))))
    .returning({ id: auditEntry.id });
  return removed.length;
}
