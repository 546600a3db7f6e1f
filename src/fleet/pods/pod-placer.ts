/**
 * Finds places for pods: for new ones at once, and for those that shall run and have none whenever hosts change.
 *
 * Reserved pods come before workers of endpoints, interruptible ones after them. A pod on a drained host moves when
 * there is a place elsewhere; one that has its volume there stays until its owner stops it.
 */
import type { Requirement } from "../../domain/placement/host-fit.ts";
import { isDraining } from "../../domain/placement/agent-support.ts";
import type { Place, PlacementFailure } from "../../domain/placement/host-pool.ts";
import { explainPlacementFailure } from "../../domain/placement/placement-failure.ts";
import { changePod } from "../../domain/pods/pod-life.ts";
import { requirementOf, volumeMbOf } from "../../domain/pods/pod-requirement.ts";
import { allocationsOf, type FleetStore } from "../fleet-store.ts";
import type { HostPools } from "../hosts/host-pools.ts";
import type { ClusterNetworks } from "./cluster-networks.ts";
import type { PodRecord, PodStore } from "./pod-store.ts";
import type { PodWorkers } from "./pod-workers.ts";
import type { Preemptor } from "./preemptor.ts";
import { isFreeBeside, type PromisedPlaces } from "./promised-places.ts";

type PodPlacerParts = {
  readonly store: FleetStore;
  readonly podStore: PodStore;
  readonly pools: HostPools;
  readonly promised: PromisedPlaces;
  readonly podWorkers: PodWorkers;
  readonly preemptor: Preemptor;
  readonly clusters: ClusterNetworks;
};

/** Hosts that have changed, by account. */
type ChangedHosts = ReadonlyMap<string, ReadonlySet<string>>;

export class PodPlacer {
  readonly #parts: PodPlacerParts;
  /** Pods that shall run and have no place. */
  readonly #waiting = new Set<string>();
  /** Pods that shall leave their host. */
  readonly #moving = new Set<string>();
  /** Those of both that may fit a host that has not changed. */
  readonly #fresh = new Set<string>();

  constructor(parts: PodPlacerParts) {
    this.#parts = parts;
  }

  /** The pod, its container or its host has changed. */
  review(podId: string): void {
    const pod = this.#parts.podStore.get(podId);
    const worker = this.#parts.podWorkers.activeOf(podId);
    const host = worker && this.#parts.store.hosts.get(worker.hostId);
    const shallMove = host !== undefined && isDraining(host) && pod?.volumeHostId === null;
    set(this.#waiting, podId, pod?.desired === "running" && !worker);
    set(this.#moving, podId, pod !== undefined && shallMove);
    set(this.#fresh, podId, this.#waiting.has(podId) || this.#moving.has(podId));
    if (!this.#fresh.has(podId)) this.forgetPromise(podId);
  }

  /** To be called once, when the store is loaded. */
  reviewAll(): void {
    for (const { config } of this.#parts.podStore.all()) this.review(config.podId);
  }

  /** It needs another place than the one that it was promised. */
  forgetPromise(podId: string): void {
    this.#parts.preemptor.withdraw(this.#parts.promised.of(podId));
  }

  /**
   * A place for a pod that shall start: at once, or promised. The failure where there is neither. `preferred`: hosts
   * that come before others.
   */
  start(pod: PodRecord, now: number, preferred?: ReadonlySet<string>): PlacementFailure | undefined {
    const { podWorkers, pools, promised, preemptor } = this.#parts;
    const { podId, accountId, isInterruptible } = pod.config;
    const requirement = this.requirementOf(pod);
    const pool = pools.of(accountId);
    const place = this.#allocate(pod, preferred);
    const isStopping = podWorkers.of(podId) !== undefined;
    if (place && !isStopping) this.#add(pod, place, now);
    else if (place) promised.add({ ...place, promisedTo: podId, version: pod.version });
    else if (
      isInterruptible ||
      !preemptor.makePlace({ promisedTo: podId, config: pod.config, requirement }, now)
    )
      return explainPlacementFailure(requirement, pool.hosts);
    return undefined;
  }

  /** Whether a plan has something to do although no host has changed. */
  get isDue(): boolean {
    return this.#fresh.size > 0;
  }

  /** Places the waiting pods of one kind. */
  plan(kind: "reserved" | "interruptible", changed: ChangedHosts, now: number): void {
    if (kind === "reserved") {
      this.#forgetBroken();
      for (const podId of this.#moving) this.#move(podId, changed, now);
    }
    const pods = [...this.#waiting].flatMap((podId) => this.#parts.podStore.get(podId) ?? []);
    const ofKind = pods.filter(({ config }) => config.isInterruptible === (kind === "interruptible"));
    for (const pod of ofKind.toSorted(longestFirst)) this.#place(pod, changed, now);
  }

  /** Why a pod that shall run has no place; null for one that has. */
  waitReason(pod: PodRecord): PlacementFailure | null {
    const { podId, accountId } = pod.config;
    const { promised, podWorkers, pools, store } = this.#parts;
    if (pod.desired === "stopped" || podWorkers.activeOf(podId)) return null;
    const [place] = promised.of(podId);
    const old = podWorkers.of(podId);
    const named = (hostId: string) => store.hosts.get(hostId)?.name || hostId;
    if (old)
      return { reason: "no_host", detail: `Its last container still stops on host ${named(old.hostId)}.` };
    if (place) {
      const detail = `It starts on host ${named(place.hostId)} as soon as what gives way to it has stopped there.`;
      return { reason: "no_host", detail };
    }
    return explainPlacementFailure(this.requirementOf(pod), pools.of(accountId).hosts);
  }

  /** What the pod needs of the host that has its volume, or of any. */
  requirementOf(pod: PodRecord): Requirement {
    const { config, volumeHostId } = pod;
    const newVolumeMb = volumeHostId === null ? volumeMbOf(config) : 0;
    const clusterHosts = this.#parts.clusters.hostsFor(pod);
    return requirementOf(config, { hostId: volumeHostId, newVolumeMb, clusterHosts });
  }

  /** Pods of a cluster are together where they can be. `among`: of the other hosts, only these. */
  #allocate(pod: PodRecord, preferred?: ReadonlySet<string>, among?: ReadonlySet<string>): Place | undefined {
    const { pools, clusters } = this.#parts;
    const pool = pools.of(pod.config.accountId);
    const requirement = this.requirementOf(pod);
    const near = preferred?.size ? preferred : clusters.hostsOfPeers(pod.config);
    return (
      (near.size > 0 ? pool.allocate(requirement, near) : undefined) ?? pool.allocate(requirement, among)
    );
  }

  #place(pod: PodRecord, changed: ChangedHosts, now: number): void {
    const { podId, accountId, isInterruptible } = pod.config;
    const { podWorkers, promised, pools, preemptor, store } = this.#parts;
    const isFresh = this.#fresh.has(podId);
    const among = changed.get(accountId);
    this.#fresh.delete(podId);
    if (podWorkers.of(podId) || (!isFresh && !among)) return; // its last container may still stop
    const pool = pools.of(accountId);
    const [promise] = promised.of(podId);
    if (
      promise &&
      isFreeBeside(pool.capacityOf(promise.hostId), allocationsOf(store.workersOn(promise.hostId)), promise)
    ) {
      promised.remove(promise);
      this.#add(pod, promise, now);
      return;
    }
    const requirement = this.requirementOf(pod);
    const place = this.#allocate(pod, undefined, isFresh ? undefined : among);
    if (place) this.#add(pod, place, now);
    else if (!promise && !isInterruptible)
      preemptor.makePlace({ promisedTo: podId, config: pod.config, requirement }, now);
  }

  /** The new place is promised before the old one is given up. */
  #move(podId: string, changed: ChangedHosts, now: number): void {
    const { podStore, pools, promised, podWorkers } = this.#parts;
    const pod = podStore.get(podId);
    const hostId = podWorkers.activeOf(podId)?.hostId;
    if (!pod || (!this.#fresh.has(podId) && !changed.has(pod.config.accountId))) return;
    this.#fresh.delete(podId);
    const pool = pools.of(pod.config.accountId);
    const isPresent = hostId !== undefined && pool.capacityOf(hostId) !== undefined;
    const place = isPresent ? this.#allocate(pod) : undefined;
    if (!place) return;
    promised.add({ ...place, promisedTo: podId, version: pod.version });
    podWorkers.end(podId, now);
    podStore.save({ ...pod, ...changePod(pod, { kind: "moved" }, now), ports: [] });
    this.#moving.delete(podId);
    this.#waiting.add(podId);
  }

  #add(pod: PodRecord, place: Place, now: number): void {
    const { podStore, podWorkers } = this.#parts;
    const { podId } = pod.config;
    const { hostId, gpuIndexes } = place;
    const { newVolumeMb = 0 } = this.requirementOf(pod).pod ?? {};
    const placed = { ...pod, ...changePod(pod, { kind: "placed", hostId }, now) };
    podStore.save(placed);
    // The disk of the volume is counted as long as the pod exists, not as long as it runs.
    const size = { ...place.size, diskMb: place.size.diskMb - newVolumeMb };
    podWorkers.add(placed, { hostId, gpuIndexes, size }, now);
    this.review(podId);
  }

  /** Places that cannot be had any more: their host is lost, takes no workers, or has lost the GPUs. */
  #forgetBroken(): void {
    const { promised, pools, store, preemptor } = this.#parts;
    for (const hostId of promised.hostIds()) {
      const accountId = store.hosts.get(hostId)?.accountId;
      const capacity = accountId === undefined ? undefined : pools.of(accountId).capacityOf(hostId);
      const staying = store.workersOn(hostId).filter(({ retiredIn }) => retiredIn === null);
      for (const place of promised.on(hostId)) {
        if (isFreeBeside(capacity, allocationsOf(staying), place)) continue;
        preemptor.withdraw([place]);
        if (this.#waiting.has(place.promisedTo)) this.#fresh.add(place.promisedTo);
      }
    }
  }
}

function set(ids: Set<string>, id: string, isIn: boolean): void {
  if (isIn) ids.add(id);
  else ids.delete(id);
}

function longestFirst(a: PodRecord, b: PodRecord): number {
  return a.changedAt - b.changedAt || a.createdAt - b.createdAt || (a.config.podId < b.config.podId ? -1 : 1);
}
