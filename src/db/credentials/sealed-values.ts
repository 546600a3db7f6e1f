/** All columns that hold sealed text, seen as one list: for changing the key under which they are sealed. */
import { and, asc, count, eq, like, notLike, or, sql } from "drizzle-orm";
import type { Database } from "../database.ts";
import { registryAuth, secret, webhookSecret } from "../schema.ts";

const COLUMNS = {
  secret: { table: secret, column: secret.sealedValue, field: "sealedValue" },
  registry_auth: { table: registryAuth, column: registryAuth.sealedCredentials, field: "sealedCredentials" },
  webhook_secret: { table: webhookSecret, column: webhookSecret.secret, field: "secret" },
} as const;

export type SealedKind = keyof typeof COLUMNS;

export const SEALED_KINDS = Object.keys(COLUMNS) as readonly SealedKind[];

export type SealedRow = {
  readonly accountId: string;
  readonly kind: SealedKind;
  readonly rowId: string;
  readonly sealed: string;
};

/** At most `limit` texts that begin with one of the prefixes, from row `pivot` on and then from the first. */
export async function listSealedValues(
  db: Database,
  kind: SealedKind,
  search: { readonly prefixes: readonly string[]; readonly pivot: string; readonly limit: number },
): Promise<SealedRow[]> {
  if (search.prefixes.length === 0) return [];
  const { table, column } = COLUMNS[kind];
  const rows = await db
    .select({ accountId: table.accountId, rowId: table.id, sealed: column })
    .from(table)
    .where(or(...search.prefixes.map((prefix) => like(column, `${prefix}%`))))
    .orderBy(asc(sql`${table.id} < ${search.pivot}`), asc(table.id))
    .limit(search.limit);
  return rows.map((row) => ({ ...row, kind }));
}

/** Replaces a sealed value if it still is as it was read; returns whether it did. */
export async function replaceSealedValue(db: Database, read: SealedRow, sealed: string): Promise<boolean> {
  const { table, column, field } = COLUMNS[read.kind];
  const replaced = await db
    .update(table)
    .set({ [field]: sealed })
    .where(and(eq(table.accountId, read.accountId), eq(table.id, read.rowId), eq(column, read.sealed)))
    .returning({ id: table.id });
  return replaced.length > 0;
}

/** How many texts of all accounts do not begin with a prefix. */
export async function countSealedUnderOtherKeys(db: Database, prefix: string): Promise<number> {
  const counts = await Promise.all(
    SEALED_KINDS.map(async (kind) => {
      const { table, column } = COLUMNS[kind];
      const [row] = await db
        .select({ count: count() })
        .from(table)
        .where(notLike(column, `${prefix}%`));
      return row?.count ?? 0;
    }),
  );
  return counts.reduce((sum, each) => sum + each, 0);
}
