/** The stock of all fleets, as they have reported it to D1: no object is asked, and each edge location caches it. */
import { listStock, saveStock } from "../../db/fleet-stock.ts";
import { openDatabase } from "../../db/database.ts";
import { BoundedMap } from "../../domain/limits/bounded-map.ts";
import type { HostStock } from "../../domain/placement/stock.ts";
import type { Env } from "../../env.ts";
import type { StockReport } from "../../fleet/messages.ts";
import { logFailure } from "../failure-log.ts";
import { ServiceError } from "../../contract/errors.ts";
import type { RequestContext } from "../context.ts";

/** How long an edge location caches the stock: some clients query it hundreds of times. */
export const STOCK_CACHE_MS = 5_000;

/** A fleet that has hosts reports each minute: one that has not done so twice has none. */
export const STOCK_MAX_AGE_MS = 150_000;

const CACHED = "stock";
const cache = new BoundedMap<{ readonly at: number; readonly hosts: readonly HostStock[] }>(1);

/** The stock of all present hosts, at most STOCK_CACHE_MS old. Throws unavailable. */
export async function presentStock(context: CatalogContext): Promise<readonly HostStock[]> {
  const cached = cache.get(CACHED);
  const age = cached === undefined ? Number.NaN : context.now - cached.at;
  if (cached !== undefined && age >= 0 && age < STOCK_CACHE_MS) return cached.hosts;
  try {
    const hosts = await listStock(openDatabase(context.env.DB), context.now - STOCK_MAX_AGE_MS);
    cache.set(CACHED, { at: context.now, hosts });
    return hosts;
  } catch (cause) {
    logFailure("stock_not_read", {}, cause);
    throw new ServiceError("unavailable", "The stock cannot be read at the moment; please try again later.");
  }
}

/** Stores what a Fleet object has reported, if anything. The next report makes up for one that is lost. */
export async function recordStock(
  env: Pick<Env, "DB">,
  accountId: string,
  report: StockReport | undefined,
): Promise<void> {
  if (!report) return;
  try {
    await saveStock(openDatabase(env.DB), { accountId, ...report }, Date.now());
  } catch (cause) {
    logFailure("stock_not_stored", { accountId }, cause);
  }
}

/** All that the catalog needs; it is the same for every caller. */
export type CatalogContext = Pick<RequestContext, "env" | "now">;
