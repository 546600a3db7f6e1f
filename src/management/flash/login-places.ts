/** From where logins were opened of late, so that a flood from one place keeps nobody else out. */
import { FLASH_AUTH_LIFE_MS, FLASH_AUTH_PER_PLACE_MAX } from "../../contract/flash-limits.ts";
import { BoundedMap } from "../../domain/bounded-map.ts";

type Opened = { readonly count: number; readonly until: number };

const PLACES_KNOWN = 10_000;
/** Of an IPv6 address: who has one has all of those that begin so. */
const NETWORK_GROUPS = 4;

const places = new BoundedMap<Opened>(PLACES_KNOWN);

/** Counts one more login of this address; false when it has opened as many as it may. */
export function mayOpenLogin(clientAddress: string, now: number): boolean {
  const place = placeOf(clientAddress);
  const known = places.get(place);
  const { count, until } = known && now < known.until ? known : { count: 0, until: now + FLASH_AUTH_LIFE_MS };
  if (count >= FLASH_AUTH_PER_PLACE_MAX) return false;
  places.set(place, { count: count + 1, until });
  return true;
}

function placeOf(address: string): string {
  if (!address.includes(":")) return address;
  const [head = "", tail] = address.split("::");
  const zeros = tail === undefined ? [] : Array<string>(NETWORK_GROUPS).fill("0");
  return [...head.split(":"), ...zeros].slice(0, NETWORK_GROUPS).join(":");
}
