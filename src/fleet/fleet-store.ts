/** SQL of the tables of the Fleet object, with copies of these small tables in memory. */
import type { Inventory, WorkerState } from "../contract/agent/agent.ts";
import type { EndpointConfig } from "../contract/endpoint.ts";
import type { Size } from "../domain/placement/host-capacity.ts";
import type { Failing, Moves } from "../domain/placement/worker-moves.ts";
import type { WorkerStart } from "../domain/jobs/timeline.ts";
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
  readonly revivedAt: number | null;
  readonly imageDigest: string | null;
  /** As last reported by its agent; not stored. */
  readonly failing: Failing | null;
  readonly moves: Moves | null;
};

export type DesiredWorkersRecord = { readonly desired: number; readonly config: EndpointConfig };

export class FleetStore {
  readonly hosts = new Map<string, HostRecord>();
  readonly workers = new Map<string, WorkerRecord>();
  readonly desiredWorkers = new Map<string, DesiredWorkersRecord>();
  /** Endpoints that have not received the latest report of their workers. */
  readonly unsent = new Set<string>();
  /** Workers on standby that are not being removed. */
  readonly standbys = new Map<string, WorkerRecord>();
  readonly #byEndpoint = new Map<string, Map<string, WorkerRecord>>();
  readonly #byHost = new Map<string, Map<string, WorkerRecord>>();
  readonly #statements: ReturnType<typeof fleetStatements>;

  constructor(database: ObjectDatabase) {
    this.#statements = fleetStatements(database);
  }

  load(): void {
    for (const row of this.#statements.hosts.all({})) {
      this.hosts.set(row.host_id, {
        hostId: row.host_id,
        accountId: row.account_id,
        name: row.name,
        agentVersion: row.agent_version,
        inventory: JSON.parse(row.inventory) as Inventory,
        revision: row.revision,
        isCordoned: row.cordoned !== 0,
        isDrained: row.drained !== 0,
        removedAt: row.removed_at,
      });
    }
    for (const row of this.#statements.workers.all({})) {
      this.#remember({
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
        size: row.size === null ? null : (JSON.parse(row.size) as Size),
        standbyAt: row.standby_at,
        revivals: row.revivals,
        revivedAt: row.revived_at,
        imageDigest: row.image_digest,
        failing: null,
        moves: row.moves === null ? null : (JSON.parse(row.moves) as Moves),
      });
    }
    for (const row of this.#statements.desiredWorkers.all({})) {
      const config = JSON.parse(row.config) as EndpointConfig;
      this.desiredWorkers.set(row.endpoint_id, { desired: row.desired, config });
    }
    for (const row of this.#statements.unsent.all({})) this.unsent.add(row.endpoint_id);
  }

  saveHost(host: HostRecord): void {
    this.hosts.set(host.hostId, host);
    this.#statements.saveHost.run({
      ...host,
      inventory: JSON.stringify(host.inventory),
      isCordoned: Number(host.isCordoned),
      isDrained: Number(host.isDrained),
    });
  }

  removeHost(hostId: string): void {
    this.hosts.delete(hostId);
    this.#statements.removeHost.run({ hostId });
  }

  saveWorker(worker: WorkerRecord): void {
    this.#remember(worker);
    const { failing: _, ...stored } = worker;
    this.#statements.saveWorker.run({
      ...stored,
      gpuIndexes: JSON.stringify(worker.gpuIndexes),
      start: worker.start && JSON.stringify(worker.start),
      size: worker.size && JSON.stringify(worker.size),
      moves: worker.moves && JSON.stringify(worker.moves),
    });
  }

  /** Updates only what is not stored. */
  rememberWorker(worker: WorkerRecord): void {
    this.#remember(worker);
  }

  removeWorker(workerId: string, now: number): void {
    const worker = this.workers.get(workerId);
    this.workers.delete(workerId);
    this.standbys.delete(workerId);
    if (worker) {
      removeFrom(this.#byEndpoint, worker.endpointId, workerId);
      removeFrom(this.#byHost, worker.hostId, workerId);
      const { endpointId, hostId } = worker;
      this.#statements.addGone.run({ workerId, endpointId, hostId, goneAt: now });
    }
    this.#statements.removeWorker.run({ workerId });
  }

  /** Whether the host has the worker of the endpoint, or had it a while ago. */
  isOrWasOn(
    hostId: string,
    { workerId, endpointId }: Pick<WorkerRecord, "workerId" | "endpointId">,
  ): boolean {
    const worker = this.workers.get(workerId);
    if (worker) return worker.hostId === hostId && worker.endpointId === endpointId;
    return this.#statements.gone.first({ workerId, endpointId, hostId }) !== undefined;
  }

  /** Forgets workers that were removed before this time. */
  forgetGone(before: number): void {
    this.#statements.forgetGone.run({ before });
  }

  saveDesiredWorkers(record: DesiredWorkersRecord): void {
    const { endpointId } = record.config;
    this.desiredWorkers.set(endpointId, record);
    this.#statements.saveDesiredWorkers.run({
      endpointId,
      desired: record.desired,
      config: JSON.stringify(record.config),
    });
  }

  removeDesiredWorkers(endpointId: string): void {
    this.desiredWorkers.delete(endpointId);
    this.#statements.removeDesiredWorkers.run({ endpointId });
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

  /** Neither the endpoint nor the host of a worker ever changes. */
  #remember(worker: WorkerRecord): void {
    this.workers.set(worker.workerId, worker);
    if (worker.standbyAt !== null && worker.retiredIn === null) this.standbys.set(worker.workerId, worker);
    else this.standbys.delete(worker.workerId);
    addTo(this.#byEndpoint, worker.endpointId, worker);
    addTo(this.#byHost, worker.hostId, worker);
  }
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

type None = Record<never, never>;

type HostRow = {
  host_id: string;
  account_id: string;
  agent_version: string;
  inventory: string;
  revision: number;
  name: string;
  cordoned: number;
  drained: number;
  removed_at: number | null;
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
  size: string | null;
  standby_at: number | null;
  revivals: number;
  revived_at: number | null;
  image_digest: string | null;
  moves: string | null;
};

function fleetStatements(database: ObjectDatabase) {
  return {
    hosts: database.statement<None, HostRow>("SELECT * FROM host"),
    workers: database.statement<None, WorkerRow>("SELECT * FROM worker"),
    desiredWorkers: database.statement<None, { endpoint_id: string; desired: number; config: string }>(
      "SELECT * FROM desired_workers",
    ),
    saveHost: database.statement<Record<string, string | number | null>>(
      `INSERT OR REPLACE INTO host
         (host_id, account_id, agent_version, inventory, revision, name, cordoned, drained, removed_at)
       VALUES (:hostId, :accountId, :agentVersion, :inventory, :revision, :name, :isCordoned, :isDrained,
               :removedAt)`,
    ),
    removeHost: database.statement<{ hostId: string }>("DELETE FROM host WHERE host_id = :hostId"),
    saveWorker: database.statement<Record<string, string | number | null>>(
      `INSERT OR REPLACE INTO worker
         (worker_id, endpoint_id, host_id, version, gpu_indexes, state, detail, created_at, retired_in,
          start, size, standby_at, revivals, revived_at, image_digest, moves)
       VALUES (:workerId, :endpointId, :hostId, :version, :gpuIndexes, :state, :detail, :createdAt, :retiredIn,
               :start, :size, :standbyAt, :revivals, :revivedAt, :imageDigest, :moves)`,
    ),
    removeWorker: database.statement<{ workerId: string }>("DELETE FROM worker WHERE worker_id = :workerId"),
    saveDesiredWorkers: database.statement<{ endpointId: string; desired: number; config: string }>(
      "INSERT OR REPLACE INTO desired_workers (endpoint_id, desired, config) VALUES (:endpointId, :desired, :config)",
    ),
    addGone: database.statement<Record<string, string | number>>(
      `INSERT OR REPLACE INTO gone_worker (worker_id, endpoint_id, host_id, gone_at)
       VALUES (:workerId, :endpointId, :hostId, :goneAt)`,
    ),
    gone: database.statement<Record<"workerId" | "endpointId" | "hostId", string>, { worker_id: string }>(
      `SELECT worker_id FROM gone_worker
       WHERE worker_id = :workerId AND endpoint_id = :endpointId AND host_id = :hostId`,
    ),
    forgetGone: database.statement<{ before: number }>("DELETE FROM gone_worker WHERE gone_at < :before"),
    unsent: database.statement<None, { endpoint_id: string }>("SELECT endpoint_id FROM unsent"),
    addUnsent: database.statement<{ endpointId: string }>(
      "INSERT OR IGNORE INTO unsent (endpoint_id) VALUES (:endpointId)",
    ),
    removeUnsent: database.statement<{ endpointId: string }>(
      "DELETE FROM unsent WHERE endpoint_id = :endpointId",
    ),
    removeDesiredWorkers: database.statement<{ endpointId: string }>(
      "DELETE FROM desired_workers WHERE endpoint_id = :endpointId",
    ),
  };
}
