/**
 * Carries out what the domain decides about workers, and remembers whom a change concerns.
 *
 * An endpoint is planned when its wish or its workers have changed; one that is short of workers also when hosts
 * of its account have. A plan writes one row for each worker and one for each host that it changes.
 */
import { serveFairly, type Need } from "../domain/fair-turns.ts";
import { planWorkers, type Rank } from "../domain/fleet-plan.ts";
import { type Moves, movesAfter, shallMove } from "../domain/other-host.ts";
import type { HostPool, Place, Shortage } from "../domain/placement.ts";
import type { RollShortage } from "../domain/queue-reason.ts";
import { randomId } from "../domain/random-id.ts";
import { SHORTAGE_WORDS_MS } from "../contract/limits.ts";
import { explainShortage } from "../domain/shortage.ts";
import { stintOf, workerOfStint } from "../domain/standby.ts";
import { isDraining } from "./draining.ts";
import type { FleetStore, WishRecord, WorkerRecord } from "./fleet-store.ts";
import type { HostPools } from "./host-pools.ts";
import type { HostRevisions } from "./host-revisions.ts";
import { roomMakersOf } from "./release-room.ts";
import type { Standbys } from "./standbys.ts";

type PlacedNeed = Need &
  Rank & {
    readonly wish: WishRecord;
    /** The hosts that may have room; absent for all. */
    readonly among?: ReadonlySet<string>;
  };

const NO_HOSTS: ReadonlySet<string> = new Set();

type Short = Rank & {
  readonly accountId: string;
  readonly wish: WishRecord;
  readonly shortage: Shortage;
  readonly missing: number;
  readonly since: number;
  /** Sets of older workers, each of which would make room. */
  readonly roomBy: readonly (readonly string[])[];
  /** When the words were found, and of which hosts they tell. */
  readonly foundAt: number;
  readonly epoch: number;
};

type ShownShortage = {
  readonly shortage: Shortage | null;
  readonly missing: number;
  readonly rollShortage?: RollShortage;
};

export class Placer {
  readonly #store: FleetStore;
  readonly #pools: HostPools;
  readonly #revisions: HostRevisions;
  readonly #standbys: Standbys;
  readonly #short = new Map<string, Short>();
  /** Endpoints whose shortage may have other reasons by now. */
  readonly #oldWords = new Set<string>();
  /** Stints on standby that endpoints have asked for and that do not run yet. */
  readonly #resuming = new Map<string, readonly string[]>();
  #stale = new Set<string>();
  #changed = new Set<string>();

  constructor(store: FleetStore, pools: HostPools, revisions: HostRevisions, standbys: Standbys) {
    this.#store = store;
    this.#pools = pools;
    this.#revisions = revisions;
    this.#standbys = standbys;
  }

  /** The endpoint's wish or one of its workers has changed. */
  review(endpointId: string): void {
    this.#stale.add(endpointId);
  }

  /** A worker has become ready, or is so no more: a release may go on. */
  reviewRoll(endpointId: string): void {
    const version = this.#store.wishes.get(endpointId)?.config.version ?? 0;
    if (this.#stayingOf(endpointId).some((worker) => worker.version < version)) this.review(endpointId);
  }

  /** To be called once, when the store is loaded. */
  reviewAll(): void {
    for (const endpointId of this.#store.wishes.keys()) this.#stale.add(endpointId);
    for (const { endpointId } of this.#store.workers.values()) this.#stale.add(endpointId);
  }

  /** Brings the workers in step with the wishes. Without a change it does nothing. */
  plan(now: number, isPresent: (hostId: string) => boolean): void {
    const changedHosts = this.#pools.refresh(isPresent);
    const endpointIds = new Set([...this.#stale, ...this.#standbys.expired(now)]);
    this.#stale = new Set();
    if (endpointIds.size === 0 && changedHosts.size === 0 && this.#oldWords.size === 0) return;

    for (const endpointId of this.#resuming.keys()) this.#resume(endpointId, now);
    this.#moveFailing(endpointIds, now);
    const settled = [...endpointIds].flatMap((endpointId) => this.#settle(endpointId, now) ?? []);
    const needs = [...settled, ...this.#shortNeeds(endpointIds, changedHosts, now)];
    const byAccount = Map.groupBy(needs, ({ wish }) => wish.config.accountId);
    for (const [accountId, ofAccount] of byAccount) this.#placeAll(accountId, ofAccount, now);
    for (const worker of this.#standbys.crowdedOut(changedHosts)) this.#retire(worker);
    this.#revisions.endStep();
  }

  /** Some endpoint is told words of before: they are found anew by a plan a while later. */
  get hasOldWords(): boolean {
    return this.#oldWords.size > 0;
  }

  removeWish(endpointId: string): void {
    this.#store.removeWish(endpointId);
    this.#endShortage(endpointId);
  }

  /** Says whether an endpoint still wants workers or has some. */
  isKnown(endpointId: string): boolean {
    return this.#store.wishes.has(endpointId) || this.#store.workersOf(endpointId).length > 0;
  }

  /** The endpoint gives workers no more jobs in these stints. */
  letGo(endpointId: string, stints: readonly string[], now: number): void {
    for (const stint of stints) {
      const worker = this.#store.workers.get(workerOfStint(stint));
      if (worker?.endpointId !== endpointId || !isActive(worker) || stintOf(worker) !== stint) continue;
      if (this.#standbys.keep(worker, now)) this.#changed.add(endpointId);
      else this.#retire(worker);
    }
    this.#revisions.endStep();
  }

  /** Requests wait for these very workers, if they are on standby in these stints. */
  resume(endpointId: string, stints: readonly string[]): void {
    const asked = stints.filter((stint) => {
      const worker = this.#store.standbys.get(workerOfStint(stint));
      return worker?.endpointId === endpointId && stintOf(worker) === stint;
    });
    if (asked.length > 0) this.#resuming.set(endpointId, asked);
    else this.#resuming.delete(endpointId);
  }

  /**
   * Why the endpoint has fewer workers than it wants, and how many fewer; those of an older release count until
   * they are replaced.
   */
  shortageOf(endpointId: string): ShownShortage {
    const short = this.#short.get(endpointId);
    const wanted = this.#store.wishes.get(endpointId)?.wanted ?? 0;
    if (!short) return { missing: 0, shortage: null };
    const staying = this.#stayingOf(endpointId);
    const { shortage, roomBy } = short;
    const lacking = Math.min(short.missing, Math.max(0, wanted - staying.length));
    const isRolling = staying.some(({ version }) => version < short.wish.config.version);
    return {
      missing: lacking,
      shortage: lacking > 0 ? shortage : null,
      ...(isRolling && { rollShortage: { shortage, roomBy } }),
    };
  }

  /** Endpoints whose workers or shortage a plan has changed since this was last asked. */
  takeChangedEndpoints(): ReadonlySet<string> {
    const changed = this.#changed;
    this.#changed = new Set();
    return changed;
  }

  /** Retires what the endpoint should not have; returns what it lacks, if anything. */
  #settle(endpointId: string, now: number): PlacedNeed | undefined {
    const wish = this.#store.wishes.get(endpointId);
    for (const worker of this.#standbys.unwanted(endpointId, now)) this.#retire(worker);
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
      wish && { wanted: wish.wanted, ...wish.config },
    );
    const retired = new Set(plan.retire);
    for (const worker of workers) if (retired.has(worker.workerId)) this.#retire(worker);
    if (!wish || plan.add === 0) {
      this.#endShortage(endpointId);
      return undefined;
    }
    const known = this.#short.get(endpointId);
    // What it gave way for is remembered until the wish is another.
    const least = Math.max(plan.rank.least, known?.wish === wish ? known.least : 0);
    return needOf(wish, { missing: plan.add, ...plan.rank, least, since: known?.since ?? now });
  }

  /** Before any worker is placed: who is asked for by name counts among those that are wanted. */
  #resume(endpointId: string, now: number): void {
    const config = this.#store.wishes.get(endpointId)?.config;
    const stints = this.#resuming.get(endpointId) ?? [];
    const most = (config?.workersMax ?? 0) - this.#stayingOf(endpointId).length;
    const pool = config && this.#pools.of(config.accountId);
    if (pool && this.#standbys.resume(endpointId, stints, { pool, most, now })) this.#changed.add(endpointId);
    this.resume(endpointId, stints); // less those that run now
  }

  /** What endpoints lack that are not settled now, though hosts that may have room for it have changed. */
  #shortNeeds(
    settled: ReadonlySet<string>,
    changedHosts: ReadonlyMap<string, ReadonlySet<string>>,
    now: number,
  ): PlacedNeed[] {
    return [...this.#short].flatMap(([endpointId, short]) => {
      const hasOldWords = this.#oldWords.has(endpointId) && now - short.foundAt >= SHORTAGE_WORDS_MS;
      const isDue = changedHosts.has(short.accountId) || hasOldWords;
      const wish = isDue && !settled.has(endpointId) ? this.#store.wishes.get(endpointId) : undefined;
      const among = changedHosts.get(short.accountId) ?? NO_HOSTS;
      return wish ? [{ ...needOf(wish, short), among }] : [];
    });
  }

  #stayingOf(endpointId: string): readonly WorkerRecord[] {
    return this.#store.workersOf(endpointId).filter(isActive);
  }

  #placeAll(accountId: string, needs: readonly PlacedNeed[], now: number): void {
    const pool = this.#pools.of(accountId);
    const byEndpoint = new Map(needs.map((need) => [need.endpointId, need]));
    const missing = new Map(needs.map(({ endpointId, wanted, has }) => [endpointId, wanted - has]));
    const place = ({ endpointId }: Need) => {
      const need = byEndpoint.get(endpointId);
      if (!need) return false;
      const isRevived = this.#standbys.revive(endpointId, pool, now);
      const found = isRevived ? undefined : pool.take(need.wish.config, need.among);
      if (found) this.#add(need.wish, found, now);
      else if (!isRevived) return false;
      this.#changed.add(endpointId);
      missing.set(endpointId, (missing.get(endpointId) ?? 0) - 1);
      return true;
    };
    for (const canWait of [false, true]) {
      serveFairly(
        needs.filter((need) => need.canWait === canWait),
        place,
      );
    }
    for (const need of needs) {
      const count = missing.get(need.endpointId) ?? 0;
      if (count > 0) this.#noteShort(need, count, pool, now);
      else this.#endShortage(need.endpointId);
    }
  }

  /** A worker that keeps failing is tried elsewhere, if there is room. */
  #moveFailing(endpointIds: ReadonlySet<string>, now: number): void {
    for (const endpointId of endpointIds) this.#moveFailingOf(endpointId, now);
  }

  #moveFailingOf(endpointId: string, now: number): void {
    const wish = this.#store.wishes.get(endpointId);
    if (!wish || wish.wanted === 0) return;
    for (const worker of this.#store.workersOf(endpointId)) {
      const isCurrent = isActive(worker) && worker.version === wish.config.version;
      if (!isCurrent || !shallMove(worker, now)) continue;
      const moves = movesAfter(worker, now);
      const place = this.#pools
        .of(wish.config.accountId)
        .take(wish.config, undefined, new Set(moves.hostIds));
      if (!place) continue;
      this.#retire(worker);
      this.#add(wish, place, now, moves);
    }
  }

  #add(
    { config }: WishRecord,
    { hostId, gpuIndexes, size }: Place,
    now: number,
    moves: Moves | null = null,
  ): void {
    const { endpointId, version } = config;
    this.#store.saveWorker({
      workerId: randomId((count) => crypto.getRandomValues(new Uint8Array(count))),
      endpointId,
      hostId,
      version,
      gpuIndexes,
      state: "starting",
      detail: null,
      createdAt: now,
      retiredIn: null,
      start: null,
      size,
      standbyAt: null,
      revivals: 0,
      revivedAt: null,
      imageDigest: null,
      failing: null,
      moves,
    });
    this.#standbys.crowd(hostId);
    this.#revisions.touch(hostId);
  }

  #noteShort(need: PlacedNeed, missing: number, pool: HostPool, now: number): void {
    const { endpointId, wish, since, least, canWait } = need;
    const { accountId } = wish.config;
    const known = this.#short.get(endpointId);
    const roomBy = roomMakersOf(this.#store, wish.config, pool);
    if (JSON.stringify(known?.roomBy) !== JSON.stringify(roomBy)) this.#changed.add(endpointId);
    const isFresh =
      known && known.wish === wish && known.epoch === pool.epoch && now - known.foundAt < SHORTAGE_WORDS_MS;
    if (isFresh) {
      this.#oldWords.add(endpointId);
      if (known.missing !== missing) this.#changed.add(endpointId);
      this.#short.set(endpointId, { ...known, missing, least, canWait, roomBy });
      return;
    }
    const shortage = explainShortage(wish.config, pool.rooms);
    const isSame = known?.missing === missing && known.shortage.detail === shortage.detail;
    if (!isSame) this.#changed.add(endpointId);
    this.#oldWords.delete(endpointId);
    const found = { foundAt: now, epoch: pool.epoch };
    const rank = { least, canWait };
    this.#short.set(endpointId, { accountId, wish, shortage, missing, since, roomBy, ...rank, ...found });
  }

  #endShortage(endpointId: string): void {
    this.#oldWords.delete(endpointId);
    if (this.#short.delete(endpointId)) this.#changed.add(endpointId);
  }

  /** Its room is free when its agent lists it no more. */
  #retire(worker: WorkerRecord): void {
    const retiredIn = this.#revisions.touch(worker.hostId);
    this.#store.saveWorker({ ...worker, state: "stopping", detail: null, retiredIn });
    this.#changed.add(worker.endpointId);
  }
}

function isActive({ retiredIn, standbyAt }: WorkerRecord): boolean {
  return retiredIn === null && standbyAt === null;
}

function needOf(
  wish: WishRecord,
  { missing, least, canWait, since }: Rank & Pick<Short, "missing" | "since">,
): PlacedNeed {
  const { endpointId } = wish.config;
  return { endpointId, has: wish.wanted - missing, least, canWait, wanted: wish.wanted, since, wish };
}
