/**
 * Which pods of clusters have private addresses, and what their hosts must know of each other.
 *
 * Whether a cluster has addresses is decided with its first pod, and stays so: an address is in variables of all its
 * pods. It belongs to the pod, not to the host: a pod that starts elsewhere has it there.
 */
import type { ClusterNetwork } from "../../contract/agent/agent.ts";
import { freeAddress, type ClusterRange } from "../../domain/pods/cluster-addresses.ts";
import { findClusterHosts, hostsBeside } from "../../domain/pods/cluster-hosts.ts";
import { requirementOf, volumeMbOf } from "../../domain/pods/pod-requirement.ts";
import type { PodConfig } from "../../contract/pod.ts";
import type { FleetStore } from "../fleet-store.ts";
import type { HostPools, HostRevisions } from "../hosts/host-pools.ts";
import type { AssignedWorker } from "../messages.ts";
import type { PodRecord, PodStore } from "./pod-store.ts";

type ClusterParts = {
  readonly store: FleetStore;
  readonly podStore: PodStore;
  readonly pools: HostPools;
  readonly revisions: HostRevisions;
  /** Undefined: no cluster gets addresses. */
  readonly clusterRange: ClusterRange | undefined;
};

/** A new pod in the network of its cluster. */
export type Admitted = {
  readonly address: string;
  /** Hosts that have places for the whole cluster. */
  readonly preferred: ReadonlySet<string>;
};

export class ClusterNetworks {
  readonly #parts: ClusterParts;

  constructor(parts: ClusterParts) {
    this.#parts = parts;
  }

  // Placement

  /** The address of a new pod; undefined where its cluster has none. `size`: pods that the cluster will have. */
  admit(config: PodConfig, size: number): Admitted | undefined {
    const { clusterRange, podStore } = this.#parts;
    const { cluster, accountId } = config;
    if (!cluster || !clusterRange) return undefined;
    const peers = podStore.ofCluster(cluster.clusterId);
    const preferred = peers.length > 0 ? peersOrNone(peers) : this.#hostsForAll(config, size);
    const taken = podStore.ofAccount(accountId).flatMap(({ clusterAddress }) => clusterAddress ?? []);
    // A host may still end the container that had a free address last, so it is not given away at once.
    const address = preferred && freeAddress(clusterRange, new Set(taken), Math.random());
    return address === undefined ? undefined : { address, preferred: preferred ?? new Set() };
  }

  #hostsForAll(config: PodConfig, size: number): ReadonlySet<string> | undefined {
    const requirement = requirementOf(config, { hostId: null, newVolumeMb: volumeMbOf(config) });
    return findClusterHosts(requirement, size, this.#parts.pools.of(config.accountId).hosts);
  }

  /** Hosts on which the pod reaches its peers; undefined for any. */
  hostsFor({ config, clusterAddress }: PodRecord): readonly string[] | undefined {
    if (clusterAddress === null) return undefined;
    const hosts = this.#parts.pools.of(config.accountId).hosts.map(({ host }) => host);
    return hostsBeside(hosts, this.hostsOfPeers(config));
  }

  /** Hosts that have other pods of its cluster. */
  hostsOfPeers({ podId, cluster }: PodConfig): ReadonlySet<string> {
    const { store, podStore } = this.#parts;
    const peers = cluster ? podStore.ofCluster(cluster.clusterId) : [];
    const others = peers.filter(({ config }) => config.podId !== podId);
    return new Set(others.flatMap(({ config }) => store.workers.get(config.podId)?.hostId ?? []));
  }

  // Hosts

  /** The hosts of the peers of a pod hear where it is. */
  touchPeers(config: PodConfig | undefined): void {
    if (!config?.cluster) return;
    for (const hostId of this.hostsOfPeers(config)) this.#parts.revisions.touch(hostId);
  }

  /** The address of a host has changed. */
  touchPeersOf(hostId: string): void {
    const { store, podStore } = this.#parts;
    for (const { workerId, isPod } of store.workersOn(hostId)) {
      if (isPod) this.touchPeers(podStore.get(workerId)?.config);
    }
  }

  /** What the agent of a pod must know; undefined for a pod without an address. */
  memberOf(podId: string): AssignedWorker["cluster"] {
    const { config, clusterAddress } = this.#parts.podStore.get(podId) ?? {};
    if (!config?.cluster || !clusterAddress) return undefined;
    const primary = this.#parts.podStore
      .ofCluster(config.cluster.clusterId)
      .find((pod) => pod.config.cluster?.rank === 0);
    return { address: clusterAddress, primaryAddress: primary?.clusterAddress ?? null };
  }

  /** The network of the clusters that have pods on the host; undefined where there are none. */
  networkOn(hostId: string): ClusterNetwork | undefined {
    const { store, podStore, clusterRange } = this.#parts;
    const pods = store
      .workersOn(hostId)
      .flatMap(({ workerId, isPod }) => (isPod ? (podStore.get(workerId) ?? []) : []));
    const clusters = new Set(
      pods.flatMap((pod) => (pod.clusterAddress && pod.config.cluster?.clusterId) || []),
    );
    if (!clusterRange || clusters.size === 0) return undefined;
    const { network, gateway } = clusterRange;
    return {
      network,
      gateway,
      clusters: [...clusters].map((clusterId) => this.#clusterOn(hostId, clusterId)),
    };
  }

  #clusterOn(hostId: string, clusterId: string): ClusterNetwork["clusters"][number] {
    const { store, podStore } = this.#parts;
    const local: string[] = [];
    const remote: { address: string; via: string }[] = [];
    for (const { config, clusterAddress: address } of podStore.ofCluster(clusterId)) {
      const at = store.workers.get(config.podId)?.hostId;
      const via = at === undefined ? undefined : store.hosts.get(at)?.inventory.clusterAddress;
      if (address === null) continue;
      if (at === hostId) local.push(address);
      else if (via !== undefined) remote.push({ address, via });
    }
    return { clusterId, local, remote };
  }
}

/** The first pod has decided for all: no host is preferred where it has no address. */
function peersOrNone(peers: readonly PodRecord[]): ReadonlySet<string> | undefined {
  return peers.some(({ clusterAddress }) => clusterAddress !== null) ? new Set() : undefined;
}
