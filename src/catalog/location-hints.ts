/** Where Cloudflare creates objects: near the hosts that call them, as far as that is known when they are first named. */
import { findDataCenter } from "./data-centers.ts";

/** A part of the world that Cloudflare knows by this name; https://developers.cloudflare.com/durable-objects/reference/data-location/ */
export type LocationHint = "wnam" | "enam" | "weur" | "eeur" | "apac" | "oc";

const OF_COUNTRIES: ReadonlyMap<string, LocationHint> = new Map([
  ["AU", "oc"],
  ["CA", "enam"],
  ["CZ", "eeur"],
  ["FR", "weur"],
  ["IS", "weur"],
  ["JP", "apac"],
  ["NL", "weur"],
  ["NO", "weur"],
  ["RO", "eeur"],
  ["SE", "weur"],
  ["US", "enam"],
]);
const WEST_OF_NORTH_AMERICA: ReadonlySet<string> = new Set(["US-CA-2", "US-WA-1"]);

/** That of the first data center or country that is known; undefined leaves it to who calls the object first. */
export function locationHintOf(locations: readonly string[]): LocationHint | undefined {
  for (const location of locations) {
    if (WEST_OF_NORTH_AMERICA.has(location)) return "wnam";
    const hint = OF_COUNTRIES.get(findDataCenter(location)?.countryCode ?? location);
    if (hint) return hint;
  }
  return undefined;
}
