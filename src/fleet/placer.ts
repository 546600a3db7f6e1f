/**
 * Carries out what the domain decides about workers, and remembers whom a change concerns.
 *
 * An endpoint is planned when its wish or its workers have changed; one that is short of workers also when hosts
 * of its account have. A plan writes one row for each worker and one for each host that it changes.
 */
import { serveFairly, type Need } from "../domain/fair-turns.ts";
import { planWorkers } from "../domain/fleet-plan.ts";
import { type Moves, movesAfter, shallMove } from "../domain/other-host.ts";
import type { HostPool, Place, Shortage } from "../domain/placement.ts";
import { SHORTAGE_WORDS_MS } from "../contract/limits.ts";
import { explainShortage } from "../domain/shortage.ts";
import type { FleetStore, WishRecord, WorkerRecord } from "./fleet-store.ts";
import type { HostPools } from "./host-pools.ts";
import type { HostRevisions } from "./host-revisions.ts";

type PlacedNeed = Need & {
  readonly wish: WishRecord;
  /** The hosts that may have room; absent for all. */
  readonly among?: ReadonlySet<string>;
};

const NO_HOSTS: ReadonlySet<string> = new Set();

type Short = {
  readonly accountId: string;
  readonly wish: WishRecord;
  readonly shortage: Shortage;
  readonly missing: number;
  readonly since: number;
  /** When the words were found, and of which hosts they tell. */
  readonly foundAt: number;
  readonly epoch: number;
};

export class Placer {
  readonly #store: FleetStore;
  readonly #pools: HostPools;
  readonly #revisions: HostRevisions;
  readonly #short = new Map<string, Short>();
  /** Endpoints whose shortage may have other reasons by now. */
  readonly #oldWords = new Set<string>();
  #stale = new Set<string>();
  #changed = new Set<string>();

  constructor(store: FleetStore, pools: HostPools, revisions: HostRevisions) {
    this.#store = store;
    this.#pools = pools;
    this.#revisions = revisions;
  }

  /** The endpoint's wish or one of its workers has changed. */
  review(endpointId: string): void {
    this.#stale.add(endpointId);
  }

  /** To be called once, when the store is loaded. */
  reviewAll(): void {
    for (const endpointId of this.#store.wishes.keys()) this.#stale.add(endpointId);
    for (const { endpointId } of this.#store.workers.values()) this.#stale.add(endpointId);
  }

  /** Brings the workers in step with the wishes. Without a change it does nothing. */
  plan(now: number, isPresent: (hostId: string) => boolean): void {
    const changedHosts = this.#pools.refresh(isPresent);
    const endpointIds = this.#stale;
    this.#stale = new Set();
    if (endpointIds.size === 0 && changedHosts.size === 0 && this.#oldWords.size === 0) return;

    this.#moveFailing(endpointIds, now);
    const needs = [...endpointIds].flatMap((endpointId) => this.#settle(endpointId, now) ?? []);
    for (const [endpointId, short] of this.#short) {
      const hasOldWords = this.#oldWords.has(endpointId) && now - short.foundAt >= SHORTAGE_WORDS_MS;
      const isDue = changedHosts.has(short.accountId) || hasOldWords;
      const wish = isDue && !endpointIds.has(endpointId) ? this.#store.wishes.get(endpointId) : undefined;
      const among = changedHosts.get(short.accountId) ?? NO_HOSTS;
      if (wish) needs.push({ ...needOf(wish, short.missing, short.since), among });
    }
    const byAccount = Map.groupBy(needs, ({ wish }) => wish.config.accountId);
    for (const [accountId, ofAccount] of byAccount) this.#placeAll(accountId, ofAccount, now);
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

  /** The endpoint gives these workers no more jobs. */
  letGo(endpointId: string, workerIds: readonly string[]): void {
    for (const workerId of workerIds) {
      const worker = this.#store.workers.get(workerId);
      if (worker?.endpointId === endpointId && worker.retiredIn === null) this.#retire(worker);
    }
    this.#revisions.endStep();
  }

  /** Why the endpoint has fewer workers than it wants, and how many fewer. */
  shortageOf(endpointId: string): { readonly shortage: Shortage | null; readonly missing: number } {
    const short = this.#short.get(endpointId);
    return { missing: short?.missing ?? 0, shortage: short?.shortage ?? null };
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
    const active = this.#store.workersOf(endpointId).filter((worker) => worker.retiredIn === null);
    const plan = planWorkers(
      active.map((worker) => ({
        ...worker,
        isDrained: this.#store.hosts.get(worker.hostId)?.isDrained ?? false,
      })),
      wish?.wanted ?? 0,
      wish?.config.version ?? -1,
    );
    const retired = new Set(plan.retire);
    for (const worker of active) if (retired.has(worker.workerId)) this.#retire(worker);
    if (!wish || plan.add === 0) {
      this.#endShortage(endpointId);
      return undefined;
    }
    return needOf(wish, plan.add, this.#short.get(endpointId)?.since ?? now);
  }

  #placeAll(accountId: string, needs: readonly PlacedNeed[], now: number): void {
    const pool = this.#pools.of(accountId);
    const byEndpoint = new Map(needs.map((need) => [need.endpointId, need]));
    const missing = new Map(needs.map(({ endpointId, wanted, has }) => [endpointId, wanted - has]));
    serveFairly(needs, ({ endpointId }) => {
      const need = byEndpoint.get(endpointId);
      const place = need && pool.take(need.wish.config, need.among);
      if (!place) return false;
      this.#add(need.wish, place, now);
      missing.set(endpointId, (missing.get(endpointId) ?? 0) - 1);
      return true;
    });
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
      const isCurrent = worker.retiredIn === null && worker.version === wish.config.version;
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
      workerId: newWorkerId(),
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
      imageDigest: null,
      failing: null,
      moves,
    });
    this.#changed.add(endpointId);
    this.#revisions.touch(hostId);
  }

  #noteShort({ endpointId, wish, since }: PlacedNeed, missing: number, pool: HostPool, now: number): void {
    const { accountId } = wish.config;
    const known = this.#short.get(endpointId);
    const isFresh =
      known && known.wish === wish && known.epoch === pool.epoch && now - known.foundAt < SHORTAGE_WORDS_MS;
    if (isFresh) {
      this.#oldWords.add(endpointId);
      if (known.missing !== missing) this.#changed.add(endpointId);
      this.#short.set(endpointId, { ...known, missing });
      return;
    }
    const shortage = explainShortage(wish.config, pool.rooms);
    const isSame = known?.missing === missing && known.shortage.detail === shortage.detail;
    if (!isSame) this.#changed.add(endpointId);
    this.#oldWords.delete(endpointId);
    const found = { foundAt: now, epoch: pool.epoch };
    this.#short.set(endpointId, { accountId, wish, shortage, missing, since, ...found });
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

function needOf(wish: WishRecord, missing: number, since: number): PlacedNeed {
  const { endpointId, workersMin } = wish.config;
  return { endpointId, has: wish.wanted - missing, least: workersMin, wanted: wish.wanted, since, wish };
}

/** 14 lowercase letters and digits, as clients know worker ids. */
function newWorkerId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(14));
  return [...bytes].map((byte) => (byte % 36).toString(36)).join("");
}
