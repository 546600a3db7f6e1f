/** The containers of pods, which are workers: rows, capacity and assignments are changed together. */
import type { Size } from "../../domain/placement/host-capacity.ts";
import type { Place } from "../../domain/placement/host-pool.ts";
import { isDraining } from "../../domain/placement/agent-support.ts";
import { allocationsOf, newWorker, type FleetStore, type WorkerRecord } from "../fleet-store.ts";
import type { HostPools, HostRevisions } from "../hosts/host-pools.ts";
import type { HostPresence } from "../hosts/host-presence.ts";
import type { Standbys } from "../placement/standbys.ts";
import type { WorkerUsage } from "../worker-usage.ts";
import { isFreeBeside, type PromisedPlaces } from "./promised-places.ts";
import type { ClusterNetworks } from "./cluster-networks.ts";
import type { PodRecord, PodStore } from "./pod-store.ts";

export type PodWorkersParts = {
  readonly store: FleetStore;
  readonly pools: HostPools;
  readonly promised: PromisedPlaces;
  readonly presence: HostPresence;
  readonly revisions: HostRevisions;
  readonly standbys: Standbys;
  readonly usage: WorkerUsage;
  readonly podStore: PodStore;
  readonly clusters: ClusterNetworks;
};

export class PodWorkers {
  readonly #parts: PodWorkersParts;

  constructor(parts: PodWorkersParts) {
    this.#parts = parts;
  }

  /** The container of the pod, also one that stops. */
  of(podId: string): WorkerRecord | undefined {
    const worker = this.#parts.store.workers.get(podId);
    return worker?.isPod ? worker : undefined;
  }

  /** One that does not stop. */
  activeOf(podId: string): WorkerRecord | undefined {
    const worker = this.of(podId);
    return worker?.retiredIn === null ? worker : undefined;
  }

  /** Starts the container of a pod that has none. `pod` knows the host of its volume. */
  add(pod: PodRecord, place: Place, now: number): void {
    this.#start(pod, place, null, now);
  }

  /** Its host ends the container and starts one of the pod's version in the same place. */
  rerun(worker: WorkerRecord, pod: PodRecord, now: number): void {
    if (worker.version === pod.version && worker.retiredIn === null) return;
    const { hostId, gpuIndexes, size, leaving } = worker;
    this.#parts.usage.ended(worker, now);
    this.#start(pod, { hostId, gpuIndexes, size: size ?? NOTHING }, leaving, now);
  }

  /** The same in another place on its host; what it leaves stays taken until the host runs the new version. */
  resize(worker: WorkerRecord, pod: PodRecord, place: Place, now: number): void {
    this.#parts.usage.ended(worker, now);
    this.#start(pod, place, leftBy(worker, place), now);
  }

  #start({ config, version }: PodRecord, place: Place, leaving: WorkerRecord["leaving"], now: number): void {
    const { store, pools, revisions, standbys, clusters } = this.#parts;
    const { podId } = config;
    const { hostId } = place;
    const worker = { workerId: podId, endpointId: podId, version, isPod: true, leaving };
    store.saveWorker(newWorker(worker, place, now));
    pools.renew(hostId);
    standbys.recheck(hostId);
    revisions.touch(hostId);
    clusters.touchPeers(config);
  }

  /** The host runs the present version of the pod, and no other. */
  hasLeft(worker: WorkerRecord): WorkerRecord {
    if (!worker.leaving) return worker;
    const alone = { ...worker, leaving: null };
    this.#parts.store.saveWorker(alone);
    this.#parts.pools.changed(worker.hostId);
    return alone;
  }

  /** Its capacity is free when its agent lists it no more; at once where there is no agent. */
  end(podId: string, now: number): void {
    const { store, podStore, clusters, pools, presence, revisions, usage } = this.#parts;
    const worker = this.of(podId);
    if (!worker) return;
    const { hostId } = worker;
    clusters.touchPeers(podStore.get(podId)?.config);
    if (!presence.isPresent(hostId, now)) {
      usage.ended(worker, now);
      store.removeWorker(podId, now);
      pools.changed(hostId);
      revisions.touch(hostId);
    } else if (worker.retiredIn === null) {
      store.saveWorker({ ...worker, state: "stopping", detail: null, retiredIn: revisions.touch(hostId) });
      pools.changed(hostId);
    }
  }

  /** Whether a container that stops can be followed by another in its place: nobody else has been promised that. */
  canFollow({ workerId, hostId, gpuIndexes, size }: WorkerRecord): boolean {
    const { store, pools, promised } = this.#parts;
    const host = store.hosts.get(hostId);
    const staying = store
      .workersOn(hostId)
      .filter((other) => other.retiredIn === null && other.workerId !== workerId);
    const place = { hostId, gpuIndexes, size: size ?? NOTHING };
    const isOpen = host !== undefined && !isDraining(host);
    return (
      isOpen &&
      isFreeBeside(
        pools.of(host.accountId).capacityOf(hostId),
        [...allocationsOf(staying), ...promised.on(hostId)],
        place,
      )
    );
  }
}

const NOTHING = { cpuMilli: 0, memoryMb: 0, diskMb: 0 };

/** What a worker, and the version before it, have beside the new place. */
function leftBy({ gpuIndexes, size, leaving }: WorkerRecord, place: Place): WorkerRecord["leaving"] {
  const before = leaving ?? { gpuIndexes: [], size: NOTHING };
  const rest = (part: Exclude<keyof Size, "gpuMemoryMb">) =>
    Math.max(0, (size ?? NOTHING)[part] + before.size[part] - place.size[part]);
  return {
    gpuIndexes: [...gpuIndexes, ...before.gpuIndexes].filter((index) => !place.gpuIndexes.includes(index)),
    size: { cpuMilli: rest("cpuMilli"), memoryMb: rest("memoryMb"), diskMb: rest("diskMb") },
  };
}
