import { errorCode, ignoreFailure } from "../../../src/std/errors.ts";
import * as z from "zod";
import { execFile } from "node:child_process";
import { access, readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { listeningPorts } from "../interface/sockets.ts";
import {
  agentRule,
  agentsChain,
  chainsOf,
  type Family,
  jumpsOf,
  repairScript,
  removalOf,
  staleChains,
  type Table,
  TABLES,
} from "./firewall-rules.ts";
import type { Members } from "./cluster-rules.ts";
import { isIPv4 } from "node:net";

const run = promisify(execFile);

/** A process that holds the lock of the tables for longer has hung. */
const LOCK_SECONDS = "10";
const COMMANDS = { ipv4: "iptables", ipv6: "ip6tables" } as const;

export type FirewallSettings = {
  readonly bridge: string;
  readonly allowedNetworks: readonly string[];
};

/** Where an agent of the bridge's workers listens. */
export type AgentListener = { readonly gateway: string; readonly port: number };

/** Keeps the containers of a bridge from everything that is not theirs to reach. */
export class Firewall {
  readonly #settings: FirewallSettings;

  constructor(settings: FirewallSettings) {
    this.#settings = settings;
  }

  /**
   * Adds missing rules; with nothing missing it only reads. `members`: containers that reach each other; absent for
   * none. Throws with a message for users.
   */
  async ensure(gateway: string, listeners: readonly AgentListener[], members?: Members): Promise<void> {
    const agents = { gateway, listeners };
    try {
      const families = await familiesOfHost();
      await Promise.all(families.map((family) => this.#ensureFamily(family, agents, members)));
    } catch (error) {
      throw new Error(closedOnly(error), { cause: error });
    }
  }

  async #ensureFamily(
    family: Family,
    { gateway, listeners }: { readonly gateway: string; readonly listeners: readonly AgentListener[] },
    members: Members | undefined,
  ): Promise<void> {
    const agents = agentsChain(this.#settings.bridge);
    const hasMembers = members !== undefined && family === "ipv4";
    const [present, security, nat] = await Promise.all([
      list(family, "filter"),
      list(family, "security"),
      hasMembers ? list(family, "nat") : [],
    ]);
    if (family === "ipv4" && !present.includes(`-N ${agents}`)) {
      await iptables(family, "filter", ["-N", agents]).catch(ignoreFailure); // another agent may be faster; the next step detects it
    }
    await this.#repair(family, "filter", present, members);
    await this.#repair(family, "security", security, members);
    if (hasMembers) await this.#repair(family, "nat", nat, members);
    if (family === "ipv4") await this.#ensureAgentRules(gateway, listeners, present);
  }

  async #repair(
    family: Family,
    table: Table,
    present: readonly string[],
    members: Members | undefined,
  ): Promise<void> {
    const reach = { ...this.#settings, nameservers: await dockerNameservers(), members };
    const jumps = jumpsOf(table, family === "ipv4" ? reach : this.#settings, present);
    const chains = chainsOf(family, table, reach);
    const script = repairScript(table, chains, jumps, present, staleChains(reach.bridge, chains, present));
    if (script !== null) await restore(family, script);
  }

  /** Opens the ports of this agent, and closes those of agents that have ended. */
  async #ensureAgentRules(
    gateway: string,
    listeners: readonly AgentListener[],
    present: readonly string[],
  ): Promise<void> {
    const chain = agentsChain(this.#settings.bridge);
    const found = present
      .filter((line) => line.startsWith(`-A ${chain} `))
      .map((line) => line.slice(4 + chain.length));
    const own = listeners.map((listener) => agentRule(listener.gateway, listener.port));
    for (const rule of own.filter((rule) => !found.includes(rule))) await this.#change("-A", chain, rule);
    const others = found.filter((rule) => !own.includes(rule));
    if (others.length === 0) return;
    const alive = [...(await listeningPorts(gateway))].map((port) => agentRule(gateway, port));
    for (const rule of others.filter((rule) => !alive.includes(rule))) {
      await this.#change("-D", chain, rule).catch(ignoreFailure); // another agent may be faster
    }
  }

  async #change(how: "-A" | "-D", chain: string, rule: string): Promise<void> {
    await iptables("ipv4", "filter", [how, chain, ...rule.split(" ")]);
  }

  /** Takes away all that was ever set for the bridge, and nothing of other bridges. */
  async remove(): Promise<void> {
    for (const family of await familiesOfHost()) {
      for (const table of TABLES) {
        for (const command of removalOf(this.#settings.bridge, await listIfAny(family, table)))
          await iptables(family, table, command);
      }
    }
  }
}

async function list(family: Family, table: Table): Promise<readonly string[]> {
  return (await iptables(family, table, ["-S"])).split("\n");
}

/** Where there is no command, nothing was ever set. */
async function listIfAny(family: Family, table: Table): Promise<readonly string[]> {
  return list(family, table).catch((error: unknown) => {
    if (isAbsence(error)) return [];
    throw error;
  });
}

async function iptables(family: Family, table: Table, command: readonly string[]): Promise<string> {
  const { stdout } = await run(COMMANDS[family], ["-w", LOCK_SECONDS, "-t", table, ...command], {
    env: toolEnvironment(),
  });
  return stdout;
}

async function restore(family: Family, script: string): Promise<void> {
  const command = ["-w", LOCK_SECONDS, "--noflush"];
  const running = run(`${COMMANDS[family]}-restore`, command, { env: toolEnvironment() });
  running.child.stdin?.end(script);
  await running;
}

/** Services and plain users often have no sbin in their path. */
export function toolEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env, PATH: `${process.env["PATH"] ?? ""}:/usr/sbin:/sbin` };
}

/** A kernel without IPv6 has no tables for it either. */
async function familiesOfHost(): Promise<readonly Family[]> {
  return access("/proc/net/if_inet6").then(
    () => ["ipv4", "ipv6"],
    () => ["ipv4"],
  );
}

function closedOnly(error: unknown): string {
  return `Workers can not be kept away from the other services of this host and its network (${reasonOf(error)}). Install iptables and run the agent as root beside Docker's own daemon, or allow it with --allow-open-network.`;
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (isAbsence(error)) return "there is no iptables command";
  const firstLine =
    "stderr" in error && typeof error.stderr === "string" ? error.stderr.trim().split("\n")[0] : "";
  return firstLine || error.message;
}

function isAbsence(error: unknown): boolean {
  return errorCode(error) === "ENOENT";
}

/** Docker asks these from inside a container's network; where the first names the host itself, it takes the second. */
const RESOLVER_FILES = ["/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"];
const DAEMON_FILE = "/etc/docker/daemon.json";

const daemonSchema = z.object({ dns: z.array(z.string()).default([]) });

/** The IPv4 name servers that Docker gives to containers of this host, beside those on loopback. */
export async function dockerNameservers(): Promise<readonly string[]> {
  const texts = await Promise.all(RESOLVER_FILES.map((path) => textOf(path)));
  const named = [...texts.flatMap(nameserversIn), ...daemonServers(await textOf(DAEMON_FILE))];
  const usable = named.filter((address) => isIPv4(address) && !address.startsWith("127."));
  return [...new Set(usable)].toSorted();
}

export function nameserversIn(resolverFile: string): readonly string[] {
  return [...resolverFile.matchAll(/^[ \t]*nameserver[ \t]+(\S+)/gm)].map(([, address = ""]) => address);
}

function daemonServers(text: string): readonly string[] {
  try {
    return daemonSchema.parse(JSON.parse(text)).dns;
  } catch {
    return []; // Docker reads that file, and complains of it, itself.
  }
}

async function textOf(path: string): Promise<string> {
  return readFile(path, "utf8").catch(() => "");
}
