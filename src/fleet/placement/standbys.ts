/**
 * The standby workers of a fleet: which workers go on standby when they are scaled down, which are revived, and which
 * are evicted.
 */
import type { HostPool } from "../../domain/placement/host-pool.ts";
import {
  expiringOf,
  hasFlashBoot,
  retainedByEndpoint,
  retainedByHost,
  epochOf,
  type StandbyWorker,
  FLASHBOOT_RETENTION_MS,
} from "../../domain/placement/standby.ts";
import { isDraining } from "../../domain/placement/agent-support.ts";
import { earliest } from "../../std/earliest.ts";
import type { FleetStore, WorkerRecord } from "../fleet-store.ts";
import type { HostPools, HostRevisions } from "../hosts/host-pools.ts";
import type { WorkerUsage } from "../worker-usage.ts";

type StandbyRecord = WorkerRecord & StandbyWorker;

export class Standbys {
  readonly #store: FleetStore;
  readonly #pools: HostPools;
  readonly #revisions: HostRevisions;
  readonly #usage: WorkerUsage;
  /** Hosts that have got a worker, and so may have less capacity for standby workers. */
  readonly #toRecheck = new Set<string>();

  constructor(store: FleetStore, pools: HostPools, revisions: HostRevisions, usage: WorkerUsage) {
    this.#store = store;
    this.#pools = pools;
    this.#revisions = revisions;
    this.#usage = usage;
  }

  /** Puts a worker on standby. False if it is not worth it: only workers that came up are. */
  pause(worker: WorkerRecord, now: number): boolean {
    const config = this.#store.desiredWorkers.get(worker.endpointId)?.config;
    const host = this.#store.hosts.get(worker.hostId);
    if (worker.state !== "ready" || !config || !hasFlashBoot(config) || !host?.inventory.canFreeze)
      return false;
    const [retained] = retainedByEndpoint([this.#describe({ ...worker, standbyAt: now })], config, now);
    if (!retained) return false;
    this.#usage.ended(worker, now);
    this.#store.saveWorker({ ...worker, detail: null, standbyAt: now });
    this.#freed(worker.hostId);
    return true;
  }

  /** Revives a standby worker of the endpoint on its host. False if none can be. */
  revive(endpointId: string, pool: HostPool, now: number): boolean {
    const latest = this.#of(endpointId).toSorted((a, b) => b.standbyAt - a.standbyAt);
    return latest.some((worker) => this.#revive(worker, pool, now));
  }

  /** Revives the endpoint's standby workers of these epochs, at most `most`; returns whether any was. */
  resume(
    endpointId: string,
    epochs: readonly string[],
    { pool, most, now }: { readonly pool: HostPool; readonly most: number; readonly now: number },
  ): boolean {
    const named = this.#of(endpointId).filter(
      (worker) => !worker.isClosed && epochs.includes(epochOf(worker)),
    );
    let left = most;
    for (const worker of named) if (left > 0 && this.#revive(worker, pool, now)) left -= 1;
    return left < most;
  }

  /** Standby workers that the endpoint no longer retains. */
  discardable(endpointId: string, now: number): readonly WorkerRecord[] {
    const all = this.#of(endpointId);
    if (all.length === 0) return all;
    const retained = new Set(
      retainedByEndpoint(all, this.#store.desiredWorkers.get(endpointId)?.config, now),
    );
    return all.filter((worker) => !retained.has(worker));
  }

  recheck(hostId: string): void {
    this.#toRecheck.add(hostId);
  }

  /** Some host may have less capacity for them. */
  get areToRecheck(): boolean {
    return this.#toRecheck.size > 0;
  }

  /** Standby workers whose hosts have no capacity left; `changed`: hosts by account that may have less of it. */
  evicted(changed: ReadonlyMap<string, ReadonlySet<string>>): readonly WorkerRecord[] {
    const hostIds = new Set([...this.#toRecheck, ...[...changed.values()].flatMap((ids) => [...ids])]);
    this.#toRecheck.clear();
    if (this.#store.standbys.size === 0) return [];
    return [...hostIds].flatMap((hostId) => this.#evictedFrom(hostId));
  }

  /** Endpoints with a standby worker that has expired. */
  expired(now: number): readonly string[] {
    const due = this.#expiring().filter(({ standbyAt }) => expiryOf(standbyAt) <= now);
    return due.map(({ endpointId }) => endpointId);
  }

  /** Whether its host can have this one on standby beside all those that it has. */
  canRetain(worker: WorkerRecord): boolean {
    return this.#leftOut(worker.hostId, [worker])?.length === 0;
  }

  /** When the next standby expires; null when there is no standby. */
  get nextExpiryAt(): number | null {
    return earliest(this.#expiring().map(({ standbyAt }) => expiryOf(standbyAt)));
  }

  #expiring(): readonly WorkerRecord[] {
    const byEndpoint = Map.groupBy(this.#store.standbys.values(), ({ endpointId }) => endpointId);
    return [...byEndpoint].flatMap(([endpointId, workers]) =>
      expiringOf(workers, this.#store.desiredWorkers.get(endpointId)?.config),
    );
  }

  #revive({ isClosed: _, ...worker }: StandbyRecord, pool: HostPool, now: number): boolean {
    const { hostId, gpuIndexes, size } = worker;
    if (!pool.reclaim({ hostId, gpuIndexes, size: size ?? NO_SIZE })) return false;
    const revivedAt = Math.max(now, worker.standbyAt); // the clock may have gone back
    const revivals = worker.revivals + 1;
    const revived = { standbyAt: null, revivals, revivedAt, start: null, readyAt: null };
    this.#store.saveWorker({ ...worker, ...revived, state: "starting", detail: null });
    this.recheck(hostId);
    this.#freed(hostId);
    return true;
  }

  #of(endpointId: string): readonly StandbyRecord[] {
    if (this.#store.standbys.size === 0) return [];
    return this.#store
      .workersOf(endpointId)
      .flatMap((worker) => (this.#store.standbys.has(worker.workerId) ? [this.#describe(worker)] : []));
  }

  #evictedFrom(hostId: string): readonly WorkerRecord[] {
    return this.#leftOut(hostId, []) ?? []; // a lost host may return
  }

  /** Those for which a host has no capacity, of its standby workers and `more`; undefined while it is absent. */
  #leftOut(hostId: string, more: readonly WorkerRecord[]): readonly WorkerRecord[] | undefined {
    const own = this.#store.workersOn(hostId).filter(({ workerId }) => this.#store.standbys.has(workerId));
    const all = [...own, ...more];
    if (all.length === 0) return all;
    const account = this.#store.hosts.get(hostId)?.accountId;
    const capacity = account === undefined ? undefined : this.#pools.of(account).capacityOf(hostId);
    if (!capacity) return undefined;
    const described = all.map((worker) => this.#describe(worker));
    const retained = new Set(retainedByHost(capacity, described));
    return described.filter((worker) => !retained.has(worker));
  }

  #describe(worker: WorkerRecord): StandbyRecord {
    const host = this.#store.hosts.get(worker.hostId);
    const isClosed = !host || host.isCordoned || isDraining(host);
    return { ...worker, standbyAt: worker.standbyAt ?? 0, isClosed };
  }

  /** The host gets new assignments, and its capacity has changed. */
  #freed(hostId: string): void {
    this.#revisions.touch(hostId);
    this.#pools.changed(hostId);
  }
}

const NO_SIZE = { cpuMilli: 0, memoryMb: 0, diskMb: 0 };

function expiryOf(standbyAt: number | null): number {
  return (standbyAt ?? 0) + FLASHBOOT_RETENTION_MS;
}
