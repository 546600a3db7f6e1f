import { and, asc, eq, exists, inArray, lt, ne, notExists, sql, type SQL } from "drizzle-orm";
import { alias } from "drizzle-orm/sqlite-core";
import { isWithinQuota } from "./quotas.ts";
import { changedFields, auditIfChanged, type Author, type AuditSubject, writeAudited } from "./audit-log.ts";
import { isOneOf, rowIf, type Database, isOwn } from "./database.ts";
import { buildForNewVersion } from "./flash/builds.ts";
import { isUsedByNoPod } from "./pods.ts";
import { changesBetween, recordReleases } from "./releases.ts";
import { randomRowId } from "./row-id.ts";
import { endpoint, registryAuth, template } from "./schema.ts";

/** How long an inline template is kept whose endpoint could not be saved: a client that tries again takes it over. */
export const ORPHAN_RETENTION_MS = 3_600_000;

export type TemplateRecord = typeof template.$inferSelect;

/** What a client decides about a template. */
export type TemplateValues = Omit<
  TemplateRecord,
  "id" | "accountId" | "isBound" | "rowVersion" | "createdAt" | "updatedAt"
>;

export async function findTemplate(
  db: Database,
  accountId: string,
  templateId: string,
): Promise<TemplateRecord | undefined> {
  return await db
    .select()
    .from(template)
    .where(isOwn(template, accountId, templateId))
    .get();
}

/** Those of the ids that are templates of the account, in any order. */
export async function findTemplates(
  db: Database,
  accountId: string,
  templateIds: readonly string[],
): Promise<TemplateRecord[]> {
  const isRequested = isOneOf(template.id, templateIds);
  return await db
    .select()
    .from(template)
    .where(and(eq(template.accountId, accountId), isRequested));
}

export async function findTemplateByName(
  db: Database,
  accountId: string,
  name: string,
): Promise<TemplateRecord | undefined> {
  return await db
    .select()
    .from(template)
    .where(and(eq(template.accountId, accountId), eq(template.name, name)))
    .get();
}

/** The account's own templates, without those that came inline with an endpoint. */
export async function listUnboundTemplates(db: Database, accountId: string): Promise<TemplateRecord[]> {
  return await db
    .select()
    .from(template)
    .where(and(eq(template.accountId, accountId), eq(template.isBound, false)))
    .orderBy(asc(template.createdAt), asc(template.id));
}

/** Templates of the account that its owner has made public. */
export async function listPublicTemplates(db: Database, accountId: string): Promise<TemplateRecord[]> {
  return await db
    .select()
    .from(template)
    .where(and(eq(template.accountId, accountId), eq(template.isBound, false), eq(template.isPublic, true)))
    .orderBy(asc(template.createdAt), asc(template.id));
}

/** All templates of the account, those that came inline with an endpoint as well. */
export async function listTemplates(db: Database, accountId: string): Promise<TemplateRecord[]> {
  return await db
    .select()
    .from(template)
    .where(eq(template.accountId, accountId))
    .orderBy(asc(template.createdAt), asc(template.id));
}

/** A template as it was read, and what it shall become. */
export type TemplateChange = { readonly read: TemplateRecord; readonly values: TemplateValues };

/** A template that is not stored yet. */
export function newTemplate(
  { accountId, now }: Author,
  values: TemplateValues,
  options: { readonly isBound: boolean },
): TemplateRecord {
  return {
    ...values,
    ...options,
    id: randomRowId(),
    accountId,
    rowVersion: 1,
    createdAt: now,
    updatedAt: now,
  };
}

/** Inserts a template; returns undefined when its name is taken, its credential is gone, or the quota is used up. */
export async function insertTemplateIfAllowed(
  db: Database,
  author: Author,
  record: TemplateRecord,
): Promise<TemplateRecord | undefined> {
  return await writeAudited(db, author, insertionIfAllowed(db, record), subjectOf(record));
}

function insertionIfAllowed(db: Database, record: TemplateRecord) {
  const { accountId } = record;
  const isAllowed = and(isWithinQuota("template", accountId), hasCredential(accountId, record));
  return db
    .insert(template)
    .select(rowIf(template, record, isAllowed))
    .onConflictDoNothing({ target: [template.accountId, template.name] })
    .returning();
}

/**
 * Statements that insert a template with the endpoint that gets it: before and right behind the write of the endpoint,
 * and one for the end of the batch, which removes it again unless the endpoint got it.
 */
export function insertTemplateAsWell(db: Database, author: Author, record: TemplateRecord) {
  return {
    before: insertionIfAllowed(db, record),
    behind: auditIfChanged(db, author, subjectOf(record)),
    atEnd: db
      .delete(template)
      .where(and(isOwn(template, record.accountId, record.id), isUsedByNoEndpoint(db))),
  };
}

/**
 * Changes a template if it still is as it was read, its name is free and its new credential is there. With
 * `isNewVersion`, the endpoints that use it get a new version in the same transaction.
 */
export async function updateTemplateIfUnchanged(
  db: Database,
  author: Author,
  read: TemplateRecord,
  values: TemplateValues,
  options: { readonly isNewVersion: boolean },
): Promise<TemplateRecord | undefined> {
  const mayChange = mayChangeTemplate(db, { read, values });
  const update = db
    .update(template)
    .set({ ...values, rowVersion: read.rowVersion + 1, updatedAt: author.now })
    .where(mayChange)
    .returning();

  const fields = changedFields(read, values);
  if (fields.length === 0) return (await update)[0];

  const audit = auditIfChanged(db, author, { ...subjectOf({ ...read, ...values }), fields });
  if (!options.isNewVersion) return (await db.batch([update, audit]))[0][0];
  const isChanged = and(
    eq(endpoint.accountId, read.accountId),
    eq(endpoint.templateId, read.id),
    eq(endpoint.updatedAt, author.now),
    sql`EXISTS (SELECT 1 FROM ${template} WHERE ${template.id} = ${read.id} AND ${template.rowVersion} = ${read.rowVersion + 1})`,
  );
  // The new version comes first: both statements must meet the same guard.
  const [, [updated]] = await db.batch([
    bumpEndpointVersions(db, author, read, mayChange),
    update,
    audit,
    ...recordReleases(db, author, isChanged, changesBetween(read, values, "template.")),
  ]);
  return updated;
}

/** Whether a template still is as it was read, its new name is free and its new credential is there. */
export function mayChangeTemplate(db: Database, { read, values }: TemplateChange): SQL | undefined {
  const isNewCredential = values.containerRegistryAuthId !== read.containerRegistryAuthId;
  return and(
    unchangedAndNameFree(db, read, values.name),
    isNewCredential ? hasCredential(read.accountId, values) : undefined,
  );
}

/** Statements for the place right behind a write in the same batch: they change a template if that changed a row. */
export function changeTemplateAsWell(db: Database, author: Author, { read, values }: TemplateChange) {
  const isRead = isOwn(template, read.accountId, read.id);
  const update = db
    .update(template)
    .set({ ...values, rowVersion: read.rowVersion + 1, updatedAt: author.now })
    .where(and(isRead, sql`changes() > 0`));
  const fields = changedFields(read, values);
  if (fields.length === 0) return [update];
  return [update, auditIfChanged(db, author, { ...subjectOf({ ...read, ...values }), fields })];
}

/** Gives the endpoints of a template a new version if the template may be changed. */
function bumpEndpointVersions(
  db: Database,
  author: Author,
  read: TemplateRecord,
  mayChange: SQL | undefined,
) {
  const change = db
    .select({ one: sql`1` })
    .from(template)
    .where(mayChange);
  return db
    .update(endpoint)
    .set({
      version: sql`${endpoint.version} + 1`,
      canary: null,
      flashBuildId: buildForNewVersion(),
      rowVersion: sql`${endpoint.rowVersion} + 1`,
      updatedAt: author.now,
    })
    .where(and(eq(endpoint.accountId, read.accountId), eq(endpoint.templateId, read.id), exists(change)));
}

/** Whether the account has the credential that a template names, if it names one. */
function hasCredential(accountId: string, { containerRegistryAuthId: id }: TemplateValues): SQL | undefined {
  if (id === null) return undefined;
  return sql`EXISTS (SELECT 1 FROM ${registryAuth} WHERE ${registryAuth.accountId} = ${accountId} AND ${registryAuth.id} = ${id})`;
}

function unchangedAndNameFree(db: Database, read: TemplateRecord, name: string) {
  const other = alias(template, "other");
  const holdsName = and(eq(other.accountId, read.accountId), eq(other.name, name), ne(other.id, read.id));
  return and(
    eq(template.accountId, read.accountId),
    eq(template.id, read.id),
    eq(template.rowVersion, read.rowVersion),
    notExists(
      db
        .select({ one: sql`1` })
        .from(other)
        .where(holdsName),
    ),
  );
}

/** Deletes a template unless an endpoint or a pod uses it; returns whether it did. */
export async function deleteTemplateIfUnused(
  db: Database,
  author: Author,
  read: TemplateRecord,
): Promise<boolean> {
  const deletion = db
    .delete(template)
    .where(
      and(
        eq(template.accountId, author.accountId),
        eq(template.id, read.id),
        isUsedByNoEndpoint(db),
        isUsedByNoPod(author.accountId, { templateId: read.id }),
      ),
    )
    .returning({ id: template.id });
  return (await writeAudited(db, author, deletion, subjectOf(read))) !== undefined;
}

/**
 * Removes inline templates of all accounts that no endpoint uses and that were last changed before: what is
 * left when an endpoint could not be saved after its template. Returns how many.
 */
export async function removeOrphanedTemplates(db: Database, before: number, limit: number): Promise<number> {
  const orphans = db
    .select({ id: template.id })
    .from(template)
    .where(and(eq(template.isBound, true), lt(template.updatedAt, before), isUsedByNoEndpoint(db)))
    .limit(limit);
  const removed = await db
    .delete(template)
    .where(inArray(template.id, orphans))
    .returning({ id: template.id });
  return removed.length;
}

function isUsedByNoEndpoint(db: Database): SQL {
  const users = db
    .select({ one: sql`1` })
    .from(endpoint)
    .where(eq(endpoint.templateId, template.id));
  return notExists(users);
}

function subjectOf({ id, name }: TemplateRecord): AuditSubject {
  return { kind: "template", id, name };
}
