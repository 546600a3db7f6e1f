/** Which workers of other endpoints make a place for one that waits, and whether they give way now or later. */
import type { HostCapacity } from "../../domain/placement/host-capacity.ts";
import {
  findRemoval,
  type OccupiedHost,
  type Removable,
  type Removal,
} from "../../domain/placement/removal.ts";
import { epochOf, workerOfEpoch } from "../../domain/placement/standby.ts";
import { giveWayAt, SLICE_MIN_MS, sliceMsOf, type Claimant } from "../../domain/placement/shares.ts";
import type { CapacityStatement } from "../../durable/ports.ts";
import { earliest } from "../../std/earliest.ts";
import {
  allocationsOf,
  isActive,
  type DesiredWorkersRecord,
  type FleetStore,
  type WorkerRecord,
} from "../fleet-store.ts";
import type { HostPools } from "../hosts/host-pools.ts";
import type { PromisedPlaces } from "../pods/promised-places.ts";

/** Hosts that are searched for a place: those with the workers that are the first to give way. */
const HOSTS_PER_PLACE_MAX = 64;

export type Mode = "whenFree" | "afterJobs";
/** A worker that may give way. */
export type Candidate = Removable & { readonly worker: WorkerRecord; readonly mode: Mode };

type SearchParts = {
  readonly store: FleetStore;
  readonly pools: HostPools;
  readonly promised: PromisedPlaces;
  readonly contenders: ReadonlyMap<string, Claimant>;
  readonly statements: ReadonlyMap<string, CapacityStatement>;
  /** As the plan before left it: the same workers are asked again. */
  readonly asked: ReadonlyMap<string, Mode>;
};

/** For whom, and endpoints of which workers with jobs give way. */
type Terms = { readonly claimant: Claimant; readonly busy: ReadonlySet<string> };

const NONE: ReadonlySet<string> = new Set();

/** One search for places; what it has found for one endpoint is not there for the next. */
export class GiveWaySearch {
  /** Workers with jobs may give way as well. */
  takesBusy = false;
  readonly asked = new Map<string, Mode>();
  /** When a worker may give way that may not yet. */
  reviewAt: number | null = null;
  readonly #parts: SearchParts;
  readonly #now: number;
  readonly #taken = new Map<string, OccupiedHost<Removable>["staying"]>();
  /** How many workers each endpoint gives up. */
  readonly #given = new Map<string, number>();

  constructor(parts: SearchParts, now: number) {
    this.#parts = parts;
    this.#now = now;
  }

  /** The workers that make a place for the claimant; undefined where none can be made now. */
  placeFor(claimant: Claimant, { config }: DesiredWorkersRecord): readonly Candidate[] | undefined {
    const pool = this.#parts.pools.of(config.accountId);
    const find = (workers: readonly WorkerRecord[], busy: ReadonlySet<string>) => {
      const hosts = [...new Set(workers.map(({ hostId }) => hostId))]
        .flatMap((hostId) => pool.capacityOf(hostId) ?? [])
        .flatMap((capacity) => this.#occupied(capacity, { claimant, busy }))
        .toSorted((a, b) => bestOf(a) - bestOf(b))
        .slice(0, HOSTS_PER_PLACE_MAX);
      return findRemoval(config, hosts);
    };
    const spare = this.#spareWorkers();
    let found = find(spare, NONE);
    if (!found && this.takesBusy) {
      const busy = this.#busyFor(claimant);
      const workers = [...busy].flatMap((endpointId) => this.#parts.store.workersOf(endpointId));
      if (workers.length > 0) found = find([...spare, ...workers], busy);
    }
    if (!found || found.removed.length === 0) return undefined; // what is being freed is promised already, or enough
    this.#take(found);
    return found.removed;
  }

  #take({ place, removed }: Removal<Candidate>): void {
    this.#taken.set(place.hostId, [...(this.#taken.get(place.hostId) ?? []), place]);
    for (const { worker, mode } of removed) {
      this.asked.set(worker.workerId, mode);
      this.#given.set(worker.endpointId, this.#givenBy(worker.endpointId) + 1);
    }
  }

  #givenBy(endpointId: string): number {
    return this.#given.get(endpointId) ?? 0;
  }

  #spareWorkers(): readonly WorkerRecord[] {
    const epochs = [...this.#parts.statements.values()].flatMap(({ spare }) => spare);
    return epochs.flatMap(([epoch]) => this.#parts.store.workers.get(workerOfEpoch(epoch)) ?? []);
  }

  /** Endpoints whose workers give way to the claimant by now, once their slices of time are over. */
  #busyFor(claimant: Claimant): ReadonlySet<string> {
    const ids = new Set<string>();
    for (const holder of this.#parts.contenders.values()) {
      if (holder.units === 0 || holder.endpointId === claimant.endpointId) continue;
      const present = { ...holder, has: holder.has - this.#givenBy(holder.endpointId), readyAt: 0 };
      const at = giveWayAt(present, claimant, SLICE_MIN_MS, this.#now);
      if (at === null) continue;
      if (at <= this.#now) ids.add(holder.endpointId);
      else this.reviewAt = earliest([this.reviewAt, at]);
    }
    return ids;
  }

  #occupied({ host }: HostCapacity, terms: Terms): readonly OccupiedHost<Candidate>[] {
    const { store, promised } = this.#parts;
    const workers = store
      .workersOn(host.hostId)
      .filter((worker) => worker.retiredIn === null && !this.asked.has(worker.workerId));
    const candidates = workers.flatMap((worker) => this.#candidate(worker, terms) ?? []);
    const removable = [...Map.groupBy(candidates, ({ worker }) => worker.endpointId)].flatMap(([id, own]) =>
      own.toSorted((a, b) => a.cost - b.cost || a.age - b.age).slice(0, this.#budgetOf(id)),
    );
    if (removable.length === 0) return [];
    const ids = new Set(removable.map(({ id }) => id));
    const staying = allocationsOf(workers.filter(({ workerId }) => !ids.has(workerId)));
    const taken = [...promised.on(host.hostId), ...(this.#taken.get(host.hostId) ?? [])];
    return [{ host, staying: [...staying, ...taken], removable }];
  }

  /** How many workers the endpoint may give up yet. */
  #budgetOf(endpointId: string): number {
    const { has = 0, least = 0 } = this.#parts.contenders.get(endpointId) ?? {};
    return Math.max(0, has - this.#givenBy(endpointId) - least);
  }

  #candidate(worker: WorkerRecord, { claimant, busy }: Terms): Candidate | undefined {
    const { endpointId } = worker;
    const holder = this.#parts.contenders.get(endpointId);
    if (!holder || worker.isPod || !isActive(worker) || endpointId === claimant.endpointId) return undefined;
    const { readyAt, startMs } = timesOf(worker, this.#now);
    const epoch = epochOf(worker);
    const spare = this.#parts.statements.get(endpointId)?.spare.find(([one]) => one === epoch);
    if (spare) return this.#from(readyAt + startMs, { worker, mode: "whenFree", age: spare[1] });
    if (!busy.has(endpointId) || worker.state !== "ready") return undefined;
    const present = { ...holder, has: holder.has - this.#givenBy(endpointId), readyAt };
    const at = giveWayAt(present, claimant, sliceMsOf(startMs), this.#now);
    return at === null ? undefined : this.#from(at, { worker, mode: "afterJobs", age: readyAt });
  }

  /** A candidate from `at` on. */
  #from(
    at: number,
    { worker, mode, age }: Pick<Candidate, "worker" | "mode" | "age">,
  ): Candidate | undefined {
    if (this.#now < at) {
      this.reviewAt = earliest([this.reviewAt, at]);
      return undefined;
    }
    const isAsked = this.#parts.asked.get(worker.workerId) === mode;
    const cost = COSTS[mode] - (isAsked ? 1 : 0);
    return { ...worker, id: worker.workerId, cost, age, worker, mode };
  }
}

/** A worker without a job is asked before one with jobs, and one that was asked before another one. */
const COSTS: Readonly<Record<Mode, number>> = { whenFree: 1, afterJobs: 3 };

function bestOf({ removable }: OccupiedHost<Removable>): number {
  return Math.min(...removable.map(({ cost }) => cost));
}

/** Since when it has been ready, epoch ms, and how long its container took for that; pulled images are there for the next one. */
function timesOf({ start, revivedAt, createdAt }: WorkerRecord, now: number) {
  const from = start?.containerStartedAt ?? revivedAt ?? createdAt;
  const readyAt = Math.min(now, start?.readyAt ?? from);
  return { readyAt, startMs: Math.max(0, readyAt - from) };
}
