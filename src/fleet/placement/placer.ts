/**
 * Executes the plans of the domain for workers, and records which hosts and endpoints a change concerns.
 *
 * An endpoint is planned when its desired workers or its workers have changed; one that lacks workers also when
 * hosts of its account have. A plan writes one row for each worker and one for each host that it changes.
 */
import { SHARE_WEIGHT_DEFAULT } from "../../contract/endpoint.ts";
import { serveFairly, type Need, planWorkers, type Rank } from "../../domain/placement/fleet-plan.ts";
import { type Moves, movesAfter, shouldMove } from "../../domain/placement/worker-moves.ts";
import type { HostPool, Place, PlacementFailure } from "../../domain/placement/host-pool.ts";
import type { FleetReport } from "../../domain/jobs/queue-reason.ts";
import { randomId } from "../../domain/accounts/random-id.ts";
import { explainPlacementFailure } from "../../domain/placement/placement-failure.ts";
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
import { evictionSetsOf } from "./eviction-sets.ts";
import { FreedPlaces } from "./freed-places.ts";
import { PreparedWorkers } from "./prepared-workers.ts";
import type { Standbys } from "./standbys.ts";

/** Cache time of placement failures: finding one is expensive with many hosts. */
export const PLACEMENT_FAILURE_CACHE_MS = 5_000;

type PlacedNeed = Omit<Need, "since"> &
  Rank & {
    /** Since when it has lacked workers, epoch ms. */
    readonly since: number;
    readonly record: DesiredWorkersRecord;
    /** The hosts that may have capacity; absent: all. */
    readonly among?: ReadonlySet<string>;
  };

const NO_HOSTS: ReadonlySet<string> = new Set();

type Shortfall = Rank & {
  readonly record: DesiredWorkersRecord;
  readonly failure: PlacementFailure;
  /** Others have the capacity that would do. */
  readonly isTaken: boolean;
  readonly missing: number;
  readonly since: number;
  /** Sets of older workers, each of which would free a place. */
  readonly evictionSets: readonly (readonly string[])[];
  /** When the failure was found, and for which generation of hosts. */
  readonly foundAt: number;
  readonly generation: number;
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
  readonly #promised: PromisedPlaces;
  readonly #freed: FreedPlaces;
  readonly #prepared: PreparedWorkers;
  readonly #podPlacer: PodPlacer;
  readonly #preemptor: Preemptor;
  readonly #sharing: CapacitySharing;
  readonly #budgets: PlacerParts["budgets"];
  readonly #shortfalls = new Map<string, Shortfall>();
  /** Endpoints whose placement failure may have other reasons by now. */
  readonly #staleFailures = new Set<string>();
  /** Workers were retired since the last plan: what they take is promised to the endpoint that comes first. */
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
    this.#promised = parts.promised;
    this.#freed = new FreedPlaces(parts);
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
    const hasChanged = endpointIds.size > 0 || changedHosts.size > 0 || this.#staleFailures.size > 0;
    const isDue = this.#podPlacer.isDue || this.#sharing.isDue(now);
    if (!hasChanged && !isDue && !this.#standbys.areToRecheck) return;

    this.#podPlacer.plan("reserved", changedHosts, now);
    for (const endpointId of this.#resuming.keys()) this.#resume(endpointId, now);
    for (const endpointId of endpointIds) this.#moveFailing(endpointId, now);
    const settled = [...endpointIds].flatMap((endpointId) => this.#settle(endpointId, now) ?? []);
    const isFreeing = this.#hasRetired && this.#sharing.isActive;
    this.#hasRetired = false;
    const needs = [...settled, ...this.#shortfallNeeds(endpointIds, changedHosts, isFreeing, now)];
    const byAccount = Map.groupBy(needs, ({ record }) => record.config.accountId);
    for (const [accountId, ofAccount] of byAccount) this.#placeAll(accountId, ofAccount, now);
    this.#share(now);
    this.#podPlacer.plan("interruptible", changedHosts, now);
    for (const id of this.#prepared.plan(endpointIds, changedHosts.size > 0, now)) this.#changed.add(id);
    for (const worker of this.#standbys.evicted(changedHosts)) this.#retire(worker);
    this.#revisions.endStep();
  }

  /** Some placement failure is stale: a later plan finds it again. */
  get hasStaleFailures(): boolean {
    return this.#staleFailures.size > 0;
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

  /**
   * Why the endpoint has fewer workers than desired, and how many fewer; those of an older version count until they
   * are replaced.
   */
  placementStatus(endpointId: string): PlacementStatus {
    const contention = this.#sharing.contentionOf(endpointId);
    return { ...this.#failureOf(endpointId), ...(contention && { contention }) };
  }

  #failureOf(endpointId: string): PlacementStatus {
    const shortfall = this.#shortfalls.get(endpointId);
    const desired = this.#store.desiredWorkers.get(endpointId)?.desired ?? 0;
    if (!shortfall) return { missing: 0, shortage: null };
    const staying = this.#stayingOf(endpointId);
    const { evictionSets } = shortfall;
    const sharing = this.#sharing.reasonOf(endpointId);
    const failure: PlacementFailure =
      sharing === undefined
        ? shortfall.failure
        : { reason: "waiting_for_share", detail: `${shortfall.failure.detail} ${sharing}` };
    const lacking = Math.min(shortfall.missing, Math.max(0, desired - staying.length));
    const isRolling = staying.some(({ version }) => version < shortfall.record.config.version);
    return {
      missing: lacking,
      shortage: lacking > 0 ? failure : null,
      ...(isRolling && { rollShortage: { shortage: failure, roomBy: evictionSets } }),
    };
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
    const previous = this.#shortfalls.get(endpointId);
    // The rank of an endpoint that gave way is kept until its desired workers change.
    const least = Math.max(plan.rank.least, previous?.record === record ? previous.least : 0);
    return this.#needOf(record, { missing: plan.add, ...plan.rank, least, since: previous?.since ?? now });
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

  /** What the other endpoints lack for which changed hosts may have capacity, or for which some is being freed. */
  #shortfallNeeds(
    settled: ReadonlySet<string>,
    changedHosts: ReadonlyMap<string, ReadonlySet<string>>,
    isFreeing: boolean,
    now: number,
  ): PlacedNeed[] {
    return [...this.#shortfalls].flatMap(([endpointId, shortfall]) => {
      const among = changedHosts.get(shortfall.record.config.accountId);
      const isStale =
        this.#staleFailures.has(endpointId) && now - shortfall.foundAt >= PLACEMENT_FAILURE_CACHE_MS;
      const isDue = (among !== undefined || isStale || isFreeing) && !settled.has(endpointId);
      const record = isDue ? this.#store.desiredWorkers.get(endpointId) : undefined;
      return record ? [{ ...this.#needOf(record, shortfall), among: among ?? NO_HOSTS }] : [];
    });
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
      const isRevived = this.#standbys.revive(endpointId, pool, now);
      const found = isRevived
        ? undefined
        : (this.#freed.take(need.record.config, pool) ?? pool.allocate(need.record.config, need.among));
      if (found) this.#add(need.record, found, now);
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
    for (const { endpointId } of needs) this.#withdrawSurplus(endpointId, missing.get(endpointId) ?? 0);
    if (this.#preemptor.canPreempt(accountId) || this.#sharing.isActive)
      this.#makePlaces(needs, missing, now);
    for (const need of needs) {
      const count = missing.get(need.endpointId) ?? 0;
      if (count > 0) this.#recordShortfall(need, count, pool, now);
      else this.#clearShortfall(need.endpointId);
    }
  }

  /**
   * Interruptible pods give way to workers, and capacity that is being freed is promised to them; not to those of a new
   * version while older ones do the work.
   */
  #makePlaces(needs: readonly PlacedNeed[], missing: ReadonlyMap<string, number>, now: number): void {
    const short = needs
      .filter(({ canWait }) => !canWait)
      .map((need) => {
        const promised = this.#promised.of(need.endpointId).length;
        return { ...need, has: need.desired - (missing.get(need.endpointId) ?? 0) + promised };
      });
    serveFairly(short, now, ({ endpointId }) => {
      const config = this.#store.desiredWorkers.get(endpointId)?.config;
      if (!config) return false;
      return this.#preemptor.makePlace({ promisedTo: endpointId, config, requirement: config }, now);
    });
  }

  /** Workers of other endpoints give way to those that still lack some. */
  #share(now: number): void {
    const taken = [...this.#shortfalls].filter(([, { isTaken, canWait }]) => isTaken && !canWait);
    const [first] = taken;
    if (!first && !this.#sharing.isActive) return;
    const short = taken.map(([endpointId, { record, missing, least, since }]) => {
      return { record, missing: missing - this.#promised.of(endpointId).length, least, since };
    });
    const accountId = first?.[1].record.config.accountId ?? "";
    for (const endpointId of this.#sharing.plan(accountId, short, now)) this.#changed.add(endpointId);
  }

  /** More than it lacks, and those for an older version. */
  #withdrawSurplus(endpointId: string, missing: number): void {
    const version = this.#store.desiredWorkers.get(endpointId)?.config.version;
    const places = this.#promised.of(endpointId);
    const current = places.filter((place) => place.version === version).slice(0, missing);
    if (current.length < places.length)
      this.#preemptor.withdraw(places.filter((place) => !current.includes(place)));
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
      this.#add(record, place, now, moves);
    }
  }

  #add({ config }: DesiredWorkersRecord, place: Place, now: number, moves: Moves | null = null): void {
    const { endpointId, version } = config;
    const workerId = randomId((count) => crypto.getRandomValues(new Uint8Array(count)));
    this.#store.saveWorker(newWorker({ workerId, endpointId, version, moves }, place, now));
    this.#standbys.recheck(place.hostId);
    this.#revisions.touch(place.hostId);
  }

  #recordShortfall(need: PlacedNeed, missing: number, pool: HostPool, now: number): void {
    const { endpointId, record, since, least, canWait } = need;
    const previous = this.#shortfalls.get(endpointId);
    const isCached =
      previous?.record === record &&
      previous.generation === pool.generation &&
      now - previous.foundAt < PLACEMENT_FAILURE_CACHE_MS;
    const { failure, isTaken, foundAt, generation } = isCached
      ? previous
      : { ...explainIn(pool, record), foundAt: now };
    const evictionSets = evictionSetsOf(this.#store, record.config, pool);
    const found = { record, failure, isTaken, missing, since, evictionSets, foundAt, generation };
    const shortfall = { ...found, least, canWait };
    if (isCached) this.#staleFailures.add(endpointId);
    else this.#staleFailures.delete(endpointId);
    if (!previous || reportOf(previous) !== reportOf(shortfall)) this.#changed.add(endpointId);
    this.#shortfalls.set(endpointId, shortfall);
  }

  #clearShortfall(endpointId: string): void {
    this.#withdrawSurplus(endpointId, 0);
    this.#staleFailures.delete(endpointId);
    if (this.#shortfalls.delete(endpointId)) this.#changed.add(endpointId);
  }

  #needOf(
    record: DesiredWorkersRecord,
    { missing, least, canWait, since }: Rank & Pick<Shortfall, "missing" | "since">,
  ): PlacedNeed {
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

function explainIn(pool: HostPool, { config }: DesiredWorkersRecord) {
  const { isTaken, ...failure } = explainPlacementFailure(config, pool.hosts);
  return { failure, isTaken, generation: pool.generation };
}

/** What the endpoint learns of it. */
function reportOf({ missing, failure, evictionSets }: Shortfall): string {
  return JSON.stringify([missing, failure.detail, evictionSets]);
}
