/**
 * Carries out what the domain decides about workers, and remembers whom a change concerns.
 *
 * An endpoint is planned when its wish or its workers have changed; one that is short of workers also when hosts
 * of its account have. A plan writes one row for each worker and one for each host that it changes.
 */
import { serveFairly, type Need } from "../domain/fair-turns.ts";
import { planWorkers } from "../domain/fleet-plan.ts";
import type { Place, Shortage } from "../domain/placement.ts";
import { explainShortage } from "../domain/shortage.ts";
import type { FleetStore, WishRecord, WorkerRecord } from "./fleet-store.ts";
import type { HostPools } from "./host-pools.ts";
import type { HostRevisions } from "./host-revisions.ts";

type Short = {
  readonly accountId: string;
  readonly shortage: Shortage;
  readonly missing: number;
  readonly since: number;
};

export class Placer {
  readonly #store: FleetStore;
  readonly #pools: HostPools;
  readonly #revisions: HostRevisions;
  readonly #short = new Map<string, Short>();
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
    const changedAccounts = this.#pools.refresh(isPresent);
    const endpointIds = this.#stale;
    this.#stale = new Set();
    for (const [endpointId, { accountId }] of this.#short) {
      if (changedAccounts.has(accountId)) endpointIds.add(endpointId);
    }
    if (endpointIds.size === 0) return;

    const needs = Map.groupBy(
      [...endpointIds].flatMap((endpointId) => this.#settle(endpointId, now) ?? []),
      ({ wish }) => wish.config.accountId,
    );
    for (const [accountId, ofAccount] of needs) this.#placeAll(accountId, ofAccount, now);
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
  #settle(endpointId: string, now: number): (Need & { readonly wish: WishRecord }) | undefined {
    const wish = this.#store.wishes.get(endpointId);
    const active = this.#store.workersOf(endpointId).filter((worker) => worker.retiredIn === null);
    const plan = planWorkers(
      active.map((worker) => ({
        ...worker,
        isReady: worker.state === "ready",
        isDrained: this.#store.hosts.get(worker.hostId)?.isDrained ?? false,
      })),
      wish?.wanted ?? 0,
      wish?.config.version ?? -1,
    );
    const retired = new Set(plan.retire);
    for (const worker of active) if (retired.has(worker.workerId)) this.#retire(worker);
    if (!wish || plan.add === 0) {
      if (this.#short.delete(endpointId)) this.#changed.add(endpointId);
      return undefined;
    }
    const { wanted } = wish;
    const since = this.#short.get(endpointId)?.since ?? now;
    return { endpointId, has: wanted - plan.add, least: wish.config.workersMin, wanted, since, wish };
  }

  #placeAll(accountId: string, needs: readonly (Need & { readonly wish: WishRecord })[], now: number): void {
    const pool = this.#pools.of(accountId);
    const wishes = new Map(needs.map(({ endpointId, wish }) => [endpointId, wish]));
    const missing = new Map(needs.map(({ endpointId, wanted, has }) => [endpointId, wanted - has]));
    serveFairly(needs, ({ endpointId }) => {
      const wish = wishes.get(endpointId);
      const place = wish && pool.take(wish.config);
      if (!place) return false;
      this.#add(wish, place, now);
      missing.set(endpointId, (missing.get(endpointId) ?? 0) - 1);
      return true;
    });
    const rooms = pool.rooms;
    for (const { endpointId, wish, since } of needs) {
      const count = missing.get(endpointId) ?? 0;
      if (count > 0) {
        const shortage = explainShortage(wish.config, rooms);
        this.#noteShort(endpointId, { accountId, shortage, missing: count, since });
      } else if (this.#short.delete(endpointId)) this.#changed.add(endpointId);
    }
  }

  #add({ config }: WishRecord, { hostId, gpuIndexes, size }: Place, now: number): void {
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
    });
    this.#changed.add(endpointId);
    this.#revisions.touch(hostId);
  }

  #noteShort(endpointId: string, short: Short): void {
    const known = this.#short.get(endpointId);
    this.#short.set(endpointId, short);
    const isSame = known?.missing === short.missing && known.shortage.detail === short.shortage.detail;
    if (!isSame) this.#changed.add(endpointId);
  }

  /** Its room is free when its agent lists it no more. */
  #retire(worker: WorkerRecord): void {
    const retiredIn = this.#revisions.touch(worker.hostId);
    this.#store.saveWorker({ ...worker, state: "stopping", detail: null, retiredIn });
    this.#changed.add(worker.endpointId);
  }
}

/** 14 lowercase letters and digits, as clients know worker ids. */
function newWorkerId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(14));
  return [...bytes].map((byte) => (byte % 36).toString(36)).join("");
}
