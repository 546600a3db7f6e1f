/**
 * What the containers on a bridge may reach, as iptables rules.
 *
 * F1  Of the host: the agents' worker ports on the bridge's gateway, the name servers that Docker gives them, and
 *     answers to connections that the host has begun. Nothing else, on any of its addresses.
 * F2  Beyond the host: the Internet. Not the addresses of cloud metadata, and of private networks only what
 *     the owner of the host has opened. Answers to connections that others have begun, at published ports of pods,
 *     reach the one that has begun them.
 * F3  No IPv6: the network does not have it, and what a container might set up itself leads nowhere.
 * F4  F2 and F3 hold at every moment. Docker takes the jump to its chain for users out of the way and sets it again
 *     whenever it makes a network, any network; for some milliseconds `filter` is not consulted. The table
 *     `security`, which is consulted last and which Docker leaves alone, then drops what `filter` would have refused.
 *
 * Rules are written as `iptables -S` prints them, so that the two can be compared.
 */
import ipaddr from "ipaddr.js";
import { createHash } from "node:crypto";
import {
  arrivalChain,
  clusterPrefix,
  departureChain,
  departureRules,
  memberChains,
  type Members,
  sendingRules,
} from "./cluster-rules.ts";
import { METADATA_ADDRESSES } from "../../../src/net/public-host.ts";

/** An interface name has at most 15 characters. */
const INTERFACE_NAME = /^[a-z0-9][a-z0-9-]{0,14}$/;

/** IP addresses that are not on the Internet: private, shared and reserved networks, loopback, multicast. */
const CLOSED_NETWORKS = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "224.0.0.0/4",
  "240.0.0.0/4",
] as const;

/** Metadata services of clouds, which reveal credentials of the machine; no owner can open them. */
export const METADATA_NETWORKS: readonly string[] = [
  "169.254.0.0/16", // link-local
  ...METADATA_ADDRESSES.map((address) => `${address}/32`),
];

const DROP = "-j DROP";
const REJECT = "-j REJECT --reject-with icmp-port-unreachable";
const REJECT_6 = "-j REJECT --reject-with icmp6-port-unreachable";
const ANSWERS = "-m conntrack --ctstate ESTABLISHED --ctdir REPLY";

export type Reach = {
  readonly bridge: string;
  /** IPv4 addresses that Docker lets containers ask for names. */
  readonly nameservers: readonly string[];
  /** IPv4 networks, as `10.1.0.0/16`, that the owner of the host has opened. */
  readonly allowedNetworks: readonly string[];
  /** Containers that reach each other; absent: none do. */
  readonly members?: Members | undefined;
};

export type Family = "ipv4" | "ipv6";

export const TABLES = ["filter", "security", "nat"] as const;
export type Table = (typeof TABLES)[number];

export type Chain = { readonly name: string; readonly rules: readonly string[] };

/** Interface of a Docker network: its own name where that is one. */
export function bridgeName(networkName: string): string {
  if (INTERFACE_NAME.test(networkName)) return networkName;
  return `er-${createHash("sha256").update(networkName).digest("hex").slice(0, 12)}`;
}

export function inputChain(bridge: string): string {
  return `EDGERUN-IN-${bridge}`;
}

export function forwardChain(bridge: string): string {
  return `EDGERUN-FW-${bridge}`;
}

/** Has a rule for each agent with workers on the bridge, added and removed one by one. */
export function agentsChain(bridge: string): string {
  return `EDGERUN-AG-${bridge}`;
}

export function agentRule(gateway: string, port: number): string {
  return `-d ${gateway}/32 -p tcp -m tcp --dport ${port} -j ACCEPT`;
}

/** The chains of a table that are the same for all agents of a bridge. */
export function chainsOf(family: Family, table: Table, reach: Reach): readonly Chain[] {
  const { bridge, members } = reach;
  const [input, forward] = [inputChain(bridge), forwardChain(bridge)];
  if (table === "nat")
    return members ? [{ name: departureChain(bridge), rules: departureRules(members) }] : [];
  const target = table === "security" ? DROP : REJECT;
  const shared = family === "ipv4" && members ? memberChains(bridge, members, target) : [];
  if (table === "security") {
    return [{ name: forward, rules: family === "ipv4" ? forwardRules(reach, DROP) : [DROP] }, ...shared];
  }
  return family === "ipv4"
    ? [
        { name: input, rules: inputRules(reach) },
        { name: forward, rules: forwardRules(reach, REJECT) },
        ...shared,
      ]
    : [
        { name: input, rules: [`${ANSWERS} -j ACCEPT`, REJECT_6] },
        { name: forward, rules: [REJECT_6] },
      ];
}

function inputRules({ bridge, nameservers }: Reach): readonly string[] {
  return [
    `${ANSWERS} -j ACCEPT`,
    `-j ${agentsChain(bridge)}`,
    ...nameservers.flatMap((address) => nameRules(address, "ACCEPT")),
    REJECT,
  ];
}

function forwardRules(reach: Reach, target: string): readonly string[] {
  const { bridge, nameservers, allowedNetworks, members } = reach;
  return [
    `${ANSWERS} -j RETURN`,
    ...(members ? sendingRules(bridge, members) : []),
    `-o ${bridge} ${target}`,
    ...nameservers.flatMap((address) => nameRules(address, "RETURN")),
    ...METADATA_NETWORKS.map((network) => `-d ${network} ${target}`),
    ...allowedNetworks.map((network) => `-d ${network} -j RETURN`),
    ...CLOSED_NETWORKS.map((network) => `-d ${network} ${target}`),
  ];
}

function nameRules(address: string, verdict: "ACCEPT" | "RETURN"): readonly string[] {
  return ["udp", "tcp"].map(
    (protocol) => `-d ${address}/32 -p ${protocol} -m ${protocol} --dport 53 -j ${verdict}`,
  );
}

/** Where the chains are entered. Docker asks its chain for users before its own rules, where it has one. */
export function jumpsOf(
  table: Table,
  { bridge, members }: Pick<Reach, "bridge" | "members">,
  present: readonly string[],
): readonly Chain[] {
  if (table === "nat") {
    const leaving = members ? [`-s ${members.network} ! -o ${bridge} -j ${departureChain(bridge)}`] : [];
    return [{ name: "POSTROUTING", rules: leaving }];
  }
  const arriving = members ? [`-o ${bridge} -j ${arrivalChain(bridge)}`] : [];
  const forward = { name: "FORWARD", rules: [`-i ${bridge} -j ${forwardChain(bridge)}`, ...arriving] };
  if (table === "security") return [forward];
  const hasUserChain = present.includes("-N DOCKER-USER");
  return [
    { name: "INPUT", rules: [`-i ${bridge} -j ${inputChain(bridge)}`] },
    hasUserChain ? { ...forward, name: "DOCKER-USER" } : forward,
  ];
}

/**
 * The input of `iptables-restore --noflush` that sets up the chains and the jumps, as one change; null
 * when they are there. `present` is what `iptables -S` prints of the table.
 */
export function repairScript(
  table: Table,
  chains: readonly Chain[],
  jumps: readonly Chain[],
  present: readonly string[],
  /** Chains to take away. */
  stale: readonly string[] = [],
): string | null {
  const broken = chains.filter((chain) => !isWhole(chain, present));
  const missing = jumps.flatMap(({ name, rules }) =>
    rules.filter((rule) => !present.includes(`-A ${name} ${rule}`)).map((rule) => `-I ${name} 1 ${rule}`),
  );
  if (broken.length + missing.length + stale.length === 0) return null;
  const declared = [...broken.map(({ name }) => name), ...stale].map((name) => `:${name} - [0:0]`); // made, or emptied
  const filled = broken.flatMap(({ name, rules }) => rules.map((rule) => `-A ${name} ${rule}`));
  return [
    `*${table}`,
    ...declared,
    ...filled,
    ...missing,
    ...stale.map((name) => `-X ${name}`),
    "COMMIT",
    "",
  ].join("\n");
}

/** Chains of clusters that are no longer among these. */
export function staleChains(
  bridge: string,
  chains: readonly Chain[],
  present: readonly string[],
): readonly string[] {
  const kept = new Set(chains.map(({ name }) => name));
  return chainNames(clusterPrefix(bridge), present).filter((name) => !kept.has(name));
}

function chainNames(prefix: string, present: readonly string[]): readonly string[] {
  return present.filter((line) => line.startsWith(`-N ${prefix}`)).map((line) => line.slice(3));
}

function isWhole({ name, rules }: Chain, present: readonly string[]): boolean {
  const found = present.filter((line) => line.startsWith(`-A ${name} `));
  const isSame =
    found.length === rules.length && found.every((line, at) => line === `-A ${name} ${rules[at]}`);
  return present.includes(`-N ${name}`) && isSame;
}

/** The commands that take away all that was made for a bridge in a table. */
export function removalOf(bridge: string, present: readonly string[]): readonly (readonly string[])[] {
  const names = [
    ...[inputChain(bridge), forwardChain(bridge), agentsChain(bridge)],
    ...[arrivalChain(bridge), departureChain(bridge)],
    ...chainNames(clusterPrefix(bridge), present),
  ];
  const jumps = present.filter((line) => names.some((name) => line.endsWith(` -j ${name}`)));
  const own = names.filter((name) => present.includes(`-N ${name}`));
  return [
    ...jumps.map((line) => ["-D", ...line.split(" ").slice(1)]),
    ...own.map((name) => ["-F", name]),
    ...own.map((name) => ["-X", name]),
  ];
}

/** Reads an IPv4 network such as 10.1.0.0/16, or one address. Throws with a message for users. */
export function readAllowedNetwork(text: string): string {
  const [address = "", prefix = "32"] = text.split("/");
  const whole = `${address}/${prefix}`;
  if (!ipaddr.IPv4.isValidFourPartDecimal(address) || !ipaddr.IPv4.isValidCIDR(whole)) {
    throw new Error(`"${text}" is no IPv4 network. Write it as 10.1.0.0/16 or 10.1.2.3.`);
  }
  const network = ipaddr.IPv4.networkAddressFromCIDR(whole);
  if (METADATA_NETWORKS.some((closed) => network.match(ipaddr.IPv4.parseCIDR(closed)))) {
    throw new Error(
      `${text} can not be opened: metadata services of clouds give host credentials away there.`,
    );
  }
  return `${network.toString()}/${Number(prefix)}`;
}
