/** Usage of hosts by workers, hour by hour. A past hour never changes. */
import type { Period } from "../domain/costs/budget.ts";
import type { UsedGpus, WorkerHour, WorkerLifetime } from "../domain/metrics/worker-usage.ts";
import { costWithin, VCPU, workerHours } from "../domain/metrics/worker-usage.ts";
import type { Inventory } from "../contract/agent/agent.ts";
import { nominalPrice, workerPrice } from "../domain/costs/host-price.ts";
import type { GpuPrices } from "../domain/costs/nominal-prices.ts";
import { cardsOf, cardsTaken } from "../domain/placement/gpu-memory.ts";
import type { FleetStore, HostRecord, WorkerRecord } from "./fleet-store.ts";
import type { PodStore } from "./pods/pod-store.ts";
import type { ObjectDatabase } from "../durable/sql.ts";
import { Spending } from "./spending.ts";

export type EndpointHour = WorkerHour & {
  /** Of the endpoint, or of the pod whose id is in its place; empty when Fleet no longer knows it. */
  readonly name: string;
};

const HOUR_MS = 3_600_000;

export class WorkerUsage {
  readonly #store: FleetStore;
  readonly #pods: PodStore;
  readonly #ended: UsageStore;

  readonly #gpuPrices: GpuPrices;

  constructor(store: FleetStore, pods: PodStore, ended: UsageStore, gpuPrices: GpuPrices) {
    this.#gpuPrices = gpuPrices;
    this.#store = store;
    this.#pods = pods;
    this.#ended = ended;
  }

  /** A worker ends, goes on standby or is lost with its host; to be called before that is stored, in the same turn. */
  ended(worker: WorkerRecord, now: number): void {
    const lifetime = this.#lifetimeOf(worker, now);
    if (lifetime && lifetime.to > lifetime.from) this.#ended.add(worker.workerId, lifetime);
  }

  /**
   * The host becomes this one, which is stored next in the same turn: its workers have cost what they did up to now.
   */
  repriced(next: HostRecord, now: number): void {
    const { hostId } = next;
    const host = this.#store.hosts.get(hostId);
    if (!host) return;
    for (const worker of this.#store.workersOn(hostId)) {
      const lifetime = this.#lifetimeOf(worker, now);
      if (!lifetime || lifetime.perHour === this.#priceOn(next, worker)) continue;
      this.ended(worker, now);
      this.#store.saveWorker({ ...worker, revivedAt: lifetime.to });
      if (!worker.isPod) this.#store.addUnsent(worker.endpointId);
    }
  }

  /** Dollars per hour. */
  priceOf(worker: WorkerRecord): number {
    const host = this.#store.hosts.get(worker.hostId);
    return host ? this.#priceOn(host, worker) : 0;
  }

  #priceOn({ inventory, price }: HostRecord, worker: WorkerRecord): number {
    const gpus = inventory.gpus.reduce((sum, gpu) => sum + cardsOf(gpu), 0);
    const host = { gpus, vcpus: inventory.cpuCount };
    return workerPrice(price, usedOf(worker, inventory), host, this.#gpuPrices);
  }

  /**
   * The hours from `since` to `until`, the present one as far as it has come. Endpoints that wait for workers are
   * there as well, with nothing.
   */
  hours(since: number, until: number, now: number): EndpointHour[] {
    const end = Math.min(until, now);
    const living = [...this.#store.workers.values()].flatMap((worker) => this.#lifetimeOf(worker, now) ?? []);
    const lifetimes = [...this.#ended.endedSince(since), ...living];
    const waiting = until > now ? this.#waiting(now) : [];
    return [...workerHours(lifetimes, since, end), ...waiting].map((hour) => ({
      ...hour,
      name: this.#nameOf(hour.endpointId),
    }));
  }

  /** Endpoints of which a worker ended at `since` or later. */
  endpointsSince(since: number): ReadonlySet<string> {
    return new Set(this.#ended.endedSince(since).map(({ endpointId }) => endpointId));
  }

  /** Workers that ended before this time are recorded elsewhere. */
  forgetBefore(before: number, now: number): void {
    this.#ended.forgetBefore(before, now);
  }

  /** To be called once, when the store is loaded. */
  load(): void {
    this.#ended.load();
  }

  /** Dollars in whole days, up to now, and per hour at present; of one endpoint or of all. */
  costsWithin(
    period: Period,
    endpointId: string | null,
    now: number,
  ): { readonly cost: number; readonly perHour: number } {
    const workers =
      endpointId === null ? [...this.#store.workers.values()] : this.#store.workersOf(endpointId);
    const lives = workers.flatMap((worker) => this.#lifetimeOf(worker, now) ?? []);
    return {
      cost: lives.reduce(
        (sum, life) => sum + costWithin(life, period.from, period.until),
        this.#ended.spending.within(period, endpointId),
      ),
      perHour: lives.reduce((sum, { perHour }) => sum + perHour, 0),
    };
  }

  #nameOf(id: string): string {
    return (this.#store.desiredWorkers.get(id) ?? this.#pods.get(id))?.config.name ?? "";
  }

  #waiting(at: number): WorkerHour[] {
    const hour = Math.floor(at / HOUR_MS) * HOUR_MS;
    return [...this.#store.desiredWorkers.values()]
      .filter(({ desired, config }) => desired > 0 && !this.#hasRunning(config.endpointId))
      .map(({ config: { endpointId, accountId } }) => ({
        endpointId,
        accountId,
        hour,
        workerMs: 0,
        gpus: [],
        versions: [],
      }));
  }

  #hasRunning(endpointId: string): boolean {
    return this.#store.workersOf(endpointId).some(({ standbyAt }) => standbyAt === null);
  }

  /** Undefined for a worker whose host is unknown or away, for one on standby, and for a pod that never ran. */
  #lifetimeOf(worker: WorkerRecord, now: number): WorkerLifetime | undefined {
    const { endpointId, hostId, version, createdAt, revivedAt, readyAt } = worker;
    const from = revivedAt ?? createdAt;
    const host = this.#store.hosts.get(hostId);
    if (!host || host.awaySince !== null || worker.standbyAt !== null) return undefined;
    if (worker.isPod && !worker.start?.containerStartedAt) return undefined;
    const gpus = usedOf(worker, host.inventory);
    const times = { from, to: Math.max(from, now), readyAt };
    const perHour = this.#priceOn(host, worker);
    return { endpointId, accountId: host.accountId, version, gpus, ...times, perHour };
  }
}

function usedOf({ gpuIndexes, size }: WorkerRecord, inventory: Inventory): UsedGpus[] {
  const taken = inventory.gpus.filter(({ index }) => gpuIndexes.includes(index));
  const gpus: UsedGpus[] = [...Map.groupBy(taken, ({ name }) => name)].map(([model, group]) => ({
    model,
    tier: group[0]?.tier ?? null,
    count: cardsTaken({ gpuIndexes, size }, group),
  }));
  if (gpus.length === 0 && size) gpus.push({ model: VCPU, tier: null, count: size.cpuMilli / 1_000 });
  return gpus;
}

// Ended workers, until their usage is stored elsewhere.

type EndedRow = Omit<WorkerLifetime, "gpus" | "perHour"> & {
  readonly gpus: string;
  readonly perHour: number | null;
};

export class UsageStore {
  readonly spending: Spending;
  readonly #database: ObjectDatabase;
  readonly #gpuPrices: GpuPrices;

  constructor(database: ObjectDatabase, gpuPrices: GpuPrices) {
    this.#database = database;
    this.#gpuPrices = gpuPrices;
    this.spending = new Spending(database);
  }

  load(): void {
    this.spending.load(this.#endedBetween(0, Infinity));
  }

  add(workerId: string, life: WorkerLifetime): void {
    const { endpointId, accountId, version, gpus, from, to, readyAt, perHour } = life;
    this.#database.run`
      INSERT OR REPLACE INTO ended_worker
        (ended_at, worker_id, endpoint_id, account_id, gpus, started_at, version, ready_at, per_hour)
      VALUES (${to}, ${workerId}, ${endpointId}, ${accountId}, ${JSON.stringify(gpus)}, ${from}, ${version},
              ${readyAt}, ${perHour})`;
    this.spending.add(life);
  }

  /** Workers that ended at `since` or later. */
  endedSince(since: number): WorkerLifetime[] {
    return this.#endedBetween(since, Infinity);
  }

  #endedBetween(since: number, until: number): WorkerLifetime[] {
    const rows = this.#database.all<EndedRow>`
      SELECT endpoint_id AS endpointId, account_id AS accountId, gpus, started_at AS "from", ended_at AS "to",
             version, ready_at AS readyAt, per_hour AS perHour
        FROM ended_worker WHERE ended_at >= ${since} AND ended_at < ${Math.min(until, Number.MAX_SAFE_INTEGER)}`;
    return rows.map((row) => {
      const gpus = JSON.parse(row.gpus) as UsedGpus[];
      return { ...row, gpus, perHour: row.perHour ?? nominalPrice(gpus, this.#gpuPrices) };
    });
  }

  forgetBefore(before: number, now: number): void {
    this.spending.fold(this.#endedBetween(0, before), now);
    this.#database.run`DELETE FROM ended_worker WHERE ended_at < ${before}`;
  }
}
