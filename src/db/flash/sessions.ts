/**
 * Sessions: flash environments with a lease.
 *
 * S1  A lease that has lapsed is not renewed; one that was renewed has not lapsed. The first write decides.
 */
import { and, eq, gt, lte, ne, sql } from "drizzle-orm";
import type { Author } from "../audit-log.ts";
import type { Database } from "../database.ts";
import type { FlashEnvironmentRecord } from "./environments.ts";
import { flashEnvironment } from "../schema.ts";

/**
 * Moves the end of a session; nothing comes back when it has ended (S1). Not noted in the audit log: it comes every
 * few seconds and says nothing.
 */
export async function renewLeaseIfActive(
  db: Database,
  { accountId, now }: Pick<Author, "accountId" | "now">,
  environmentId: string,
  leaseExpiresAt: number,
): Promise<FlashEnvironmentRecord | undefined> {
  const isOwn = and(eq(flashEnvironment.accountId, accountId), eq(flashEnvironment.id, environmentId));
  const isActive = and(ne(flashEnvironment.state, "DELETING"), gt(flashEnvironment.leaseExpiresAt, now));
  const [renewed] = await db
    .update(flashEnvironment)
    .set({ leaseExpiresAt })
    .where(and(isOwn, isActive))
    .returning();
  return renewed;
}

/** Sessions of all accounts whose lease has lapsed, in no order, so that none stands in the way. */
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

/** From now on the session takes nothing; false when it was renewed or is gone (S1). */
export async function closeIfLapsed(db: Database, environmentId: string, now: number): Promise<boolean> {
  const closed = await db
    .update(flashEnvironment)
    .set({ state: "DELETING", updatedAt: now })
    .where(and(eq(flashEnvironment.id, environmentId), lte(flashEnvironment.leaseExpiresAt, now)))
    .returning({ id: flashEnvironment.id });
  return closed.length > 0;
}
