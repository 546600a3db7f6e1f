/** What the logs of an account have added to R2 on a day, of what they may add. */
import { and, eq, inArray, lt, sql } from "drizzle-orm";
import type { Database } from "./database.ts";
import { logDay } from "./schema.ts";

export type AccountDay = { readonly accountId: string; readonly day: string };

export type LogBytes = {
  /** What is needed at once, and what may be taken as well for what comes next. */
  readonly needed: number;
  readonly requested: number;
  readonly limit: number;
};

export type TakenBytes = { readonly bytes: number } | { readonly fullSince: number };

/**
 * Takes bytes of a day: at least what is needed, or none. A day that was full stays full for less, too, unless the
 * limit has been raised.
 */
export async function takeLogBytes(
  db: Database,
  { accountId, day }: AccountDay,
  { needed, requested, limit }: LogBytes,
  now: number,
): Promise<TakenBytes> {
  const isDay = and(eq(logDay.accountId, accountId), eq(logDay.day, day));
  const isEnough = sql`${logDay.takenBytes} + iif(${logDay.fullSince} IS NULL, ${needed}, ${requested}) <= ${limit}`;
  const [, [before], [after]] = await db.batch([
    db.insert(logDay).values({ accountId, day, takenBytes: 0 }).onConflictDoNothing(),
    db.select().from(logDay).where(isDay),
    db
      .update(logDay)
      .set({
        takenBytes: sql`iif(${isEnough}, min(${logDay.takenBytes} + ${requested}, ${limit}), ${logDay.takenBytes})`,
        fullSince: sql`iif(${isEnough}, NULL, coalesce(${logDay.fullSince}, ${now}))`,
      })
      .where(isDay)
      .returning(),
  ]);
  const fullSince = after?.fullSince ?? null;
  return fullSince === null ? { bytes: (after?.takenBytes ?? 0) - (before?.takenBytes ?? 0) } : { fullSince };
}

/** Deletes the rows of some of the days before this one; returns how many. */
export async function removeOldLogDays(db: Database, firstRetained: string, limit: number): Promise<number> {
  const old = db
    .select({ rowid: sql`rowid` })
    .from(logDay)
    .where(lt(logDay.day, firstRetained))
    .limit(limit);
  const removed = await db
    .delete(logDay)
    .where(inArray(sql`rowid`, old))
    .returning({ day: logDay.day });
  return removed.length;
}
