/** The pods of a fleet: what their owners, time and hosts do to them. */
import type { WorkerReport } from "../../contract/agent/agent.ts";
import type { PodConfig } from "../../contract/pod.ts";
import { explainPlacementFailure } from "../../domain/placement/placement-failure.ts";
import { isSuited } from "../../domain/placement/host-fit.ts";
import { findPlaceOn, type PlacementFailure } from "../../domain/placement/host-pool.ts";
import { isDraining } from "../../domain/placement/agent-support.ts";
import { changePod, dueChange, newPod, type StopReason } from "../../domain/pods/pod-life.ts";
import { needsSamePlace, requirementOf, volumeMbOf } from "../../domain/pods/pod-requirement.ts";
import type { FleetStore, WorkerRecord } from "../fleet-store.ts";
import type { HostPools, HostRevisions } from "../hosts/host-pools.ts";
import type { HostPresence, TelemetryCache } from "../hosts/host-presence.ts";
import type { PodChangeCall, PodOutcome, PodView } from "../messages.ts";
import type { ClusterNetworks } from "./cluster-networks.ts";
import type { PodPlacer } from "./pod-placer.ts";
import type { PodRecord, PodStore } from "./pod-store.ts";
import { viewOfHost, viewOfPod, type PodUse } from "./pod-view.ts";
import type { PodWorkers } from "./pod-workers.ts";

type PodsParts = {
  readonly store: FleetStore;
  readonly podStore: PodStore;
  readonly pools: HostPools;
  readonly presence: HostPresence;
  readonly telemetry: TelemetryCache;
  readonly revisions: HostRevisions;
  readonly podWorkers: PodWorkers;
  readonly podPlacer: PodPlacer;
  readonly clusters: ClusterNetworks;
};

export class Pods {
  readonly #parts: PodsParts;
  /** Of containers, as last reported; not stored. */
  readonly #use = new Map<string, PodUse>();

  constructor(parts: PodsParts) {
    this.#parts = parts;
  }

  // Owners

  /** A pod that is there already stays as it is. Nothing is kept of one that has no place and cannot be given one. */
  create(config: PodConfig, now: number, clusterSize = 1): PodOutcome {
    const present = this.#parts.podStore.get(config.podId);
    if (present) return present.config.accountId === config.accountId ? this.#done(present, now) : NOT_FOUND;
    const admitted = this.#parts.clusters.admit(config, clusterSize);
    const pod = { ...newPod(config, now), ports: [], clusterAddress: admitted?.address ?? null };
    return this.#placeAndStart(pod, now, admitted?.preferred);
  }

  change({ podId, accountId, change }: PodChangeCall, now: number): PodOutcome {
    const pod = this.#parts.podStore.get(podId);
    if (pod?.config.accountId !== accountId) return NOT_FOUND;
    if (change.kind === "terminate") return this.#terminate(pod, now);
    if (change.kind === "stop") return this.#done(this.#stop(pod, "stopped", now), now);
    const next = changePod(pod, change, now);
    return next === pod ? this.#done(pod, now) : this.#follow(pod, { ...pod, ...next }, now);
  }

  /** The pods of an account, or those of them that are named, the oldest first. */
  viewsOf(accountId: string, podIds: readonly string[] | undefined, now: number): PodView[] {
    const { podStore } = this.#parts;
    const pods = podIds
      ? [...new Set(podIds)].flatMap((podId) => podStore.get(podId) ?? [])
      : podStore.ofAccount(accountId);
    return pods
      .filter(({ config }) => config.accountId === accountId)
      .toSorted((a, b) => a.createdAt - b.createdAt || (a.config.podId < b.config.podId ? -1 : 1))
      .map((pod) => this.#view(pod, now));
  }

  // Hosts and time

  /**
   * What an agent says of the container of a pod; returns that as it is then. Undefined: the report is about a version
   * that shall no longer run.
   */
  applyReport(worker: WorkerRecord, report: WorkerReport): WorkerRecord | undefined {
    const { podStore, podWorkers } = this.#parts;
    const { workerId: podId, version, retiredIn } = worker;
    if (retiredIn !== null) return worker;
    if (report.revision !== version) return undefined;
    const { ports = [], ...use } = report.container ?? {};
    this.#use.set(podId, use);
    const pod = podStore.get(podId);
    if (pod && JSON.stringify(pod.ports) !== JSON.stringify(ports)) podStore.save({ ...pod, ports });
    return podWorkers.hasLeft(worker);
  }

  /** Stops and terminates those whose time has come. */
  passTime(now: number): void {
    const { podStore, revisions } = this.#parts;
    if ((podStore.nextTime ?? Infinity) > now) return;
    for (const pod of [...podStore.all()]) {
      const due = dueChange(pod, now);
      if (due === "terminate") this.#terminate(pod, now);
      if (due === "stop") this.#stop(pod, "stop_time", now);
    }
    revisions.endStep();
  }

  /** Its containers are gone already; so are the volumes on it. */
  hostRemoved(hostId: string, now: number): void {
    const { podStore, podPlacer } = this.#parts;
    for (const pod of podStore.withVolumeOn(hostId)) {
      podStore.save({ ...pod, ...changePod(pod, { kind: "volume_lost" }, now), ports: [] });
      podPlacer.review(pod.config.podId);
    }
  }

  /** Makes it run, or keep running, as it shall be; or leaves the pod as it was. */
  #follow(pod: PodRecord, next: PodRecord, now: number): PodOutcome {
    if (next.desired === "stopped") return this.#editStopped(pod, next, now);
    const worker = this.#parts.podWorkers.of(pod.config.podId);
    if (pod.desired === "stopped") return this.#startAgain(pod, next, worker, now);
    return worker?.retiredIn === null
      ? this.#runOnItsHost(pod, next, worker, now)
      : this.#waitOn(pod, next, now);
  }

  /** Where its last container still stops, unless others get what that leaves. */
  #startAgain(pod: PodRecord, next: PodRecord, worker: WorkerRecord | undefined, now: number): PodOutcome {
    const leavesPlace = pod.stopReason === "preempted" || (worker !== undefined && this.#isDraining(worker));
    return worker && !leavesPlace
      ? this.#runOnItsHost(pod, next, worker, now)
      : this.#placeAndStart(next, now);
  }

  /** It has no place yet, and may now need another one than it was promised. */
  #waitOn(pod: PodRecord, next: PodRecord, now: number): PodOutcome {
    const { podStore, podPlacer } = this.#parts;
    const { podId } = pod.config;
    if (!keepsPlace(pod, next)) podPlacer.forgetPromise(podId);
    podStore.save(next);
    podPlacer.review(podId);
    return this.#done(next, now);
  }

  /** In the place of its container, or in another one. */
  #runOnItsHost(pod: PodRecord, next: PodRecord, worker: WorkerRecord, now: number): PodOutcome {
    const { podWorkers, podStore, podPlacer, revisions } = this.#parts;
    const isSame = keepsPlace(pod, next) && worker.version === pod.version;
    const hasPlace = worker.retiredIn === null || podWorkers.canFollow(worker);
    const stays = isSame ? hasPlace : this.#suits(worker, next);
    if (!stays) return this.#resize(pod, atLeast(next, pod.version + 1), worker, now);
    podStore.save(next.version === pod.version ? next : { ...next, ports: [] });
    podWorkers.rerun(worker, next, now);
    revisions.endStep();
    podPlacer.review(pod.config.podId);
    return this.#done(next, now);
  }

  /** Whether its container, which runs, can be left alone. */
  #suits({ hostId, version, gpuIndexes, size }: WorkerRecord, next: PodRecord): boolean {
    const capacity = this.#parts.pools.capacityWithout(hostId, next.config.podId);
    if (version !== next.version || !capacity || !size) return false;
    const clusterHosts = this.#parts.clusters.hostsFor(next);
    const requirement = requirementOf(next.config, { hostId, newVolumeMb: 0, clusterHosts });
    return isSuited(capacity, requirement, { gpuIndexes, size });
  }

  /** Places a pod that has no container, or whose last one leaves its place to others. */
  #placeAndStart(pod: PodRecord, now: number, preferred?: ReadonlySet<string>): PodOutcome {
    const { podStore, podWorkers, podPlacer, revisions } = this.#parts;
    const { podId } = pod.config;
    const failure = podPlacer.start(pod, now, preferred);
    if (failure) return this.#failed(pod, failure, now);
    if (!podWorkers.activeOf(podId)) podStore.save(pod);
    podPlacer.review(podId);
    revisions.endStep();
    return this.#done(podStore.get(podId) ?? pod, now);
  }

  /** Another place: on the host where its container is, or on another one unless its volume is there. */
  #resize(pod: PodRecord, next: PodRecord, worker: WorkerRecord, now: number): PodOutcome {
    const { pools, podStore, podWorkers, podPlacer, revisions } = this.#parts;
    const { hostId } = worker;
    const { podId, accountId } = next.config;
    const newVolumeMb = this.#newVolumeMb(pod, next);
    const clusterHosts = this.#parts.clusters.hostsFor(next);
    const requirement = requirementOf(next.config, { hostId, newVolumeMb, clusterHosts });
    const capacity = pools.capacityWithout(hostId, podId);
    const place = capacity && findPlaceOn(capacity, requirement);
    if (!place && next.volumeHostId === null) return this.#move(next, now);
    if (!place)
      return this.#failed(pod, explainPlacementFailure(requirement, pools.of(accountId).hosts), now);
    const placed = { ...next, ...changePod(next, { kind: "placed", hostId }, now), ports: [] };
    const size = { ...place.size, diskMb: place.size.diskMb - newVolumeMb };
    podStore.save(placed);
    podWorkers.resize(worker, placed, { ...place, size }, now);
    pools.changed(hostId);
    revisions.endStep();
    podPlacer.review(podId);
    return this.#done(placed, now);
  }

  /** To another host, where its place is kept free until its container has stopped. */
  #move(next: PodRecord, now: number): PodOutcome {
    const { podStore, podWorkers, podPlacer, revisions } = this.#parts;
    const { podId } = next.config;
    const moved = { ...next, ports: [] };
    const failure = podPlacer.start(moved, now);
    if (failure) return this.#failed(next, failure, now);
    podWorkers.end(podId, now);
    podStore.save(moved);
    podPlacer.review(podId);
    revisions.endStep();
    return this.#done(moved, now);
  }

  /** Its volume must fit its host; all else is found out when it starts. */
  #editStopped(pod: PodRecord, edited: PodRecord, now: number): PodOutcome {
    const { pools, podStore, revisions } = this.#parts;
    // Its last container may still stop, in a place that another version does not take over unseen.
    const next = keepsPlace(pod, edited) ? edited : atLeast(edited, pod.version + 1);
    const hostId = pod.volumeHostId;
    if (hostId !== null) {
      const { accountId } = pod.config;
      const pool = pools.of(accountId);
      const newVolumeMb = this.#newVolumeMb(pod, next);
      const freeMb = pool.capacityOf(hostId)?.free.diskMb ?? 0;
      if (newVolumeMb > 0 && freeMb < newVolumeMb) {
        const requirement = requirementOf(next.config, { hostId, newVolumeMb });
        return this.#failed(pod, explainPlacementFailure(requirement, pool.hosts), now);
      }
      pools.changed(hostId);
      if (next.volumeHostId === null) revisions.touch(hostId);
      revisions.endStep();
    }
    podStore.save(next);
    return this.#done(next, now);
  }

  #stop(pod: PodRecord, reason: StopReason, now: number): PodRecord {
    const { podStore, podWorkers, podPlacer, revisions } = this.#parts;
    const { podId } = pod.config;
    if (pod.desired === "stopped") return pod;
    const stopped = { ...pod, ...changePod(pod, { kind: "stop", reason }, now), ports: [] };
    podStore.save(stopped);
    podWorkers.end(podId, now);
    podPlacer.review(podId);
    this.#use.delete(podId);
    revisions.endStep();
    return stopped;
  }

  /** Its container stops, its volume goes with the next sync of the host. */
  #terminate(pod: PodRecord, now: number): PodOutcome {
    const { podStore, podWorkers, podPlacer, pools, revisions } = this.#parts;
    const { podId } = pod.config;
    podWorkers.end(podId, now);
    podStore.remove(podId);
    podPlacer.review(podId);
    this.#use.delete(podId);
    if (pod.volumeHostId !== null) {
      pools.changed(pod.volumeHostId);
      revisions.touch(pod.volumeHostId);
    }
    revisions.endStep();
    return this.#done(
      { ...pod, ...changePod(pod, { kind: "stop", reason: "stopped" }, now), ports: [] },
      now,
    );
  }

  #newVolumeMb(pod: PodRecord, next: PodRecord): number {
    const presentMb = pod.volumeHostId === null ? 0 : volumeMbOf(pod.config);
    return Math.max(0, volumeMbOf(next.config) - presentMb);
  }

  #isDraining({ hostId }: WorkerRecord): boolean {
    const host = this.#parts.store.hosts.get(hostId);
    return host !== undefined && isDraining(host);
  }

  #failed(pod: PodRecord, failure: PlacementFailure, now: number): PodOutcome {
    const host = pod.volumeHostId === null ? null : viewOfHost(this.#parts, pod.volumeHostId, now);
    return host ? { kind: "volume_elsewhere", host, failure } : { kind: "no_capacity", failure };
  }

  #done(pod: PodRecord, now: number): PodOutcome {
    return { kind: "done", pod: this.#view(pod, now) };
  }

  #view(pod: PodRecord, now: number): PodView {
    return viewOfPod(this.#parts, pod, { use: this.#use.get(pod.config.podId) ?? {}, now });
  }
}

function keepsPlace(pod: PodRecord, next: PodRecord): boolean {
  return needsSamePlace(pod.config, next.config);
}

function atLeast(pod: PodRecord, version: number): PodRecord {
  return { ...pod, version: Math.max(pod.version, version) };
}

const NOT_FOUND: PodOutcome = { kind: "not_found" };
