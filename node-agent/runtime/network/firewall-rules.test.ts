import ipaddr from "ipaddr.js";
import { describe, test } from "vitest";
import {
  agentRule,
  bridgeName,
  chainsOf,
  jumpsOf,
  repairScript,
  removalOf,
  type Reach,
  type Table,
} from "./firewall-rules.ts";

const reach: Reach = { bridge: "workers", nameservers: ["10.0.0.2"], allowedNetworks: ["10.1.0.0/16"] };
const EMPTY = ["-P INPUT ACCEPT", "-P FORWARD DROP", "-N DOCKER-USER", "-A DOCKER-USER -j RETURN"];

/** What `iptables -S` prints once a script was carried out on this. */
function after(present: readonly string[], script: string): readonly string[] {
  const lines = script.split("\n");
  const made = lines.filter((line) => line.startsWith(":")).map((line) => line.slice(1).split(" ")[0] ?? "");
  const kept = present.filter(
    (line) => !made.some((name) => line.startsWith(`-A ${name} `) || line === `-N ${name}`),
  );
  const inserted = lines
    .filter((line) => line.startsWith("-I "))
    .map((line) => line.replace(/^-I (\S+) 1/, "-A $1"));
  return [
    ...kept,
    ...made.map((name) => `-N ${name}`),
    ...inserted,
    ...lines.filter((line) => line.startsWith("-A ")),
  ];
}

const repair = (present: readonly string[], expected = reach, table: Table = "filter"): string | null =>
  repairScript(table, chainsOf("ipv4", table, expected), jumpsOf(table, expected, present), present);

describe("the interface of a network", () => {
  test("is called as the network where that is possible, else after its hash", ({ expect }) => {
    expect(bridgeName("edgerun-workers")).toBe("edgerun-workers");
    for (const name of ["a-name-of-sixteen", "With Capitals", "-dash", ""]) {
      expect(bridgeName(name)).toMatch(/^er-[0-9a-f]{12}$/);
    }
    expect(bridgeName("one-that-is-too-long")).not.toBe(bridgeName("two-that-is-too-long"));
  });
});

describe("the rules", () => {
  test("are set at once where there are none, and left alone once they are there", ({ expect }) => {
    const script = repair(EMPTY) ?? "";
    expect(script).toMatch(/^\*filter\n[^]*\nCOMMIT\n$/);
    expect(script).toContain("-I DOCKER-USER 1 -i workers -j EDGERUN-FW-workers");
    expect(repair(after(EMPTY, script))).toBeNull();
  });

  test("are mended when any one line of them is missing", ({ expect }) => {
    const whole = after(EMPTY, repair(EMPTY) ?? "");
    const own = whole.filter((line) => line.includes("EDGERUN") || line.includes("REJECT"));
    expect(own.length).toBeGreaterThan(15);
    for (const lost of own) {
      const broken = whole.filter((line) => line !== lost);
      expect(after(broken, repair(broken) ?? "").toSorted(), lost).toEqual(whole.toSorted());
    }
  });

  test("are mended when somebody has put a line before them", ({ expect }) => {
    const whole = after(EMPTY, repair(EMPTY) ?? "");
    const opened = ["-A EDGERUN-IN-workers -j ACCEPT", ...whole];
    expect(after(opened, repair(opened) ?? "").toSorted()).toEqual(whole.toSorted());
  });

  test("follow the name servers of the host and what its owner opens", ({ expect }) => {
    const whole = after(EMPTY, repair(EMPTY) ?? "");
    expect(repair(whole, { ...reach, nameservers: ["10.0.0.3"] })).toContain(
      "-d 10.0.0.3/32 -p udp -m udp --dport 53",
    );
    expect(repair(whole, { ...reach, allowedNetworks: [] })).not.toContain("10.1.0.0/16");
  });

  test.for([
    ["8.8.8.8", "open"],
    ["172.15.255.255", "open"],
    ["172.32.0.1", "open"],
    ["100.63.0.1", "open"],
    ["198.17.0.1", "open"],
    ["10.1.2.3", "open"], // by the owner
    ["10.2.0.1", "closed"],
    ["172.16.0.1", "closed"],
    ["172.31.255.255", "closed"],
    ["192.168.0.1", "closed"],
    ["100.64.0.1", "closed"],
    ["100.127.255.255", "closed"],
    ["169.254.169.254", "closed"],
    ["168.63.129.16", "closed"],
    ["168.63.129.17", "open"],
    ["100.100.100.200", "closed"],
    ["192.0.0.192", "closed"],
    ["0.0.0.0", "closed"],
    ["127.0.0.1", "closed"],
    ["192.0.0.8", "closed"],
    ["198.19.255.255", "closed"],
    ["224.0.0.251", "closed"],
    ["255.255.255.255", "closed"],
  ] as const)("beyond the host %s is %s", ([address, verdict], { expect }) => {
    const [, forward] = chainsOf("ipv4", "filter", reach);
    const first = forward?.rules.find((rule) => {
      const [, network] = /^-d (\S+) -j/.exec(rule) ?? [];
      return network !== undefined && ipaddr.IPv4.parse(address).match(ipaddr.IPv4.parseCIDR(network));
    });
    expect(first?.includes("REJECT") ? "closed" : "open").toBe(verdict);
  });

  test("let names be asked for, but never open addresses of metadata", ({ expect }) => {
    // Azure's name server is the address of its metadata.
    const nameservers = [...reach.nameservers, "168.63.129.16"];
    const [, forward] = chainsOf("ipv4", "filter", { ...reach, nameservers });
    const at = (part: string) => forward?.rules.findIndex((rule) => rule.includes(part)) ?? -1;
    expect(at("10.0.0.2/32")).toBeLessThan(at("169.254.0.0/16"));
    for (const address of ["168.63.129.16", "100.100.100.200", "192.0.0.192"]) {
      expect(at(`-d ${address}/32 -j REJECT`)).toBeLessThan(at("10.1.0.0/16"));
    }
    expect(at("-d 168.63.129.16/32 -p udp")).toBeLessThan(at("-d 168.63.129.16/32 -j REJECT"));
    expect(at("169.254.0.0/16")).toBeLessThan(at("10.1.0.0/16"));
    expect(at("10.1.0.0/16")).toBeLessThan(at("10.0.0.0/8"));
  });

  test.for(["ipv4", "ipv6"] as const)(
    "stand in a table that Docker leaves alone as well, where they drop what they refuse in its own: %s",
    (family, { expect }) => {
      const [, refusing] = chainsOf(family, "filter", reach);
      const dropping = chainsOf(family, "security", reach);
      const rules = refusing?.rules.map((rule) => rule.replace(/-j REJECT .*$/, "-j DROP"));
      expect(dropping).toEqual([{ name: "EDGERUN-FW-workers", rules }]);
      expect(jumpsOf("security", { bridge: "workers" }, EMPTY)).toEqual([
        { name: "FORWARD", rules: ["-i workers -j EDGERUN-FW-workers"] },
      ]);
    },
  );

  test("are set in that table and left alone once they are there", ({ expect }) => {
    const none = ["-P INPUT ACCEPT", "-P FORWARD ACCEPT", "-P OUTPUT ACCEPT"];
    const script = repair(none, reach, "security") ?? "";
    expect(script).toMatch(/^\*security\n[^]*\nCOMMIT\n$/);
    expect(repair(after(none, script), reach, "security")).toBeNull();
  });

  test("are entered from the host's own chain where Docker has none for users", ({ expect }) => {
    expect(repair(["-P FORWARD ACCEPT"])).toContain("-I FORWARD 1 -i workers");
  });

  test("are all taken away, those of agents too, and nobody else's", ({ expect }) => {
    const agents = ["-N EDGERUN-AG-workers", `-A EDGERUN-AG-workers ${agentRule("172.18.0.1", 4_000)}`];
    const whole = [...after(EMPTY, repair(EMPTY) ?? ""), ...agents, "-N EDGERUN-IN-others"];
    expect(removalOf("workers", whole)).toEqual([
      ["-D", "INPUT", "-i", "workers", "-j", "EDGERUN-IN-workers"],
      ["-D", "DOCKER-USER", "-i", "workers", "-j", "EDGERUN-FW-workers"],
      ["-D", "EDGERUN-IN-workers", "-j", "EDGERUN-AG-workers"],
      ["-F", "EDGERUN-IN-workers"],
      ["-F", "EDGERUN-FW-workers"],
      ["-F", "EDGERUN-AG-workers"],
      ["-X", "EDGERUN-IN-workers"],
      ["-X", "EDGERUN-FW-workers"],
      ["-X", "EDGERUN-AG-workers"],
    ]);
    expect(removalOf("workers", EMPTY)).toEqual([]);
  });
});
