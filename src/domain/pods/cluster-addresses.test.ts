import fc from "fast-check";
import ipaddr from "ipaddr.js";
import { describe, test } from "vitest";
import { clusterRangeOf, freeAddress, readClusterRange } from "./cluster-addresses.ts";

const networks = fc
  .tuple(fc.constantFrom("10.77", "172.20", "192.168", "198.19", "100.99"), fc.integer({ min: 16, max: 24 }))
  .map(([start, prefix]) => `${start}.0.0/${prefix}`);

describe("the network of clusters", () => {
  test.for([
    ["8.8.0.0/16", "on the Internet"],
    ["10.0.0.0/15", "too large"],
    ["10.0.0.0/25", "too small"],
    ["192.168.0.0", "no network"],
    ["fd00::/16", "IPv6"],
    ["", "nothing"],
  ])("is none that is %s: %s", ([text = ""], { expect }) => {
    expect(readClusterRange(text)).toBeUndefined();
  });

  test("is the same wherever in it an address is named", ({ expect }) => {
    expect(readClusterRange("10.77.3.9/16")).toMatchObject({ network: "10.77.0.0/16", gateway: "10.77.0.1" });
    expect(clusterRangeOf(undefined)).toMatchObject({ gateway: "198.19.0.1" });
  });

  test("gives every address once, all in the network, and then none", ({ expect }) => {
    fc.assert(
      fc.property(networks, fc.array(fc.double({ min: 0, max: 0.999, noNaN: true })), (text, starts) => {
        const range = readClusterRange(text);
        if (!range) throw new Error(`${text} is no range.`);
        const taken = new Set<string>([range.gateway]);
        for (const start of starts) {
          const address = freeAddress(range, taken, start);
          expect(taken.has(address ?? range.gateway)).toBe(false);
          expect(ipaddr.IPv4.parse(address ?? "").match(ipaddr.IPv4.parseCIDR(range.network))).toBe(true);
          taken.add(address ?? "");
        }
      }),
    );
    const smallest = readClusterRange("10.77.0.0/24");
    const taken = new Set<string>();
    for (let left = 253; left > 0; left -= 1)
      taken.add((smallest && freeAddress(smallest, taken, 0.5)) ?? "");
    expect(taken.size).toBe(253);
    expect(smallest && freeAddress(smallest, taken, 0.5)).toBeUndefined();
    for (const reserved of ["10.77.0.0", "10.77.0.1", "10.77.0.255"]) expect(taken.has(reserved)).toBe(false);
  });
});
