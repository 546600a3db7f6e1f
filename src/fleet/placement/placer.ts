/**
 * Executes the plans of the domain for workers, and records which hosts and endpoints a change concerns.
 *
 * An endpoint is planned when its desired workers or its workers have changed; one that lacks workers also when
 * hosts of its account have. A plan writes one row for each worker and one for each host that it changes.
 */
import { SHARE_WEIGHT_DEFAULT } from "../../contract/endpoint.ts";
import {
  nextVersion,
  serveFairly,
  type Need,
  planWorkers,
  type Rank,
} from "../../domain/placement/fleet-plan.ts";
import { type Moves, movesAfter, shouldMove } from "../../domain/placement/worker-moves.ts";
import type { Place } from "../../domain/placement/host-pool.ts";
import type { FleetReport } from "../../domain/jobs/queue-reason.ts";
import { randomId } from "../../domain/accounts/random-id.ts";
import { epochOf, workerOfEpoch } from "../../domain/placement/standby.ts";
import { isDraining } from "../../domain/placement/agent-support.ts";
import {
  isActive,
  newWorker,
  type FleetStore,
  type DesiredWorkersRecord,
  type WorkerRecord,
} from "../fleet-store.ts";
import type { Budgets } from "../budgets.ts";
import type { HostPools, HostRevisions } from "../hosts/host-pools.ts";
import type { PodPlacer } from "../pods/pod-placer.ts";
import type { Preemptor } from "../pods/preemptor.ts";
import type { PromisedPlaces } from "../pods/promised-places.ts";
import type { CapacitySharing } from "./capacity-sharing.ts";
import { EndpointPromises } from "./endpoint-promises.ts";
import { PreparedWorkers } from "./prepared-workers.ts";
import { type Lack, Shortfalls } from "./shortfalls.ts";
import type { Standbys } from "./standbys.ts";

type PlacedNeed = Omit<Need, "since"> &
  Rank & {
    /** Since when it has lacked workers, epoch ms. */
    readonly since: number;
    readonly record: DesiredWorkersRecord;
    /** The hosts that may have capacity; absent: all. */
    readonly among?: ReadonlySet<string>;
  };

type PlacementStatus = Omit<FleetReport, "revision" | "workers">;

type PlacerParts = {
  readonly store: FleetStore;
  readonly pools: HostPools;
  readonly revisions: HostRevisions;
  readonly standbys: Standbys;
  readonly promised: PromisedPlaces;
  readonly podPlacer: PodPlacer;
  readonly preemptor: Preemptor;
  readonly sharing: CapacitySharing;
  readonly budgets: Pick<Budgets, "allows">;
};

export class Placer {
  readonly #store: FleetStore;
  readonly #pools: HostPools;
  readonly #revisions: HostRevisions;
  readonly #standbys: Standbys;
  readonly #promises: EndpointPromises;
  readonly #shortfalls: Shortfalls;
  readonly #prepared: PreparedWorkers;
  readonly #podPlacer: PodPlacer;
  readonly #preemptor: Preemptor;
  readonly #sharing: CapacitySharing;
  readonly #budgets: PlacerParts["budgets"];
  /** Workers were retired since capacity was shared out last: what they take is promised to who comes first. */
  #hasRetired = false;
  /** Standby epochs that endpoints have requested and that do not run yet. */
  readonly #resuming = new Map<string, readonly string[]>();
  #stale = new Set<string>();
  #changed = new Set<string>();

  constructor(parts: PlacerParts) {
    this.#store = parts.store;
    this.#pools = parts.pools;
    this.#revisions = parts.revisions;
    this.#standbys = parts.standbys;
    this.#promises = new EndpointPromises(parts);
    this.#shortfalls = new Shortfalls(parts);
    this.#prepared = new PreparedWorkers(parts);
    this.#podPlacer = parts.podPlacer;
    this.#preemptor = parts.preemptor;
    this.#sharing = parts.sharing;
    this.#budgets = parts.budgets;
  }

  /** The desired workers of the endpoint, or one of its workers, have changed. */
  review(endpointId: string): void {
    this.#stale.add(endpointId);
  }

  /** A worker has become ready, or is no longer: a rollout may continue. */
  reviewRollout(endpointId: string): void {
    const version = this.#store.desiredWorkers.get(endpointId)?.config.version ?? 0;
    if (this.#stayingOf(endpointId).some((worker) => worker.version < version)) this.review(endpointId);
  }

  /** To be called once, when the store is loaded. */
  reviewAll(): void {
    for (const endpointId of this.#store.desiredWorkers.keys()) this.#stale.add(endpointId);
    for (const { endpointId, isPod } of this.#store.workers.values()) {
      if (!isPod) this.#stale.add(endpointId);
    }
  }

  /** Brings the workers in step with the desired numbers. Without a change it does nothing. */
  plan(now: number, isPresent: (hostId: string) => boolean): void {
    const changedHosts = this.#pools.refresh(isPresent);
    const endpointIds = new Set([...this.#stale, ...this.#standbys.expired(now)]);
    this.#stale = new Set();
    const hasChanged = endpointIds.size > 0 || changedHosts.size > 0 || this.#shortfalls.hasStale;
    const isDue = this.#podPlacer.isDue || this.#sharing.isDue(now);
    if (!hasChanged && !isDue && !this.#standbys.areToRecheck) return;

    this.#podPlacer.plan("reserved", changedHosts, now);
    for (const endpointId of this.#resuming.keys()) this.#resume(endpointId, now);
    for (const endpointId of endpointIds) this.#moveFailing(endpointId, now);
    const settled = [...endpointIds].flatMap((endpointId) => this.#settle(endpointId, now) ?? []);
    const isFreeing = this.#hasRetired && this.#sharing.isActive;
    if (isFreeing) this.#hasRetired = false;
    const others = this.#shortfalls.due(endpointIds, changedHosts, isFreeing, now);
    const needs = [...settled, ...others.map(({ lack, among }) => ({ ...this.#needOf(lack), among }))];
    const byAccount = Map.groupBy(needs, ({ record }) => record.config.accountId);
    for (const [accountId, ofAccount] of byAccount) this.#placeAll(accountId, ofAccount, now);
    this.#share(now);
    this.#podPlacer.plan("interruptible", changedHosts, now);
    for (const id of this.#prepared.plan(endpointIds, changedHosts.size > 0, now)) this.#changed.add(id);
    for (const worker of this.#standbys.evicted(changedHosts)) this.#retire(worker);
    this.#revisions.endStep();
  }

  removeDesiredWorkers(endpointId: string): void {
    this.#store.removeDesiredWorkers(endpointId);
    this.#clearShortfall(endpointId);
  }

  /** Whether an endpoint should have workers or has some. */
  hasEndpoint(endpointId: string): boolean {
    return this.#store.desiredWorkers.has(endpointId) || this.#store.workersOf(endpointId).length > 0;
  }

  /** The endpoint gives the workers of these epochs no more jobs. */
  scaleDown(endpointId: string, epochs: readonly string[], now: number): void {
    for (const epoch of epochs) {
      const worker = this.#store.workers.get(workerOfEpoch(epoch));
      if (worker?.endpointId !== endpointId || !isActive(worker) || epochOf(worker) !== epoch) continue;
      if (this.#standbys.pause(worker, now)) this.#changed.add(endpointId);
      else this.#retire(worker);
    }
    this.#revisions.endStep();
  }

  /** Requests wait for these workers, if they are on standby in these epochs. */
  resume(endpointId: string, epochs: readonly string[]): void {
    const onStandby = epochs.filter((epoch) => {
      const worker = this.#store.standbys.get(workerOfEpoch(epoch));
      return worker?.endpointId === endpointId && epochOf(worker) === epoch;
    });
    if (onStandby.length > 0) this.#resuming.set(endpointId, onStandby);
    else this.#resuming.delete(endpointId);
  }

  /** Some placement failure is stale: a later plan finds it again. */
  get hasStaleFailures(): boolean {
    return this.#shortfalls.hasStale;
  }

  /** Why the endpoint has fewer workers than desired, and what it must know of others that want some. */
  placementStatus(endpointId: string): PlacementStatus {
    const contention = this.#sharing.contentionOf(endpointId);
    return { ...this.#shortfalls.statusOf(endpointId), ...(contention && { contention }) };
  }

  /** Endpoints whose workers or placement failure have changed since the last call. */
  takeChangedEndpoints(): ReadonlySet<string> {
    const changed = this.#changed;
    this.#changed = new Set();
    return changed;
  }

  /** Retires surplus workers of the endpoint; returns what it lacks, if anything. */
  #settle(endpointId: string, now: number): PlacedNeed | undefined {
    const record = this.#store.desiredWorkers.get(endpointId);
    for (const worker of this.#standbys.discardable(endpointId, now)) this.#retire(worker);
    const workers = this.#store.workersOf(endpointId).filter(({ standbyAt }) => standbyAt === null);
    const plan = planWorkers(
      workers.map((worker) => {
        const host = this.#store.hosts.get(worker.hostId);
        return {
          ...worker,
          isRetired: worker.retiredIn !== null,
          isReady: worker.state === "ready",
          isDrained: host !== undefined && isDraining(host),
        };
      }),
      record && { desired: record.desired, ...record.config },
    );
    const retired = new Set(plan.retire);
    for (const worker of workers) if (retired.has(worker.workerId)) this.#retire(worker);
    if (!record || plan.add === 0 || !this.#budgets.allows(endpointId)) {
      this.#clearShortfall(endpointId);
      return undefined;
    }
    const previous = this.#shortfalls.of(endpointId);
    // The rank of an endpoint that gave way is kept until its desired workers change.
    const least = Math.max(plan.rank.least, previous?.record === record ? previous.least : 0);
    return this.#needOf({ record, missing: plan.add, ...plan.rank, least, since: previous?.since ?? now });
  }

  /** Before any worker is placed: workers requested by name count towards the desired number. */
  #resume(endpointId: string, now: number): void {
    const config = this.#store.desiredWorkers.get(endpointId)?.config;
    const epochs = this.#resuming.get(endpointId) ?? [];
    const allowed = this.#budgets.allows(endpointId) ? (config?.workersMax ?? 0) : 0;
    const most = allowed - this.#stayingOf(endpointId).length;
    const pool = config && this.#pools.of(config.accountId);
    if (pool && this.#standbys.resume(endpointId, epochs, { pool, most, now })) this.#changed.add(endpointId);
    this.resume(endpointId, epochs); // less those that run now
  }

  #stayingOf(endpointId: string): readonly WorkerRecord[] {
    return this.#store.workersOf(endpointId).filter(isActive);
  }

  #placeAll(accountId: string, needs: readonly PlacedNeed[], now: number): void {
    const pool = this.#pools.of(accountId);
    const byEndpoint = new Map(needs.map((need) => [need.endpointId, need]));
    const missing = new Map(needs.map(({ endpointId, desired, has }) => [endpointId, desired - has]));
    const place = ({ endpointId }: Need) => {
      const need = byEndpoint.get(endpointId);
      if (!need) return false;
      const version = this.#nextVersionOf(need.record);
      const isCurrent = version === need.record.config.version;
      const isRevived = isCurrent && this.#standbys.revive(endpointId, pool, now);
      const found = isRevived
        ? undefined
        : (this.#promises.take(need.record.config, pool) ?? pool.allocate(need.record.config, need.among));
      if (found) this.#add(need.record, found, { version }, now);
      else if (!isRevived) return false;
      this.#changed.add(endpointId);
      missing.set(endpointId, (missing.get(endpointId) ?? 0) - 1);
      return true;
    };
    for (const canWait of [false, true]) {
      serveFairly(
        needs.filter((need) => need.canWait === canWait),
        now,
        place,
      );
    }
    for (const { endpointId } of needs)
      this.#promises.withdrawSurplus(endpointId, missing.get(endpointId) ?? 0);
    if (this.#preemptor.canPreempt(accountId) || this.#sharing.isActive)
      this.#promises.make(needs, missing, now);
    for (const need of needs) {
      const { endpointId, record, since, least, canWait } = need;
      const count = missing.get(endpointId) ?? 0;
      if (count === 0) this.#clearShortfall(endpointId);
      else if (this.#shortfalls.record({ record, since, least, canWait, missing: count }, pool, now))
        this.#changed.add(endpointId);
    }
  }

  /** Workers of other endpoints give way to those that still lack some. */
  #share(now: number): void {
    const { taken } = this.#shortfalls;
    const [first] = taken;
    if (!first && !this.#sharing.isActive) return;
    const short = taken.map(({ record, missing, least, since }) => {
      return { record, missing: missing - this.#promises.countOf(record.config.endpointId), least, since };
    });
    const accountId = first?.record.config.accountId ?? "";
    for (const endpointId of this.#sharing.plan(accountId, short, now)) this.#changed.add(endpointId);
  }

  /** A worker that keeps failing is tried on another host, if one has capacity. */
  #moveFailing(endpointId: string, now: number): void {
    const record = this.#store.desiredWorkers.get(endpointId);
    if (!record || record.desired === 0 || !this.#budgets.allows(endpointId)) return;
    for (const worker of this.#store.workersOf(endpointId)) {
      const isCurrent = isActive(worker) && worker.version === record.config.version;
      if (!isCurrent || !shouldMove(worker, now)) continue;
      const moves = movesAfter(worker, now);
      const place = this.#pools
        .of(record.config.accountId)
        .allocate(record.config, undefined, new Set(moves.hostIds));
      if (!place) continue;
      this.#retire(worker);
      this.#add(record, place, { version: worker.version, moves }, now);
    }
  }

  /** That of the endpoint, or the earlier one while that lacks workers beside a version on trial. */
  #nextVersionOf({ config, desired }: DesiredWorkersRecord): number {
    return nextVersion(this.#stayingOf(config.endpointId), { ...config, desired });
  }

  #add(
    { config: { endpointId } }: DesiredWorkersRecord,
    place: Place,
    { version, moves = null }: { readonly version: number; readonly moves?: Moves | null },
    now: number,
  ): void {
    const workerId = randomId((count) => crypto.getRandomValues(new Uint8Array(count)));
    this.#store.saveWorker(newWorker({ workerId, endpointId, version, moves }, place, now));
    this.#standbys.recheck(place.hostId);
    this.#revisions.touch(place.hostId);
  }

  #clearShortfall(endpointId: string): void {
    this.#promises.withdrawSurplus(endpointId, 0);
    if (this.#shortfalls.clear(endpointId)) this.#changed.add(endpointId);
  }

  #needOf({ record, missing, least, canWait, since }: Lack): PlacedNeed {
    const { desired, config } = record;
    const {
      endpointId,
      shareWeight: weight = SHARE_WEIGHT_DEFAULT,
      sharePriority: priority = "NORMAL",
    } = config;
    const has = desired - missing;
    const usedMs = this.#sharing.usedBy(endpointId);
    const withoutSince = this.#sharing.withoutSince(endpointId);
    const place = { has, withoutSince, least, desired, canWait, since };
    return { endpointId, weight, priority, usedMs, ...place, record };
  }

  /** Its capacity is free when its agent lists it no more. */
  #retire(worker: WorkerRecord): void {
    const retiredIn = this.#revisions.touch(worker.hostId);
    this.#store.saveWorker({ ...worker, state: "stopping", detail: null, retiredIn });
    this.#hasRetired = true;
    this.#changed.add(worker.endpointId);
  }
}
