/**
 * The private addresses of the pods of clusters.
 *
 * A1  Of one account no two pods have the same address, and none has that of the bridge, which is the first of the
 *     network.
 * A2  The network is none that the Internet has: hosts keep their other containers from all of those.
 */
import ipaddr from "ipaddr.js";

/** Reserved for tests of networks, so that hardly any owner of a host uses it. */
const CLUSTER_NETWORK_DEFAULT = "198.19.0.0/16";

const PRIVATE_NETWORKS = ["10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.168.0.0/16", "198.18.0.0/15"];
/** 65,536 to 256 addresses. */
const [PREFIX_MIN, PREFIX_MAX] = [16, 24];

export type ClusterRange = {
  /** As `198.19.0.0/16`. */
  readonly network: string;
  /** Of the bridge on each host. */
  readonly gateway: string;
  /** Addresses for pods are those from `first` to `last`, as numbers. */
  readonly first: number;
  readonly last: number;
};

/** The network that is set, or the usual one; undefined where no network can be made of the setting. */
export function clusterRangeOf(setting: string | undefined): ClusterRange | undefined {
  return readClusterRange(setting || CLUSTER_NETWORK_DEFAULT);
}

/** Reads an IPv4 network; undefined for one that is not private, or not from /16 to /24. */
export function readClusterRange(text: string): ClusterRange | undefined {
  if (!ipaddr.IPv4.isValidCIDRFourPartDecimal(text)) return undefined;
  const [address, prefix] = ipaddr.IPv4.parseCIDR(text);
  const isPrivate = PRIVATE_NETWORKS.some((network) => address.match(ipaddr.IPv4.parseCIDR(network)));
  if (!isPrivate || prefix < PREFIX_MIN || prefix > PREFIX_MAX) return undefined;
  const base = ipaddr.IPv4.networkAddressFromCIDR(text);
  const start = numberOf(base.toString());
  const last = start + 2 ** (32 - prefix) - 2; // the last one is for broadcasts
  return { network: `${base.toString()}/${prefix}`, gateway: addressOf(start + 1), first: start + 2, last };
}

/** The first free address at or after `start`, a number from 0 to 1 of the way through the range; undefined for none. */
export function freeAddress(
  { first, last }: ClusterRange,
  taken: ReadonlySet<string>,
  start: number,
): string | undefined {
  const count = last - first + 1;
  const offset = Math.floor(start * count);
  for (let step = 0; step < count; step += 1) {
    const address = addressOf(first + ((offset + step) % count));
    if (!taken.has(address)) return address;
  }
  return undefined;
}

function numberOf(address: string): number {
  return address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
}

function addressOf(number: number): string {
  return [24, 16, 8, 0].map((shift) => (number >>> shift) & 255).join(".");
}
