/**
 * The network of the pods of clusters: a bridge of its own, whose addresses the edge gives, and routes to those on other
 * hosts. It exists while the edge describes it; containers that still stop keep it until they are gone.
 */
import { writeFile } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import type Dockerode from "dockerode";
import ipaddr from "ipaddr.js";
import type { ClusterNetwork } from "../../../src/contract/agent/agent.ts";
import { errorMessage } from "../../../src/std/errors.ts";
import { KeyedMutex } from "../../../src/std/keyed-mutex.ts";
import type { AgentLog } from "../../core/log.ts";
import { isConflict, isForbidden } from "../daemon/docker-errors.ts";
import { setRoutes } from "./cluster-routes.ts";
import { interfaceOf } from "../../core/interfaces.ts";
import { DockerNetwork } from "./docker-network.ts";
import { type AgentListener, Firewall } from "./firewall.ts";

const CHECK_INTERVAL_MS = 60_000;

export type ClusterBridgeSettings = {
  /** Of the Docker network. */
  readonly name: string;
  readonly allowedNetworks: readonly string[];
  /** IPv4 address of this machine at which other hosts reach it; absent for none. */
  readonly clusterAddress?: string | undefined;
};

export class ClusterBridge {
  readonly #settings: ClusterBridgeSettings;
  readonly #docker: Dockerode;
  readonly #log: AgentLog | undefined;
  readonly #firewall: Firewall;
  readonly #bridge: string;
  readonly #mutex = new KeyedMutex();
  #network: ClusterNetwork | undefined;
  #listener: AgentListener | null = null;
  #timer: NodeJS.Timeout | null = null;
  /** This process has made a network, or rules and routes of one. */
  #isMade = false;
  /** Nothing is left of an earlier network. */
  #isGone = false;
  #lastError: string | null = null;

  constructor(docker: Dockerode, settings: ClusterBridgeSettings, log?: AgentLog) {
    this.#docker = docker;
    this.#settings = settings;
    this.#log = log;
    this.#bridge = new DockerNetwork(docker, settings.name).bridge;
    const { allowedNetworks } = settings;
    this.#firewall = new Firewall({ bridge: this.#bridge, allowedNetworks });
  }

  /** Opens this port of the agent to pods of clusters as well. */
  admit(listener: AgentListener): void {
    this.#listener = listener;
  }

  /** Follows what the edge says of the network; undefined: no pod of a cluster is here. Never throws. */
  async follow(network: ClusterNetwork | undefined): Promise<void> {
    this.#network = network;
    this.#timer ??= setInterval(() => void this.#check(), CHECK_INTERVAL_MS).unref();
    await this.#check();
  }

  async #check(): Promise<void> {
    try {
      if (this.#network) await this.ensure();
      else if (!this.#isGone) await this.#removeIfAny();
      this.#lastError = null;
    } catch (error) {
      this.#logFailure(error);
    }
  }

  async #removeIfAny(): Promise<void> {
    const isThere = await new DockerNetwork(this.#docker, this.#settings.name).exists();
    if (isThere || this.#isMade) await this.remove();
    this.#isGone = true;
  }

  /** Ensures the network, its rules and its routes, for a pod that starts. Throws with a message for users. */
  ensure(): Promise<void> {
    return this.#mutex.run(this.#bridge, async () => {
      const network = this.#network;
      if (!network)
        throw new Error("The edge has not described the private network of the pod's cluster yet.");
      const { clusterAddress = "" } = this.#settings;
      requireFree(network, this.#bridge);
      this.#isGone = false;
      this.#isMade = true;
      const outside = interfaceOf(clusterAddress);
      const members = { ...network, outside };
      const gateway = await new DockerNetwork(this.#docker, this.#settings.name, members).gatewayAddress();
      const listeners = this.#listener === null ? [] : [this.#listener];
      await this.#firewall.ensure(this.#listener?.gateway ?? gateway, listeners, members);
      await answerForOthers(this.#bridge);
      await setRoutes(
        network.clusters.flatMap(({ remote }) => remote),
        outside,
      );
    });
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  /** Takes the network, its rules and its routes from the host. Fails while containers use it. */
  remove(): Promise<void> {
    return this.#mutex.run(this.#bridge, async () => {
      await new DockerNetwork(this.#docker, this.#settings.name).remove();
      await this.#firewall.remove();
      await setRoutes([], null).catch((error: unknown) => {
        if (this.#settings.clusterAddress !== undefined) throw error; // else there never was one
      });
      this.#isGone = true;
      this.#isMade = false;
    });
  }

  /** Once, not every minute; containers that still stop are no failure. */
  #logFailure(error: unknown): void {
    const reason = errorMessage(error);
    if (isForbidden(error) || isConflict(error) || reason === this.#lastError) return;
    this.#lastError = reason;
    this.#log?.warn("cluster_network_failed", { reason });
  }
}

function requireFree({ network }: ClusterNetwork, bridge: string): void {
  const range = ipaddr.IPv4.parseCIDR(network);
  for (const [name, addresses = []] of Object.entries(networkInterfaces())) {
    const found = addresses.find(({ family, address }) => {
      return name !== bridge && family === "IPv4" && ipaddr.IPv4.parse(address).match(range);
    });
    if (found) {
      throw new Error(
        `The network of clusters, ${network}, is in use on this host (${name} has ${found.address}). Set another one at the edge (CLUSTER_NETWORK), or keep pods of clusters from this host.`,
      );
    }
  }
}

/** On the bridge, pods of other hosts seem to be neighbors: the host answers for those to which it has a route. */
async function answerForOthers(bridge: string): Promise<void> {
  await writeFile(`/proc/sys/net/ipv4/neigh/${bridge}/proxy_delay`, "0");
  await writeFile(`/proc/sys/net/ipv4/conf/${bridge}/proxy_arp`, "1");
}
