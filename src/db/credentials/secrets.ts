import { and, asc, eq, or, sql } from "drizzle-orm";
import { isWithinQuota } from "../quotas.ts";
import { type Author, type AuditSubject, writeAudited } from "../audit-log.ts";
import { rowIf, type Database, isOwn } from "../database.ts";
import { endpoint, secret, template, type EnvironmentVariable } from "../schema.ts";

/** A secret without its value. */
export type SecretRecord = Omit<typeof secret.$inferSelect, "sealedValue">;
export type SealedSecret = Pick<typeof secret.$inferSelect, "id" | "name" | "sealedValue">;

const publicColumns = {
  id: secret.id,
  accountId: secret.accountId,
  name: secret.name,
  description: secret.description,
  createdAt: secret.createdAt,
  updatedAt: secret.updatedAt,
};

export async function listSecrets(db: Database, accountId: string): Promise<SecretRecord[]> {
  return await db
    .select(publicColumns)
    .from(secret)
    .where(eq(secret.accountId, accountId))
    .orderBy(asc(secret.createdAt), asc(secret.id));
}

/** Those of the named secrets that exist, with their sealed values; any number of names. */
export async function findSealedSecrets(
  db: Database,
  accountId: string,
  names: readonly string[],
): Promise<SealedSecret[]> {
  // One parameter for all names: D1 takes at most 100.
  const isNamed = sql`${secret.name} IN (SELECT value FROM json_each(${JSON.stringify(names)}))`;
  return await db
    .select({ id: secret.id, name: secret.name, sealedValue: secret.sealedValue })
    .from(secret)
    .where(and(eq(secret.accountId, accountId), isNamed));
}

/** Inserts a secret; undefined when the account has that name already, or its quota is used up. */
export async function insertSecretIfNameFree(
  db: Database,
  author: Author,
  values: Pick<typeof secret.$inferSelect, "id" | "name" | "description" | "sealedValue">,
): Promise<SecretRecord | undefined> {
  const { accountId, now } = author;
  const record = { ...values, accountId, createdAt: now, updatedAt: now };
  return await writeAudited(
    db,
    author,
    db
      .insert(secret)
      .select(rowIf(secret, record, isWithinQuota("secret", accountId)))
      .onConflictDoNothing({ target: [secret.accountId, secret.name] })
      .returning(publicColumns),
    subjectOf(record),
  );
}

/** Changes the value or the description of a secret; returns undefined when the account has no secret with this id. */
export async function updateSecret(
  db: Database,
  author: Author,
  read: SecretRecord,
  change: { readonly sealedValue: string } | { readonly description: string | null },
): Promise<SecretRecord | undefined> {
  const fields = "sealedValue" in change ? ["value"] : ["description"];
  return await writeAudited(
    db,
    author,
    db
      .update(secret)
      .set({ ...change, updatedAt: author.now })
      .where(isOwn(secret, author.accountId, read.id))
      .returning(publicColumns),
    { ...subjectOf(read), fields },
  );
}

/** Returns whether there was a secret to delete. */
export async function deleteSecret(db: Database, author: Author, read: SecretRecord): Promise<boolean> {
  const deletion = db
    .delete(secret)
    .where(isOwn(secret, author.accountId, read.id))
    .returning({ id: secret.id });
  return (await writeAudited(db, author, deletion, subjectOf(read))) !== undefined;
}

export async function hasSecretNamed(db: Database, accountId: string, name: string): Promise<boolean> {
  const isNamed = and(eq(secret.accountId, accountId), eq(secret.name, name));
  return (await db.select({ id: secret.id }).from(secret).where(isNamed).get()) !== undefined;
}

/** A template or an endpoint whose variables may refer to a secret. */
export type SecretUser = {
  readonly kind: "template" | "endpoint";
  readonly name: string;
  readonly env: readonly EnvironmentVariable[];
  readonly modelTokenSecret?: string | null;
};

/**
 * Templates and endpoints of an account that name a secret for their models, or in whose variables its name stands, as
 * a reference or as text.
 */
export async function listSecretUsers(
  db: Database,
  accountId: string,
  secretName: string,
): Promise<SecretUser[]> {
  const [templates, endpoints] = await db.batch([
    db
      .select({ name: template.name, env: template.env, modelTokenSecret: template.modelTokenSecret })
      .from(template)
      .where(
        and(
          eq(template.accountId, accountId),
          or(eq(template.modelTokenSecret, secretName), sql`instr(${template.env}, ${secretName}) > 0`),
        ),
      )
      .orderBy(asc(template.createdAt), asc(template.id)),
    db
      .select({ name: endpoint.name, env: endpoint.env })
      .from(endpoint)
      .where(and(eq(endpoint.accountId, accountId), sql`instr(${endpoint.env}, ${secretName}) > 0`))
      .orderBy(asc(endpoint.createdAt), asc(endpoint.id)),
  ]);
  return [
    ...templates.map((one) => ({ kind: "template" as const, ...one })),
    ...endpoints.map((one) => ({ kind: "endpoint" as const, ...one })),
  ];
}

export async function findSecret(
  db: Database,
  accountId: string,
  secretId: string,
): Promise<SecretRecord | undefined> {
  return await db
    .select(publicColumns)
    .from(secret)
    .where(isOwn(secret, accountId, secretId))
    .get();
}

function subjectOf({ id, name }: { readonly id: string; readonly name: string }): AuditSubject {
  return { kind: "secret", id, name };
}
