/** The stock of the fleet as an edge location last heard it. */
import { STOCK_CACHE_MS } from "../../contract/limits.ts";
import type { HostStock } from "../../domain/stock.ts";
import { logFailure } from "../../failure-log.ts";
import { fleetObject } from "../fleet.ts";
import { OperationError } from "../operation-error.ts";
import type { CatalogContext } from "./context.ts";

let heard: { readonly at: number; readonly hosts: readonly HostStock[] } | undefined;

/** What the hosts that are there have, at most STOCK_CACHE_MS old. */
export async function presentStock(context: CatalogContext): Promise<readonly HostStock[]> {
  const age = heard === undefined ? Number.NaN : context.now - heard.at;
  if (heard !== undefined && age >= 0 && age < STOCK_CACHE_MS) return heard.hosts;
  try {
    heard = { at: context.now, hosts: await fleetObject(context.env).stock() };
    return heard.hosts;
  } catch (cause) {
    logFailure("fleet_not_reached", {}, cause);
    throw new OperationError(
      "UNAVAILABLE",
      "The fleet cannot be asked at the moment; please try again later.",
    );
  }
}
