/** Stops interruptible pods for workers and reserved pods that have no place, which are promised what becomes free. */
import type { HostCapacity } from "../../domain/placement/host-capacity.ts";
import type { Requirement } from "../../domain/placement/host-fit.ts";
import { changePod } from "../../domain/pods/pod-life.ts";
import { findRemoval, type OccupiedHost, type Removable } from "../../domain/placement/removal.ts";
import { allocationsOf, type FleetStore, type WorkerRecord } from "../fleet-store.ts";
import type { HostPools } from "../hosts/host-pools.ts";
import type { PodRecord, PodStore } from "./pod-store.ts";
import type { PodWorkers } from "./pod-workers.ts";
import type { PromisedPlace, PromisedPlaces } from "./promised-places.ts";

/** Who needs a place. */
export type PlaceNeed = {
  /** The id of the pod or endpoint. */
  readonly promisedTo: string;
  readonly config: { readonly accountId: string; readonly version: number };
  readonly requirement: Requirement;
};

type PreemptorParts = {
  readonly store: FleetStore;
  readonly podStore: PodStore;
  readonly pools: HostPools;
  readonly promised: PromisedPlaces;
  readonly podWorkers: PodWorkers;
};

export class Preemptor {
  readonly #parts: PreemptorParts;

  constructor(parts: PreemptorParts) {
    this.#parts = parts;
  }

  /** Whether any pod of the account could give way. */
  canPreempt(accountId: string): boolean {
    return this.#parts.podStore.ofAccount(accountId).some((pod) => this.#isInterruptible(pod));
  }

  /**
   * Promises a place that is being freed already, or that interruptible pods are stopped for. False where there is
   * none.
   */
  makePlace({ promisedTo, config, requirement }: PlaceNeed, now: number): boolean {
    const { pools, promised } = this.#parts;
    const pool = pools.of(config.accountId);
    const hosts = this.#hostIds(config.accountId).flatMap((hostId) => {
      const capacity = pool.capacityOf(hostId);
      return capacity ? this.#occupied(capacity) : [];
    });
    const found = findRemoval(requirement, hosts);
    if (!found) return false;
    for (const { id } of found.removed) this.#preempt(id, now);
    promised.add({ ...found.place, promisedTo, version: config.version });
    pools.renew(found.place.hostId);
    return true;
  }

  /** Others may have what was promised. */
  withdraw(places: readonly PromisedPlace[]): void {
    const { pools, promised } = this.#parts;
    for (const place of places) {
      promised.remove(place);
      pools.renew(place.hostId);
      pools.changed(place.hostId);
    }
  }

  /** Hosts where something is being freed or can be. */
  #hostIds(accountId: string): readonly string[] {
    const { store, podStore } = this.#parts;
    const pods = podStore.ofAccount(accountId).filter(({ config }) => config.isInterruptible);
    const interruptible = pods.flatMap(({ config }) => store.workers.get(config.podId) ?? []);
    return [...new Set([...store.retired.values(), ...interruptible].map(({ hostId }) => hostId))];
  }

  /** Undefined for a host where nothing is or can be freed. */
  #occupied({ host }: HostCapacity): readonly OccupiedHost<Removable>[] {
    const { store, promised } = this.#parts;
    const workers = store.workersOn(host.hostId);
    const active = workers.filter((worker) => !this.#isFreed(worker));
    const removable = active.flatMap((worker): Removable[] => {
      const pod = worker.isPod ? this.#parts.podStore.get(worker.workerId) : undefined;
      if (!pod?.config.isInterruptible || pod.desired === "stopped") return [];
      // The lowest bid gives way first, and of equal ones the youngest.
      const { podId, bidPerGpu } = pod.config;
      return [{ ...worker, id: podId, cost: bidPerGpu, age: -pod.changedAt }];
    });
    if (removable.length === 0 && active.length === workers.length) return [];
    const ids = new Set(removable.map(({ id }) => id));
    const staying = active.filter(({ workerId }) => !ids.has(workerId));
    const leaving = removable.flatMap(({ id }) => store.workers.get(id)?.leaving ?? []);
    return [
      { host, staying: [...allocationsOf(staying), ...leaving, ...promised.on(host.hostId)], removable },
    ];
  }

  /** It leaves its capacity to others; a pod that its owner stops may be started again in its place. */
  #isFreed({ workerId, retiredIn, isPod }: WorkerRecord): boolean {
    const reason = isPod ? this.#parts.podStore.get(workerId)?.stopReason : undefined;
    return retiredIn !== null && reason !== "stopped" && reason !== "stop_time";
  }

  #preempt(podId: string, now: number): void {
    const { podStore, podWorkers } = this.#parts;
    const pod = podStore.get(podId);
    if (!pod) return;
    podStore.save({ ...pod, ...changePod(pod, { kind: "stop", reason: "preempted" }, now), ports: [] });
    podWorkers.end(podId, now);
  }

  #isInterruptible({ config }: PodRecord): boolean {
    return config.isInterruptible && this.#parts.podWorkers.activeOf(config.podId) !== undefined;
  }
}
