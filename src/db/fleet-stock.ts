/** What the hosts of each account have free, as its Fleet object has last reported. */
import { gte, sql } from "drizzle-orm";
import type { HostStock } from "../domain/placement/stock.ts";
import type { Database } from "./database.ts";
import { fleetStock } from "./schema.ts";

export type StockOfFleet = {
  readonly accountId: string;
  /** By the clock of the object, ms of the epoch. */
  readonly at: number;
  readonly hosts: readonly HostStock[];
};

/** Saves a report, unless a newer one was saved; one of the future, by a clock that was wrong, is none. */
export async function saveStock(
  db: Database,
  { accountId, at, hosts }: StockOfFleet,
  now: number,
): Promise<void> {
  await db
    .insert(fleetStock)
    .values({ accountId, at, hosts })
    .onConflictDoUpdate({
      target: fleetStock.accountId,
      set: { at, hosts },
      setWhere: sql`${fleetStock.at} <= ${at} OR ${fleetStock.at} > ${now}`,
    });
}

/** The hosts of all accounts whose objects have reported since then. */
export async function listStock(db: Database, since: number): Promise<HostStock[]> {
  const rows = await db.select({ hosts: fleetStock.hosts }).from(fleetStock).where(gte(fleetStock.at, since));
  return rows.flatMap(({ hosts }) => hosts);
}
