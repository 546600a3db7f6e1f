/** All SQL of the Fleet object, in front of copies of its small tables in memory. */
import type { Inventory, WorkerState } from "../contract/agent.ts";
import type { EndpointConfig } from "../contract/endpoint.ts";
import type { WorkerStart } from "../domain/timeline.ts";
import type { ObjectDatabase } from "../durable/sql.ts";

export type HostRecord = {
  readonly hostId: string;
  readonly accountId: string;
  readonly agentVersion: string;
  readonly inventory: Inventory;
  readonly revision: number;
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
  /** When it came up, as far as its agent has said. */
  readonly start: WorkerStart | null;
};

export type WishRecord = { readonly wanted: number; readonly config: EndpointConfig };

export class FleetStore {
  readonly hosts = new Map<string, HostRecord>();
  readonly workers = new Map<string, WorkerRecord>();
  readonly wishes = new Map<string, WishRecord>();
  /** Endpoints that have not heard the latest of their workers. */
  readonly unsent = new Set<string>();
  readonly #statements: ReturnType<typeof fleetStatements>;

  constructor(database: ObjectDatabase) {
    this.#statements = fleetStatements(database);
  }

  load(): void {
    for (const row of this.#statements.hosts.all({})) {
      this.hosts.set(row.host_id, {
        hostId: row.host_id,
        accountId: row.account_id,
        agentVersion: row.agent_version,
        inventory: JSON.parse(row.inventory) as Inventory,
        revision: row.revision,
      });
    }
    for (const row of this.#statements.workers.all({})) {
      this.workers.set(row.worker_id, {
        workerId: row.worker_id,
        endpointId: row.endpoint_id,
        hostId: row.host_id,
        version: row.version,
        gpuIndexes: JSON.parse(row.gpu_indexes) as number[],
        state: row.state,
        detail: row.detail,
        createdAt: row.created_at,
        retiredIn: row.retired_in,
        start: row.start === null ? null : (JSON.parse(row.start) as WorkerStart),
      });
    }
    for (const row of this.#statements.wishes.all({})) {
      const config = JSON.parse(row.config) as EndpointConfig;
      this.wishes.set(row.endpoint_id, { wanted: row.wanted, config });
    }
    for (const row of this.#statements.unsent.all({})) this.unsent.add(row.endpoint_id);
  }

  saveHost(host: HostRecord): void {
    this.hosts.set(host.hostId, host);
    this.#statements.saveHost.run({ ...host, inventory: JSON.stringify(host.inventory) });
  }

  saveWorker(worker: WorkerRecord): void {
    this.workers.set(worker.workerId, worker);
    this.#statements.saveWorker.run({
      ...worker,
      gpuIndexes: JSON.stringify(worker.gpuIndexes),
      start: worker.start && JSON.stringify(worker.start),
    });
  }

  removeWorker(workerId: string): void {
    this.workers.delete(workerId);
    this.#statements.removeWorker.run({ workerId });
  }

  saveWish(wish: WishRecord): void {
    const { endpointId } = wish.config;
    this.wishes.set(endpointId, wish);
    this.#statements.saveWish.run({ endpointId, wanted: wish.wanted, config: JSON.stringify(wish.config) });
  }

  removeWish(endpointId: string): void {
    this.wishes.delete(endpointId);
    this.#statements.removeWish.run({ endpointId });
  }

  addUnsent(endpointId: string): void {
    if (this.unsent.has(endpointId)) return;
    this.unsent.add(endpointId);
    this.#statements.addUnsent.run({ endpointId });
  }

  removeUnsent(endpointId: string): void {
    this.unsent.delete(endpointId);
    this.#statements.removeUnsent.run({ endpointId });
  }

  workersOf(endpointId: string): WorkerRecord[] {
    return [...this.workers.values()].filter((worker) => worker.endpointId === endpointId);
  }

  workersOn(hostId: string): WorkerRecord[] {
    return [...this.workers.values()].filter((worker) => worker.hostId === hostId);
  }
}

type None = Record<never, never>;

type HostRow = {
  host_id: string;
  account_id: string;
  agent_version: string;
  inventory: string;
  revision: number;
};

type WorkerRow = {
  worker_id: string;
  endpoint_id: string;
  host_id: string;
  version: number;
  gpu_indexes: string;
  state: WorkerState;
  detail: string | null;
  created_at: number;
  retired_in: number | null;
  start: string | null;
};

function fleetStatements(database: ObjectDatabase) {
  return {
    hosts: database.statement<None, HostRow>("SELECT * FROM host"),
    workers: database.statement<None, WorkerRow>("SELECT * FROM worker"),
    wishes: database.statement<None, { endpoint_id: string; wanted: number; config: string }>(
      "SELECT * FROM wish",
    ),
    saveHost: database.statement<{
      hostId: string;
      accountId: string;
      agentVersion: string;
      inventory: string;
      revision: number;
    }>(
      `INSERT OR REPLACE INTO host (host_id, account_id, agent_version, inventory, revision)
       VALUES (:hostId, :accountId, :agentVersion, :inventory, :revision)`,
    ),
    saveWorker: database.statement<Record<string, string | number | null>>(
      `INSERT OR REPLACE INTO worker
         (worker_id, endpoint_id, host_id, version, gpu_indexes, state, detail, created_at, retired_in,
          start)
       VALUES (:workerId, :endpointId, :hostId, :version, :gpuIndexes, :state, :detail, :createdAt, :retiredIn,
               :start)`,
    ),
    removeWorker: database.statement<{ workerId: string }>("DELETE FROM worker WHERE worker_id = :workerId"),
    saveWish: database.statement<{ endpointId: string; wanted: number; config: string }>(
      "INSERT OR REPLACE INTO wish (endpoint_id, wanted, config) VALUES (:endpointId, :wanted, :config)",
    ),
    unsent: database.statement<None, { endpoint_id: string }>("SELECT endpoint_id FROM unsent"),
    addUnsent: database.statement<{ endpointId: string }>(
      "INSERT OR IGNORE INTO unsent (endpoint_id) VALUES (:endpointId)",
    ),
    removeUnsent: database.statement<{ endpointId: string }>(
      "DELETE FROM unsent WHERE endpoint_id = :endpointId",
    ),
    removeWish: database.statement<{ endpointId: string }>(
      "DELETE FROM wish WHERE endpoint_id = :endpointId",
    ),
  };
}
