import { and, eq, isNull } from "drizzle-orm";
import type { Database } from "./database.ts";
import { randomRowId } from "./row-id.ts";
import { host } from "./schema.ts";

export type HostRecord = typeof host.$inferSelect;

export async function createHost(
  db: Database,
  values: { readonly accountId: string; readonly name: string; readonly tokenHash: string },
  now: number,
): Promise<HostRecord> {
  const record = { ...values, id: randomRowId(), createdAt: now, revokedAt: null };
  await db.insert(host).values(record);
  return record;
}

/** Finds a host whose token is not revoked. */
export async function findHostByTokenHash(
  db: Database,
  hash: string,
): Promise<{ readonly hostId: string; readonly accountId: string } | undefined> {
  return await db
    .select({ hostId: host.id, accountId: host.accountId })
    .from(host)
    .where(and(eq(host.tokenHash, hash), isNull(host.revokedAt)))
    .get();
}
