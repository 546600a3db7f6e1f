/** SQL of the tables of the Fleet object, with copies of these small tables in memory. */
import type { Inventory, WorkerState } from "../contract/agent/agent.ts";
import type { EndpointConfig } from "../contract/endpoint.ts";
import type { HostPrice } from "../domain/costs/host-price.ts";
import type { Place } from "../domain/placement/host-pool.ts";
import type { Allocation, Size } from "../domain/placement/host-capacity.ts";
import type { Failing, Moves } from "../domain/placement/worker-moves.ts";
import type { WorkerStart } from "../domain/jobs/worker-start.ts";
import type { ObjectDatabase } from "../durable/sql.ts";

export type HostRecord = {
  readonly hostId: string;
  readonly accountId: string;
  readonly name: string;
  readonly agentVersion: string;
  /** Its free disk is as of when the host had no workers. */
  readonly inventory: Inventory;
  readonly revision: number;
  /** Gets no new workers. */
  readonly isCordoned: boolean;
  /** Loses its present workers as well. */
  readonly isDrained: boolean;
  readonly removedAt: number | null;
  /** Since when a host that has pods has been lost; null for one that is there, or has none. */
  readonly awaySince: number | null;
  /** As its owner has set it; null for nominal prices. */
  readonly price: HostPrice | null;
};

export type WorkerRecord = {
  readonly workerId: string;
  readonly endpointId: string;
  readonly hostId: string;
  readonly version: number;
  readonly gpuIndexes: readonly number[];
  readonly state: WorkerState;
  readonly detail: string | null;
  readonly createdAt: number;
  readonly retiredIn: number | null;
  /** When it came up, as far as its agent has reported. */
  readonly start: WorkerStart | null;
  /** What it takes of its host beside GPUs; null for workers stored before sizes were. */
  readonly size: Size | null;
  /** Since when it is on standby; null for one that runs. */
  readonly standbyAt: number | null;
  readonly revivals: number;
  /**
   * When it last ran again after standby, or after its host was away, or at another price; of a pod also when its
   * container first ran.
   */
  readonly revivedAt: number | null;
  readonly imageDigest: string | null;
  /** As last reported by its agent; not stored. */
  readonly failing: Failing | null;
  readonly moves: Moves | null;
  /** It is the container of a pod: both its own id and that of its endpoint are the id of the pod. */
  readonly isPod: boolean;
  /** What the last version of a pod had beside this one's, until its host runs this one; null for nothing. */
  readonly leaving: Pick<Place, "gpuIndexes" | "size"> | null;
  /** When it was first ready since it was placed or revived; null for one that was not. */
  readonly readyAt: number | null;
};

type NewWorker = Pick<WorkerRecord, "workerId" | "endpointId" | "version"> &
  Partial<Pick<WorkerRecord, "moves" | "isPod" | "leaving">>;

/** A worker at a place of its own that its host shall start. `now`: ms of the epoch. */
export function newWorker(worker: NewWorker, { hostId, gpuIndexes, size }: Place, now: number): WorkerRecord {
  return {
    ...{ hostId, gpuIndexes, size },
    ...{ state: "starting", detail: null, createdAt: now, retiredIn: null, start: null },
    ...{ standbyAt: null, revivals: 0, revivedAt: null, imageDigest: null, failing: null },
    ...{ moves: null, isPod: false, leaving: null, readyAt: null },
    ...worker,
  };
}

export type DesiredWorkersRecord = { readonly desired: number; readonly config: EndpointConfig };

export class FleetStore {
  readonly hosts = new Map<string, HostRecord>();
  readonly workers = new Map<string, WorkerRecord>();
  readonly desiredWorkers = new Map<string, DesiredWorkersRecord>();
  /** Endpoints that have not received the latest report of their workers. */
  readonly unsent = new Set<string>();
  /** Workers on standby that are not being removed. */
  readonly standbys = new Map<string, WorkerRecord>();
  /** Workers that are being removed: what they take is free soon. */
  readonly retired = new Map<string, WorkerRecord>();
  readonly #byEndpoint = new Map<string, Map<string, WorkerRecord>>();
  readonly #byHost = new Map<string, Map<string, WorkerRecord>>();
  readonly #database: ObjectDatabase;
  /** Grows with everything that costs may depend on. */
  changes = 0;

  constructor(database: ObjectDatabase) {
    this.#database = database;
  }

  load(): void {
    for (const host of this.#readHosts()) this.hosts.set(host.hostId, host);
    for (const worker of this.#readWorkers()) this.#remember(worker);
    const desired = this.#database.all<{ desired: number; config: string }>`
      SELECT desired, config FROM desired_workers`;
    for (const row of desired) {
      const config = JSON.parse(row.config) as EndpointConfig;
      this.desiredWorkers.set(config.endpointId, { desired: row.desired, config });
    }
    const unsent = this.#database.all<{ endpointId: string }>`SELECT endpoint_id AS endpointId FROM unsent`;
    for (const { endpointId } of unsent) this.unsent.add(endpointId);
  }

  #readHosts(): HostRecord[] {
    const rows = this.#database.all<HostRow>`
      SELECT host_id AS hostId, account_id AS accountId, name, agent_version AS agentVersion, inventory, revision,
             cordoned AS isCordoned, drained AS isDrained, removed_at AS removedAt, away_since AS awaySince, price
        FROM host`;
    return rows.map(toHost);
  }

  #readWorkers(): WorkerRecord[] {
    const rows = this.#database.all<WorkerRow>`
      SELECT worker_id AS workerId, endpoint_id AS endpointId, host_id AS hostId, version,
             gpu_indexes AS gpuIndexes, state, detail, created_at AS createdAt, retired_in AS retiredIn, start, size,
             standby_at AS standbyAt, revivals, revived_at AS revivedAt, image_digest AS imageDigest, moves,
             is_pod AS isPod, leaving, ready_at AS readyAt
        FROM worker`;
    return rows.map(toWorker);
  }

  saveHost(host: HostRecord): void {
    this.changes += 1;
    this.hosts.set(host.hostId, host);
    this.#database.run`
      INSERT OR REPLACE INTO host
        (host_id, account_id, agent_version, inventory, revision, name, cordoned, drained, removed_at, away_since,
         price)
      VALUES (${host.hostId}, ${host.accountId}, ${host.agentVersion}, ${JSON.stringify(host.inventory)},
              ${host.revision}, ${host.name}, ${host.isCordoned}, ${host.isDrained}, ${host.removedAt},
              ${host.awaySince}, ${host.price && JSON.stringify(host.price)})`;
  }

  removeHost(hostId: string): void {
    this.hosts.delete(hostId);
    this.#database.run`DELETE FROM host WHERE host_id = ${hostId}`;
  }

  saveWorker(worker: WorkerRecord): void {
    this.changes += 1;
    this.#remember(worker);
    const { start, size, moves, leaving } = worker;
    this.#database.run`
      INSERT OR REPLACE INTO worker
        (worker_id, endpoint_id, host_id, version, gpu_indexes, state, detail, created_at, retired_in,
         start, size, standby_at, revivals, revived_at, image_digest, moves, is_pod, leaving, ready_at)
      VALUES (${worker.workerId}, ${worker.endpointId}, ${worker.hostId}, ${worker.version},
              ${JSON.stringify(worker.gpuIndexes)}, ${worker.state}, ${worker.detail}, ${worker.createdAt},
              ${worker.retiredIn}, ${start && JSON.stringify(start)}, ${size && JSON.stringify(size)},
              ${worker.standbyAt}, ${worker.revivals}, ${worker.revivedAt}, ${worker.imageDigest},
              ${moves && JSON.stringify(moves)}, ${worker.isPod}, ${leaving && JSON.stringify(leaving)},
              ${worker.readyAt})`;
  }

  /** Updates only what is not stored. */
  rememberWorker(worker: WorkerRecord): void {
    this.#remember(worker);
  }

  removeWorker(workerId: string, now: number): void {
    this.changes += 1;
    const worker = this.workers.get(workerId);
    this.workers.delete(workerId);
    this.standbys.delete(workerId);
    this.retired.delete(workerId);
    if (worker) {
      const { endpointId, hostId } = worker;
      removeFrom(this.#byEndpoint, endpointId, workerId);
      removeFrom(this.#byHost, hostId, workerId);
      this.#database.run`
        INSERT OR REPLACE INTO gone_worker (worker_id, endpoint_id, host_id, gone_at)
        VALUES (${workerId}, ${endpointId}, ${hostId}, ${now})`;
    }
    this.#database.run`DELETE FROM worker WHERE worker_id = ${workerId}`;
  }

  /** Whether the host has the worker of the endpoint, or had it a while ago. */
  isOrWasOn(
    hostId: string,
    { workerId, endpointId }: Pick<WorkerRecord, "workerId" | "endpointId">,
  ): boolean {
    const worker = this.workers.get(workerId);
    if (worker?.hostId === hostId) return worker.endpointId === endpointId;
    const gone = this.#database.all`
      SELECT worker_id FROM gone_worker
       WHERE worker_id = ${workerId} AND endpoint_id = ${endpointId} AND host_id = ${hostId}`;
    return gone.length > 0;
  }

  /** Forgets workers that were removed before this time. */
  forgetGone(before: number): void {
    this.#database.run`DELETE FROM gone_worker WHERE gone_at < ${before}`;
  }

  saveDesiredWorkers(record: DesiredWorkersRecord): void {
    const { desired, config } = record;
    this.desiredWorkers.set(config.endpointId, record);
    this.#database.run`
      INSERT OR REPLACE INTO desired_workers (endpoint_id, desired, config)
      VALUES (${config.endpointId}, ${desired}, ${JSON.stringify(config)})`;
  }

  removeDesiredWorkers(endpointId: string): void {
    this.desiredWorkers.delete(endpointId);
    this.#database.run`DELETE FROM desired_workers WHERE endpoint_id = ${endpointId}`;
  }

  addUnsent(endpointId: string): void {
    if (this.unsent.has(endpointId)) return;
    this.unsent.add(endpointId);
    this.#database.run`INSERT OR IGNORE INTO unsent (endpoint_id) VALUES (${endpointId})`;
  }

  removeUnsent(endpointId: string): void {
    this.unsent.delete(endpointId);
    this.#database.run`DELETE FROM unsent WHERE endpoint_id = ${endpointId}`;
  }

  workersOf(endpointId: string): WorkerRecord[] {
    return [...(this.#byEndpoint.get(endpointId)?.values() ?? [])];
  }

  workersOn(hostId: string): WorkerRecord[] {
    return [...(this.#byHost.get(hostId)?.values() ?? [])];
  }

  countWorkersOn(hostId: string): number {
    return this.#byHost.get(hostId)?.size ?? 0;
  }

  /** Ids of hosts that have workers. */
  busyHosts(): string[] {
    return [...this.#byHost.keys()];
  }

  /** Neither the endpoint nor the host of a worker changes as long as it has a row. */
  #remember(worker: WorkerRecord): void {
    this.workers.set(worker.workerId, worker);
    if (worker.standbyAt !== null && worker.retiredIn === null) this.standbys.set(worker.workerId, worker);
    else this.standbys.delete(worker.workerId);
    if (worker.retiredIn === null) this.retired.delete(worker.workerId);
    else this.retired.set(worker.workerId, worker);
    addTo(this.#byEndpoint, worker.endpointId, worker);
    addTo(this.#byHost, worker.hostId, worker);
  }
}

/** It runs, and is not being removed. */
export function isActive({ retiredIn, standbyAt }: WorkerRecord): boolean {
  return retiredIn === null && standbyAt === null;
}

/** What these workers take of their host. */
export function allocationsOf(workers: readonly WorkerRecord[]): readonly Allocation[] {
  return workers.flatMap((worker) => (worker.leaving ? [worker, worker.leaving] : [worker]));
}

type Groups = Map<string, Map<string, WorkerRecord>>;

function addTo(groups: Groups, key: string, worker: WorkerRecord): void {
  const group = groups.get(key);
  if (group) group.set(worker.workerId, worker);
  else groups.set(key, new Map([[worker.workerId, worker]]));
}

function removeFrom(groups: Groups, key: string, workerId: string): void {
  const group = groups.get(key);
  group?.delete(workerId);
  if (group?.size === 0) groups.delete(key);
}

type HostRow = Omit<HostRecord, "inventory" | "price" | "isCordoned" | "isDrained"> &
  Readonly<
    Record<"inventory", string> & Record<"price", string | null> & Record<"isCordoned" | "isDrained", number>
  >;

/** A worker whose lists and records are JSON. */
type WorkerRow = Omit<WorkerRecord, WorkerJson | "gpuIndexes" | "failing" | "isPod"> &
  Readonly<Record<"gpuIndexes", string> & Record<WorkerJson, string | null> & Record<"isPod", number>>;
type WorkerJson = "start" | "size" | "moves" | "leaving";

function toHost(row: HostRow): HostRecord {
  return {
    ...row,
    inventory: JSON.parse(row.inventory) as Inventory,
    isCordoned: row.isCordoned !== 0,
    isDrained: row.isDrained !== 0,
    price: parse<HostPrice>(row.price),
  };
}

function toWorker(row: WorkerRow): WorkerRecord {
  return {
    ...row,
    gpuIndexes: JSON.parse(row.gpuIndexes) as number[],
    start: parse<WorkerStart>(row.start),
    size: parse<Size>(row.size),
    failing: null,
    moves: parse<Moves>(row.moves),
    isPod: row.isPod !== 0,
    leaving: parse<NonNullable<WorkerRecord["leaving"]>>(row.leaving),
  };
}

function parse<Value>(json: string | null): Value | null {
  return json === null ? null : (JSON.parse(json) as Value);
}
