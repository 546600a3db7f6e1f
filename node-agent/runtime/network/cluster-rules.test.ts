import fc from "fast-check";
import ipaddr from "ipaddr.js";
import { describe, test } from "vitest";
import { routeChanges, type Route } from "./cluster-routes.ts";
import { arrivalChain, clusterPrefix, departureChain, type Members } from "./cluster-rules.ts";
import {
  type Chain,
  chainsOf,
  forwardChain,
  jumpsOf,
  removalOf,
  repairScript,
  staleChains,
  type Reach,
} from "./firewall-rules.ts";

const BRIDGE = "er-0123456789ab";
const NETWORK = "198.19.0.0/16";
const OUTSIDE = "eth1";

/** Two clusters of pods here and elsewhere, without a common address. */
const clusters = fc
  .uniqueArray(fc.integer({ min: 2, max: 250 }), { minLength: 4, maxLength: 20 })
  .map((numbers) => {
    const [a, b]: { local: string[]; remote: Route[] }[] = [0, 1].map(() => ({ local: [], remote: [] }));
    for (const [index, number] of numbers.entries()) {
      const address = `198.19.0.${number}`;
      const cluster = index % 2 === 0 ? a : b;
      if (index % 4 < 2) cluster?.local.push(address);
      else cluster?.remote.push({ address, via: "10.1.2.3" });
    }
    return [
      { clusterId: "a", local: a?.local ?? [], remote: a?.remote ?? [] },
      { clusterId: "b", local: b?.local ?? [], remote: b?.remote ?? [] },
    ];
  });

type Packet = { readonly s: string; readonly d: string; readonly i: string; readonly o: string };

/** What the chains do with the first packet of a connection: the verdict of the first rule that gives one. */
function verdict(chains: readonly Chain[], name: string, packet: Packet): string | undefined {
  for (const rule of chains.find((chain) => chain.name === name)?.rules ?? []) {
    const parts = rule.split(" ");
    const target = parts[parts.indexOf("-j") + 1] ?? "";
    const isMatch = !rule.includes("conntrack") && !rule.includes("--dport") && matches(parts, packet);
    const result = isMatch
      ? chains.some((chain) => chain.name === target)
        ? verdict(chains, target, packet)
        : target
      : undefined;
    if (result !== undefined) return result;
  }
  return undefined;
}

function matches(parts: readonly string[], packet: Packet): boolean {
  return parts.every((word, at) => {
    const value = parts[at + 1] ?? "";
    if (word === "-s" || word === "-d") {
      return ipaddr.IPv4.parse(packet[word === "-s" ? "s" : "d"]).match(ipaddr.IPv4.parseCIDR(value));
    }
    return (word !== "-i" || packet.i === value) && (word !== "-o" || packet.o === value);
  });
}

const reachOf = (members: Members): Reach => ({
  ...{ bridge: BRIDGE, nameservers: [], allowedNetworks: ["10.1.0.0/16"], members },
});

describe("the rules of clusters", () => {
  test("let exactly pods of one cluster through, by their side and by their own address", ({ expect }) => {
    fc.assert(
      fc.property(clusters, fc.constantFrom("filter", "security"), (all, table) => {
        const members = { network: NETWORK, clusters: all, outside: OUTSIDE };
        const chains = chainsOf("ipv4", table as "filter", reachOf(members));
        const places = all.flatMap(({ clusterId, local, remote }) => [
          ...local.map((address) => ({ clusterId, address, device: BRIDGE })),
          ...remote.map(({ address }) => ({ clusterId, address, device: OUTSIDE })),
        ]);
        const strangers = ["198.19.200.1", "10.9.9.9"].flatMap((address) =>
          [BRIDGE, OUTSIDE, "eth0"].map((device) => ({ clusterId: "", address, device })),
        );
        for (const from of [...places, ...strangers]) {
          for (const to of places) {
            if (from.device !== BRIDGE && to.device !== BRIDGE) continue;
            const packet = { s: from.address, i: from.device, d: to.address, o: to.device };
            const isPeer = from.clusterId === to.clusterId && from.address !== to.address;
            const open = isPeer || from.address === to.address;
            if (from.device === BRIDGE)
              expect(verdict(chains, forwardChain(BRIDGE), packet) === "ACCEPT").toBe(open);
            if (to.device === BRIDGE)
              expect(verdict(chains, arrivalChain(BRIDGE), packet) === "ACCEPT").toBe(open);
            if (to.device === BRIDGE && isPeer)
              expect(verdict(chains, arrivalChain(BRIDGE), { ...packet, i: "eth0" })).not.toBe("ACCEPT");
          }
        }
      }),
    );
  });

  test("of a cluster that has ended go, and all of the bridge when the last one has", ({ expect }) => {
    const cluster = { clusterId: "a", local: ["198.19.0.2"], remote: [] };
    const members = { network: NETWORK, clusters: [cluster], outside: null };
    const chains = chainsOf("ipv4", "filter", reachOf(members));
    const present = chains.flatMap(({ name, rules }) => [
      `-N ${name}`,
      ...rules.map((rule) => `-A ${name} ${rule}`),
    ]);
    const jumps = jumpsOf("filter", reachOf(members), present);
    const jumpLines = jumps.flatMap(({ name, rules }) => rules.map((rule) => `-A ${name} ${rule}`));
    expect(repairScript("filter", chains, jumps, [...present, ...jumpLines])).toBeNull();
    const fewer = chainsOf("ipv4", "filter", reachOf({ ...members, clusters: [] }));
    const stale = staleChains(BRIDGE, fewer, present);
    expect(stale).toHaveLength(2);
    expect(stale.every((name) => name.startsWith(clusterPrefix(BRIDGE)) && name.length <= 28)).toBe(true);
    const script = repairScript("filter", fewer, jumps, [...present, ...jumpLines], stale) ?? "";
    for (const name of stale) expect(script).toMatch(`:${name} - [0:0]`);
    expect(script.split("\n").slice(-4)).toEqual([...stale.map((name) => `-X ${name}`), "COMMIT", ""]);
    const gone = removalOf(BRIDGE, [...present, ...jumpLines]).map(([how, name]) => `${how} ${name}`);
    for (const { name } of chains) expect(gone).toContain(`-X ${name}`);
    expect(jumpsOf("nat", reachOf(members), [])).toEqual([
      { name: "POSTROUTING", rules: [`-s ${NETWORK} ! -o ${BRIDGE} -j ${departureChain(BRIDGE)}`] },
    ]);
  });
});

describe("routes", () => {
  test("are set, moved and taken away, and others stay", ({ expect }) => {
    const present = ["198.19.0.2 via 10.1.2.3 dev eth1 ", "198.19.0.3 via 10.1.2.3 dev eth1 ", ""];
    const desired = [
      { address: "198.19.0.2", via: "10.1.2.3" },
      { address: "198.19.0.3", via: "10.1.2.4" },
    ];
    expect(routeChanges(present, desired, OUTSIDE)).toEqual([
      "route replace 198.19.0.3/32 via 10.1.2.4 dev eth1 proto 213",
    ]);
    expect(routeChanges(present, [], "")).toEqual([
      "route del 198.19.0.2/32 proto 213",
      "route del 198.19.0.3/32 proto 213",
    ]);
  });
});
