import { and, asc, eq, inArray, notExists, sql } from "drizzle-orm";
import { isWithinQuota } from "../quotas.ts";
import { type Author, type AuditSubject, writeAudited } from "../audit-log.ts";
import { rowIf, type Database, isOwn } from "../database.ts";
import { isUsedByNoPod } from "../pods.ts";
import { endpoint, registryAuth, template } from "../schema.ts";

/** A registry credential without user name and password. */
export type RegistryAuthRecord = Omit<typeof registryAuth.$inferSelect, "sealedCredentials">;
export type SealedRegistryAuth = Pick<typeof registryAuth.$inferSelect, "id" | "name" | "sealedCredentials">;

const publicColumns = {
  id: registryAuth.id,
  accountId: registryAuth.accountId,
  name: registryAuth.name,
  createdAt: registryAuth.createdAt,
  updatedAt: registryAuth.updatedAt,
};

/** Oldest first: some clients delete in this order until they are refused. */
export async function listRegistryAuths(db: Database, accountId: string): Promise<RegistryAuthRecord[]> {
  return await db
    .select(publicColumns)
    .from(registryAuth)
    .where(eq(registryAuth.accountId, accountId))
    .orderBy(asc(registryAuth.createdAt), asc(registryAuth.id));
}

export async function findRegistryAuth(
  db: Database,
  accountId: string,
  registryAuthId: string,
): Promise<RegistryAuthRecord | undefined> {
  return await db
    .select(publicColumns)
    .from(registryAuth)
    .where(isOwn(registryAuth, accountId, registryAuthId))
    .get();
}

/** Those of the credentials that exist, sealed. */
export async function findSealedRegistryAuths(
  db: Database,
  accountId: string,
  registryAuthIds: readonly string[],
): Promise<SealedRegistryAuth[]> {
  const isNamed = inArray(
    registryAuth.id,
    sql`(SELECT value FROM json_each(${JSON.stringify(registryAuthIds)}))`,
  );
  return await db
    .select({
      id: registryAuth.id,
      name: registryAuth.name,
      sealedCredentials: registryAuth.sealedCredentials,
    })
    .from(registryAuth)
    .where(and(eq(registryAuth.accountId, accountId), isNamed));
}

/** Inserts a credential; undefined when the quota of the account is used up. */
export async function insertRegistryAuthWithinQuota(
  db: Database,
  author: Author,
  values: SealedRegistryAuth,
): Promise<RegistryAuthRecord | undefined> {
  const { accountId, now } = author;
  const record = { ...values, accountId, createdAt: now, updatedAt: now };
  const row = rowIf(registryAuth, record, isWithinQuota("registryAuth", accountId));
  return await writeAudited(
    db,
    author,
    db.insert(registryAuth).select(row).returning(publicColumns),
    subjectOf(record),
  );
}

/** Replaces user name and password; returns undefined when the account has no credential with this id. */
export async function updateRegistryAuth(
  db: Database,
  author: Author,
  read: RegistryAuthRecord,
  sealedCredentials: string,
): Promise<RegistryAuthRecord | undefined> {
  return await writeAudited(
    db,
    author,
    db
      .update(registryAuth)
      .set({ sealedCredentials, updatedAt: author.now })
      .where(isOwn(registryAuth, author.accountId, read.id))
      .returning(publicColumns),
    { ...subjectOf(read), fields: ["username", "password"] },
  );
}

/** Deletes a credential unless a template or a pod names it; returns whether it did. */
export async function deleteRegistryAuthIfUnused(
  db: Database,
  author: Author,
  read: RegistryAuthRecord,
): Promise<boolean> {
  const users = db
    .select({ one: sql`1` })
    .from(template)
    .where(isUserOf(author.accountId, read.id));
  const deletion = db
    .delete(registryAuth)
    .where(
      and(
        isOwn(registryAuth, author.accountId, read.id),
        notExists(users),
        isUsedByNoPod(author.accountId, { containerRegistryAuthId: read.id }),
      ),
    )
    .returning({ id: registryAuth.id });
  return (await writeAudited(db, author, deletion, subjectOf(read))) !== undefined;
}

/** `endpointId`: of the endpoint that the template came inline with, and that users know it by. */
export type RegistryAuthUser = { readonly templateName: string; readonly endpointId: string | null };

/** The templates that name a credential. */
export async function listUsersOfRegistryAuth(
  db: Database,
  accountId: string,
  registryAuthId: string,
): Promise<RegistryAuthUser[]> {
  return await db
    .select({ templateName: template.name, endpointId: endpoint.id })
    .from(template)
    .leftJoin(endpoint, and(eq(endpoint.templateId, template.id), eq(template.isBound, true)))
    .where(isUserOf(accountId, registryAuthId))
    .orderBy(asc(template.name));
}

function isUserOf(accountId: string, registryAuthId: string) {
  return and(eq(template.accountId, accountId), eq(template.containerRegistryAuthId, registryAuthId));
}

function subjectOf({ id, name }: { readonly id: string; readonly name: string }): AuditSubject {
  return { kind: "registry_auth", id, name };
}
