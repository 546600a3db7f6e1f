import { and, asc, eq, ne, notExists, sql, gt, lte, type SQL } from "drizzle-orm";
import { type AuditSubject, type Author, writeAudited } from "../audit-log.ts";
import { isOneOf, rowIf, type Database, isOwn } from "../database.ts";
import type { FlashAppRecord } from "./apps.ts";
import { randomRowId } from "../row-id.ts";
import { endpoint, flashApp, flashBuild, flashEnvironment } from "../schema.ts";

/** Environments of one app. */
export const FLASH_ENVIRONMENTS_MAX = 100;

export type FlashEnvironmentRecord = typeof flashEnvironment.$inferSelect;

export async function findFlashEnvironment(
  db: Database,
  accountId: string,
  environmentId: string,
): Promise<FlashEnvironmentRecord | undefined> {
  return await db
    .select()
    .from(flashEnvironment)
    .where(isOwn(flashEnvironment, accountId, environmentId))
    .get();
}

/** The environment that an endpoint of the account belongs to. */
export async function findFlashEnvironmentOfEndpoint(
  db: Database,
  accountId: string,
  endpointId: string,
): Promise<FlashEnvironmentRecord | undefined> {
  const named = db
    .select({ id: endpoint.flashEnvironmentId })
    .from(endpoint)
    .where(isOwn(endpoint, accountId, endpointId));
  return await db
    .select()
    .from(flashEnvironment)
    .where(and(eq(flashEnvironment.accountId, accountId), eq(flashEnvironment.id, named)))
    .get();
}

export async function findFlashEnvironmentByName(
  db: Database,
  accountId: string,
  appId: string,
  name: string,
): Promise<FlashEnvironmentRecord | undefined> {
  const isNamed = and(eq(flashEnvironment.appId, appId), eq(flashEnvironment.name, name));
  return await db
    .select()
    .from(flashEnvironment)
    .where(and(eq(flashEnvironment.accountId, accountId), isNamed))
    .get();
}

/** Environments of apps of the account, the oldest first. */
export async function listFlashEnvironments(
  db: Database,
  accountId: string,
  appIds: readonly string[],
): Promise<FlashEnvironmentRecord[]> {
  return await db
    .select()
    .from(flashEnvironment)
    .where(and(eq(flashEnvironment.accountId, accountId), isOneOf(flashEnvironment.appId, appIds)))
    .orderBy(asc(flashEnvironment.createdAt), asc(flashEnvironment.id));
}

/** Whether the app may have one more environment now. */
export async function hasEnvironmentQuotaLeft(db: Database, appId: string): Promise<boolean> {
  const row = await db.get<{ readonly isWithinQuota: number }>(
    sql`SELECT ${isWithinQuota(appId)} AS "isWithinQuota"`,
  );
  return row.isWithinQuota === 1;
}

/** Inserts an environment; undefined when its name is taken, or the app is gone or has as many as it may. */
export async function insertFlashEnvironmentIfFree(
  db: Database,
  author: Author,
  app: FlashAppRecord,
  values: Pick<FlashEnvironmentRecord, "name" | "leaseExpiresAt">,
): Promise<FlashEnvironmentRecord | undefined> {
  const { accountId, now } = author;
  const record: FlashEnvironmentRecord = {
    ...values,
    id: randomRowId(),
    accountId,
    appId: app.id,
    state: "PENDING",
    activeBuildId: null,
    createdAt: now,
    updatedAt: now,
  };
  const hasApp = sql`EXISTS (SELECT 1 FROM ${flashApp} WHERE ${flashApp.id} = ${app.id})`;
  return await writeAudited(
    db,
    author,
    db
      .insert(flashEnvironment)
      .select(rowIf(flashEnvironment, record, and(hasApp, isWithinQuota(app.id))))
      .onConflictDoNothing({ target: [flashEnvironment.appId, flashEnvironment.name] })
      .returning(),
    subjectOf(record),
  );
}

/** Makes a build the active one; returns undefined when either is gone or the environment is being deleted. */
export async function activateFlashBuild(
  db: Database,
  author: Author,
  read: FlashEnvironmentRecord,
  buildId: string,
): Promise<FlashEnvironmentRecord | undefined> {
  const hasBuild = sql`EXISTS (SELECT 1 FROM ${flashBuild} WHERE ${flashBuild.id} = ${buildId})`;
  const change = { activeBuildId: buildId, state: "DEPLOYING" as const };
  return await changeIfOpen(db, author, read, change, hasBuild);
}

/** Records how a deployment ended; returns undefined when the environment is gone or being deleted. */
export async function endFlashDeployment(
  db: Database,
  author: Author,
  read: FlashEnvironmentRecord,
  state: "DEPLOYED" | "FAILED",
): Promise<FlashEnvironmentRecord | undefined> {
  return await changeIfOpen(db, author, read, { state });
}

/** The same, while the environment is as it was read. */
export async function endFlashDeploymentIfUnchanged(
  db: Database,
  author: Author,
  read: FlashEnvironmentRecord,
  state: "DEPLOYED",
): Promise<FlashEnvironmentRecord | undefined> {
  const { state: before, activeBuildId } = flashEnvironment;
  const isUnchanged = sql`${before} = ${read.state} AND ${activeBuildId} = ${read.activeBuildId}`;
  return await changeIfOpen(db, author, read, { state }, isUnchanged);
}

async function changeIfOpen(
  db: Database,
  author: Author,
  read: FlashEnvironmentRecord,
  change: Partial<Pick<FlashEnvironmentRecord, "state" | "activeBuildId">>,
  condition?: SQL,
): Promise<FlashEnvironmentRecord | undefined> {
  const update = db
    .update(flashEnvironment)
    .set({ ...change, updatedAt: author.now })
    .where(
      and(
        isOwn(flashEnvironment, author.accountId, read.id),
        ne(flashEnvironment.state, "DELETING"),
        condition,
      ),
    )
    .returning();
  return await writeAudited(db, author, update, { ...subjectOf(read), fields: Object.keys(change) });
}

/** Closes an environment that is to be deleted: it takes no endpoint and no build from now on. */
export async function closeFlashEnvironment(
  db: Database,
  author: Author,
  environmentId: string,
): Promise<void> {
  await db
    .update(flashEnvironment)
    .set({ state: "DELETING", updatedAt: author.now })
    .where(isOwn(flashEnvironment, author.accountId, environmentId));
}

/** Deletes an environment that is being deleted and has no endpoint any more; returns whether it did. */
export async function deleteFlashEnvironmentIfEmpty(
  db: Database,
  author: Author,
  read: FlashEnvironmentRecord,
): Promise<boolean> {
  const endpoints = db
    .select({ one: sql`1` })
    .from(endpoint)
    .where(eq(endpoint.flashEnvironmentId, read.id));
  const deletion = db
    .delete(flashEnvironment)
    .where(
      and(
        isOwn(flashEnvironment, author.accountId, read.id),
        eq(flashEnvironment.state, "DELETING"),
        notExists(endpoints),
      ),
    )
    .returning({ id: flashEnvironment.id });
  return (await writeAudited(db, author, deletion, subjectOf(read))) !== undefined;
}

/** For a write: whether the account has the environment at that moment and it takes endpoints. */
export function takesEndpoints(accountId: string, environmentId: string): SQL {
  const { id, accountId: owner, state } = flashEnvironment;
  return sql`EXISTS (SELECT 1 FROM ${flashEnvironment}
    WHERE ${owner} = ${accountId} AND ${id} = ${environmentId} AND ${state} <> 'DELETING')`;
}

function isWithinQuota(appId: string): SQL {
  const count = sql`(SELECT count(*) FROM ${flashEnvironment} WHERE ${flashEnvironment.appId} = ${appId})`;
  return sql`${count} < ${FLASH_ENVIRONMENTS_MAX}`;
}

function subjectOf({ id, name }: FlashEnvironmentRecord): AuditSubject {
  return { kind: "flash_environment", id, name };
}

/**
 * Moves the end of a session; undefined when it has ended (S1). Not recorded in the audit log: it happens every
 * few seconds and carries no information.
 */
export async function renewLeaseIfActive(
  db: Database,
  { accountId, now }: Pick<Author, "accountId" | "now">,
  environmentId: string,
  leaseExpiresAt: number,
): Promise<FlashEnvironmentRecord | undefined> {
  const isIts = isOwn(flashEnvironment, accountId, environmentId);
  const isActive = and(ne(flashEnvironment.state, "DELETING"), gt(flashEnvironment.leaseExpiresAt, now));
  const [renewed] = await db
    .update(flashEnvironment)
    .set({ leaseExpiresAt })
    .where(and(isIts, isActive))
    .returning();
  return renewed;
}

/** Sessions of all accounts whose lease has lapsed, in random order, so that no failing one blocks the others. */
export async function listLapsedSessions(
  db: Database,
  now: number,
  limit: number,
): Promise<FlashEnvironmentRecord[]> {
  return await db
    .select()
    .from(flashEnvironment)
    .where(lte(flashEnvironment.leaseExpiresAt, now))
    .orderBy(sql`random()`)
    .limit(limit);
}

/** Closes a session: it takes nothing from now on. False when it was renewed or is gone (S1). */
export async function closeIfLapsed(db: Database, environmentId: string, now: number): Promise<boolean> {
  const closed = await db
    .update(flashEnvironment)
    .set({ state: "DELETING", updatedAt: now })
    .where(and(eq(flashEnvironment.id, environmentId), lte(flashEnvironment.leaseExpiresAt, now)))
    .returning({ id: flashEnvironment.id });
  return closed.length > 0;
}
