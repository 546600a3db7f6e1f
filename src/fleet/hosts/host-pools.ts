/** Capacity of the present hosts of each account, in step with the store; and the revisions of hosts. */
import { type CandidateHost, HostCapacity } from "../../domain/placement/host-capacity.ts";
import { HostPool } from "../../domain/placement/host-pool.ts";
import { isDraining } from "../../domain/placement/agent-support.ts";
import { allocationsOf, type FleetStore, type HostRecord } from "../fleet-store.ts";
import type { PodStore } from "../pods/pod-store.ts";
import type { PromisedPlaces } from "../pods/promised-places.ts";

export class HostPools {
  readonly #store: FleetStore;
  readonly #pods: PodStore;
  readonly #promised: PromisedPlaces;
  readonly #pools = new Map<string, HostPool>();
  /** Hosts in a pool, by account. */
  readonly #accounts = new Map<string, string>();
  /** Free disk as last reported; not stored, since it changes all the time. */
  readonly #diskFreeMb = new Map<string, number>();
  #stale = new Set<string>();

  constructor(store: FleetStore, pods: PodStore, promised: PromisedPlaces) {
    this.#store = store;
    this.#pods = pods;
    this.#promised = promised;
  }

  /** Workers are placed on the host from now on. */
  admit(hostId: string): void {
    const host = this.#store.hosts.get(hostId);
    if (!host || host.removedAt !== null) return;
    this.#accounts.set(hostId, host.accountId);
    this.#stale.add(hostId);
  }

  /** The host is lost or removed. */
  expel(hostId: string): void {
    this.#diskFreeMb.delete(hostId);
    this.changed(hostId);
  }

  /** Something of the host or its workers has changed. */
  changed(hostId: string): void {
    if (this.#accounts.has(hostId)) this.#stale.add(hostId);
  }

  /** Records the free disk of a host; small changes do not justify a new plan. */
  measureDisk(hostId: string, freeMb: number): void {
    const current = this.#diskFreeMb.get(hostId) ?? this.#store.hosts.get(hostId)?.inventory.diskFreeMb ?? 0;
    if (Math.abs(current - freeMb) < DISK_STEP_MB) return;
    this.#diskFreeMb.set(hostId, freeMb);
    this.changed(hostId);
  }

  of(accountId: string): HostPool {
    const current = this.#pools.get(accountId);
    if (current) return current;
    const pool = new HostPool();
    this.#pools.set(accountId, pool);
    return pool;
  }

  /** Updates the pools; returns the hosts that had changed, by account. */
  refresh(isPresent: (hostId: string) => boolean): ReadonlyMap<string, ReadonlySet<string>> {
    const changed = new Map<string, Set<string>>();
    for (const hostId of this.#stale) {
      const accountId = this.#accounts.get(hostId);
      if (accountId === undefined) continue;
      changed.set(accountId, (changed.get(accountId) ?? new Set<string>()).add(hostId));
      const host = this.#store.hosts.get(hostId);
      if (host && host.removedAt === null && isPresent(hostId)) {
        this.of(accountId).upsert(this.#candidate(host), this.#allocationsOn(hostId));
      } else {
        this.of(accountId).remove(hostId);
        this.#accounts.delete(hostId);
      }
    }
    this.#stale = new Set();
    return changed;
  }

  /** Updates the pool of one present host at once; that is no news for those that wait for capacity. */
  renew(hostId: string): void {
    const host = this.#store.hosts.get(hostId);
    if (!host || !this.of(host.accountId).capacityOf(hostId)) return;
    this.of(host.accountId).upsert(this.#candidate(host), this.#allocationsOn(hostId));
  }

  /** What a present host has without this worker; undefined for one that is absent. */
  capacityWithout(hostId: string, workerId: string): HostCapacity | undefined {
    const host = this.#store.hosts.get(hostId);
    const current = host && this.of(host.accountId).capacityOf(hostId);
    const others = this.#store.workersOn(hostId).filter((worker) => worker.workerId !== workerId);
    return (
      current && new HostCapacity(current.host, [...allocationsOf(others), ...this.#promised.on(hostId)])
    );
  }

  #allocationsOn(hostId: string) {
    return [...allocationsOf(this.#store.workersOn(hostId)), ...this.#promised.on(hostId)];
  }

  #candidate(host: HostRecord): CandidateHost {
    const { hostId, name, inventory, isCordoned } = host;
    const { gpus, cpuCount, memoryMb, dataCenterId, cudaVersion, networkVolumeIds } = inventory;
    const diskMb = inventory.diskFreeMb;
    const diskFreeMb = this.#diskFreeMb.get(hostId) ?? diskMb;
    const size = { cpuCount, memoryMb, diskMb, diskFreeMb };
    const place = { dataCenterId, cudaVersion, networkVolumeIds };
    const { canRunPods, publicAddress, canJoinClusters, clusterAddress } = inventory;
    const podVolumes = this.#pods.volumesOn(hostId);
    const pods = { canRunPods, hasPublicAddress: publicAddress !== undefined, podVolumes };
    const clusters = { canJoinClusters, hasClusterAddress: clusterAddress !== undefined };
    return {
      hostId,
      name,
      gpus,
      ...size,
      ...place,
      ...pods,
      ...clusters,
      isCordoned,
      isDrained: isDraining(host),
    };
  }
}

const DISK_STEP_MB = 1_000;

/** Revisions of the assignments of hosts: one more, and one row, for all that a step changes on a host. */
export class HostRevisions {
  readonly #store: FleetStore;
  #touched = new Set<string>();
  #changed = new Set<string>();

  constructor(store: FleetStore) {
    this.#store = store;
  }

  /** The assignments of the host have changed; returns their revision. */
  touch(hostId: string): number {
    const host = this.#store.hosts.get(hostId);
    if (!host) return 0;
    if (this.#touched.has(hostId)) return host.revision;
    this.#touched.add(hostId);
    this.#changed.add(hostId);
    const revision = host.revision + 1;
    this.#store.saveHost({ ...host, revision });
    return revision;
  }

  /** Later changes get another revision, since the host may see them separately. */
  endStep(): void {
    this.#touched = new Set();
  }

  takeChanged(): ReadonlySet<string> {
    const changed = this.#changed;
    this.#changed = new Set();
    return changed;
  }
}
