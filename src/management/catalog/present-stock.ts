/** The stock of the fleet, cached by each edge location. */
import { BoundedMap } from "../../domain/limits/bounded-map.ts";
import type { HostStock } from "../../domain/placement/stock.ts";
import { logFailure } from "../failure-log.ts";
import { fleetObject } from "../objects.ts";
import { ServiceError } from "../../contract/errors.ts";
import type { RequestContext } from "../context.ts";

/** How long an edge location caches the stock: some clients query it hundreds of times. */
export const STOCK_CACHE_MS = 5_000;

const CACHED = "stock";
const cache = new BoundedMap<{ readonly at: number; readonly hosts: readonly HostStock[] }>(1);

/** The stock of all present hosts, at most STOCK_CACHE_MS old. */
export async function presentStock(context: CatalogContext): Promise<readonly HostStock[]> {
  const cached = cache.get(CACHED);
  const age = cached === undefined ? Number.NaN : context.now - cached.at;
  if (cached !== undefined && age >= 0 && age < STOCK_CACHE_MS) return cached.hosts;
  try {
    const hosts = await fleetObject(context.env).stock();
    cache.set(CACHED, { at: context.now, hosts });
    return hosts;
  } catch (cause) {
    logFailure("fleet_not_reached", {}, cause);
    throw new ServiceError(
      "unavailable",
      "The fleet cannot be reached at the moment; please try again later.",
    );
  }
}

/** All that the catalog needs; it is the same for every caller. */
export type CatalogContext = Pick<RequestContext, "env" | "now">;
