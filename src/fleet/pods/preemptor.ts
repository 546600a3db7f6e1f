/** Stops interruptible pods for workers and reserved pods that have no place, which are promised what becomes free. */
import type { HostCapacity } from "../../domain/placement/host-capacity.ts";
import type { Requirement } from "../../domain/placement/host-fit.ts";
import { changePod } from "../../domain/pods/pod-life.ts";
import { findPreemption, type InterruptiblePod, type SharedHost } from "../../domain/pods/preemption.ts";
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
    const hosts = pools.of(config.accountId).hosts.flatMap((capacity) => this.#sharedHost(capacity));
    const found = findPreemption(requirement, hosts);
    if (!found) return false;
    for (const { podId } of found.pods) this.#preempt(podId, now);
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

  /** Undefined for a host where nothing is or can be freed. */
  #sharedHost({ host }: HostCapacity): readonly SharedHost[] {
    const { store, promised } = this.#parts;
    const workers = store.workersOn(host.hostId);
    const active = workers.filter((worker) => !this.#isFreed(worker));
    const interruptible = active.flatMap((worker): InterruptiblePod[] => {
      const pod = worker.isPod ? this.#parts.podStore.get(worker.workerId) : undefined;
      if (!pod?.config.isInterruptible || pod.desired === "stopped") return [];
      const { podId, bidPerGpu } = pod.config;
      return [{ ...worker, podId, bidPerGpu, since: pod.changedAt }];
    });
    if (interruptible.length === 0 && active.length === workers.length) return [];
    const ids = new Set(interruptible.map(({ podId }) => podId));
    const staying = active.filter(({ workerId }) => !ids.has(workerId));
    const leaving = interruptible.flatMap(({ podId }) => store.workers.get(podId)?.leaving ?? []);
    return [
      { host, staying: [...allocationsOf(staying), ...leaving, ...promised.on(host.hostId)], interruptible },
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
