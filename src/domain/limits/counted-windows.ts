/**
 * Counts requests by name in windows of a fixed length that begin at the same moments everywhere, within one isolate.
 * Bounded: the name that was counted longest ago is forgotten first.
 */
import { BoundedMap } from "./bounded-map.ts";

type Window = { readonly begin: number; readonly count: number; readonly isExhausted: boolean };

export class CountedWindows {
  readonly #lengthMs: number;
  readonly #windows: BoundedMap<Window>;

  constructor(lengthMs: number, namesMax: number) {
    this.#lengthMs = lengthMs;
    this.#windows = new BoundedMap(namesMax);
  }

  /** Counts one more; returns how many there are in this window. */
  count(name: string, now: number): number {
    const window = this.#windowOf(name, now);
    const count = window.count + 1;
    this.#windows.set(name, { ...window, count });
    return count;
  }

  /** Nothing more is admitted in this window. */
  exhaust(name: string, now: number): void {
    this.#windows.set(name, { ...this.#windowOf(name, now), isExhausted: true });
  }

  isExhausted(name: string, now: number): boolean {
    return this.#windowOf(name, now).isExhausted;
  }

  /** Milliseconds until the next window begins. */
  endsInMs(now: number): number {
    return this.#lengthMs - (now % this.#lengthMs);
  }

  #windowOf(name: string, now: number): Window {
    const begin = now - (now % this.#lengthMs);
    const current = this.#windows.get(name);
    return current?.begin === begin ? current : { begin, count: 0, isExhausted: false };
  }
}

/** Groups of an IPv6 address that name a network: a site has all its addresses, and may use another per request. */
const NETWORK_GROUPS = 3;

/** The network of an address, by which requests of one place are counted: the address itself, or its first 48 bits. */
export function clientNetwork(address: string): string {
  if (!address.includes(":")) return address;
  const [head = "", tail] = address.split("::");
  const groups = head === "" ? [] : head.split(":");
  const zeros = tail === undefined ? [] : Array<string>(NETWORK_GROUPS).fill("0");
  return [...groups, ...zeros]
    .slice(0, NETWORK_GROUPS)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":");
}
