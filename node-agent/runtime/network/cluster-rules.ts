/**
 * Who reaches whom on the bridge of clusters, as iptables rules beside those of every bridge (firewall-rules.ts).
 *
 * C1  A pod reaches the pods of its own cluster, here and on other hosts, at all ports and with all protocols. It is
 *     known by its exact address, and by the interface that its packets come from.
 * C2  Others reach a pod only at ports that are published, and with answers. So it is on every interface, whether
 *     Docker would let them in or not.
 * C3  Packets between pods keep their addresses: only what leaves the network gets that of the host. Docker's own rule
 *     for that knows no exceptions, so the bridge does without it.
 */
import { createHash } from "node:crypto";
import type { ClusterNetwork } from "../../../src/contract/agent/agent.ts";
import type { Chain } from "./firewall-rules.ts";

export type Members = Pick<ClusterNetwork, "network" | "clusters"> & {
  /** The interface that leads to other hosts; null where none does. */
  readonly outside: string | null;
};

type Cluster = ClusterNetwork["clusters"][number];

/** What arrives on the bridge from anywhere. */
export function arrivalChain(bridge: string): string {
  return `EDGERUN-TO-${bridge}`;
}

/** What leaves the network of clusters. */
export function departureChain(bridge: string): string {
  return `EDGERUN-NT-${bridge}`;
}

/** Chains of single clusters begin with this. */
export function clusterPrefix(bridge: string): string {
  return `EDGERUN-C-${digest(bridge, 6)}-`;
}

function fromChain(bridge: string, { clusterId }: Cluster): string {
  return `${clusterPrefix(bridge)}${digest(clusterId, 8)}-F`;
}

function toChain(bridge: string, { clusterId }: Cluster): string {
  return `${clusterPrefix(bridge)}${digest(clusterId, 8)}-T`;
}

/** A chain has at most 28 characters. */
function digest(text: string, length: number): string {
  return createHash("sha256").update(text).digest("hex").slice(0, length);
}

/** Rules for what pods send, before all that closes private networks. */
export function sendingRules(bridge: string, { clusters }: Members): readonly string[] {
  return clusters.flatMap((cluster) =>
    cluster.local.map((address) => `-s ${address}/32 -j ${fromChain(bridge, cluster)}`),
  );
}

/** The chains of the tables `filter` and `security`; `target` is what happens to all else that arrives. */
export function memberChains(bridge: string, members: Members, target: string): readonly Chain[] {
  const arrivals = members.clusters.flatMap((cluster) =>
    cluster.local.map((address) => `-d ${address}/32 -j ${toChain(bridge, cluster)}`),
  );
  const open = ["RELATED,ESTABLISHED", "DNAT"].map((state) => `-m conntrack --ctstate ${state} -j RETURN`);
  return [
    { name: arrivalChain(bridge), rules: [...open, ...arrivals, target] },
    ...members.clusters.flatMap((cluster) => [
      {
        name: fromChain(bridge, cluster),
        rules: peerRules(bridge, members, cluster, { end: "-d", side: "-o" }),
      },
      {
        name: toChain(bridge, cluster),
        rules: peerRules(bridge, members, cluster, { end: "-s", side: "-i" }),
      },
    ]),
  ];
}

function peerRules(
  bridge: string,
  { outside }: Members,
  { local, remote }: Cluster,
  { end, side }: { readonly end: string; readonly side: string },
): readonly string[] {
  const rule = (address: string, device: string) => `${end} ${address}/32 ${side} ${device} -j ACCEPT`;
  return [
    ...local.map((address) => rule(address, bridge)),
    ...(outside === null ? [] : remote.map(({ address }) => rule(address, outside))),
  ];
}

/** The chain of the table `nat`. */
export function departureRules({ network }: Members): readonly string[] {
  return [`-d ${network} -j RETURN`, "-j MASQUERADE"];
}
