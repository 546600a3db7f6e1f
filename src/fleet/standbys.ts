/**
 * The standby workers of a fleet: which workers are kept when they are let go, which of them are revived, and which
 * have to go after all.
 */
import { FLASHBOOT_KEEP_MS } from "../contract/limits.ts";
import type { HostPool } from "../domain/placement.ts";
import { hasFlashBoot, keptByEndpoint, keptByHost, stintOf, type StandbyWorker } from "../domain/standby.ts";
import { isDraining } from "./draining.ts";
import type { FleetStore, WorkerRecord } from "./fleet-store.ts";
import type { HostPools } from "./host-pools.ts";
import type { HostRevisions } from "./host-revisions.ts";
import type { WorkerUsage } from "./worker-usage.ts";

type Kept = WorkerRecord & StandbyWorker;

export class Standbys {
  readonly #store: FleetStore;
  readonly #pools: HostPools;
  readonly #revisions: HostRevisions;
  readonly #usage: WorkerUsage;
  /** Hosts that have got a worker, and so may have less room for those on standby. */
  readonly #crowded = new Set<string>();

  constructor(store: FleetStore, pools: HostPools, revisions: HostRevisions, usage: WorkerUsage) {
    this.#store = store;
    this.#pools = pools;
    this.#revisions = revisions;
    this.#usage = usage;
  }

  /** Keeps a worker that is let go. False if it shall not be kept: only one that came up is worth it. */
  keep(worker: WorkerRecord, now: number): boolean {
    const config = this.#store.wishes.get(worker.endpointId)?.config;
    const host = this.#store.hosts.get(worker.hostId);
    if (worker.state !== "ready" || !config || !hasFlashBoot(config) || !host?.inventory.canFreeze)
      return false;
    const [kept] = keptByEndpoint([this.#describe({ ...worker, standbyAt: now })], config, now);
    if (!kept) return false;
    this.#usage.ended(worker, now);
    this.#store.saveWorker({ ...worker, detail: null, standbyAt: now });
    this.#freed(worker.hostId);
    return true;
  }

  /** Makes a standby worker of the endpoint run again where it is. False if there is none that could. */
  revive(endpointId: string, pool: HostPool, now: number): boolean {
    const latest = this.#of(endpointId).toSorted((a, b) => b.standbyAt - a.standbyAt);
    return latest.some((worker) => this.#revive(worker, pool, now));
  }

  /** Makes these stints of the endpoint's standby workers run again, as many as `most`; says whether any does. */
  resume(
    endpointId: string,
    stints: readonly string[],
    { pool, most, now }: { readonly pool: HostPool; readonly most: number; readonly now: number },
  ): boolean {
    const named = this.#of(endpointId).filter(
      (worker) => !worker.isClosed && stints.includes(stintOf(worker)),
    );
    let left = most;
    for (const worker of named) if (left > 0 && this.#revive(worker, pool, now)) left -= 1;
    return left < most;
  }

  /** Those of an endpoint that it does not keep any more. */
  unwanted(endpointId: string, now: number): readonly WorkerRecord[] {
    const all = this.#of(endpointId);
    if (all.length === 0) return all;
    const kept = new Set(keptByEndpoint(all, this.#store.wishes.get(endpointId)?.config, now));
    return all.filter((worker) => !kept.has(worker));
  }

  crowd(hostId: string): void {
    this.#crowded.add(hostId);
  }

  /** Those for which their hosts have no room left; `changed` are hosts by account that may have less of it. */
  crowdedOut(changed: ReadonlyMap<string, ReadonlySet<string>>): readonly WorkerRecord[] {
    const hostIds = new Set([...this.#crowded, ...[...changed.values()].flatMap((ids) => [...ids])]);
    this.#crowded.clear();
    if (this.#store.standbys.size === 0) return [];
    return [...hostIds].flatMap((hostId) => this.#crowdedOutOf(hostId));
  }

  /** Endpoints of which a standby worker was kept for long enough. */
  expired(now: number): readonly string[] {
    const due = [...this.#store.standbys.values()].filter(({ standbyAt }) => expiryOf(standbyAt) <= now);
    return due.map(({ endpointId }) => endpointId);
  }

  /** When the next of them expires; null when there is none. */
  get nextExpiryAt(): number | null {
    const times = [...this.#store.standbys.values()].map(({ standbyAt }) => expiryOf(standbyAt));
    return times.length === 0 ? null : Math.min(...times);
  }

  #revive({ isClosed: _, ...worker }: Kept, pool: HostPool, now: number): boolean {
    const { hostId, gpuIndexes, size } = worker;
    if (!pool.retake({ hostId, gpuIndexes, size: size ?? NO_SIZE })) return false;
    const revived = { standbyAt: null, revivals: worker.revivals + 1, revivedAt: now, start: null };
    this.#store.saveWorker({ ...worker, ...revived, state: "starting", detail: null });
    this.crowd(hostId);
    this.#freed(hostId);
    return true;
  }

  #of(endpointId: string): readonly Kept[] {
    if (this.#store.standbys.size === 0) return [];
    return this.#store
      .workersOf(endpointId)
      .flatMap((worker) => (this.#store.standbys.has(worker.workerId) ? [this.#describe(worker)] : []));
  }

  #crowdedOutOf(hostId: string): readonly WorkerRecord[] {
    const all = this.#store.workersOn(hostId).filter(({ workerId }) => this.#store.standbys.has(workerId));
    const account = this.#store.hosts.get(hostId)?.accountId;
    const room =
      all.length === 0 || account === undefined ? undefined : this.#pools.of(account).roomOf(hostId);
    if (!room) return []; // a host that is silent may come back
    const described = all.map((worker) => this.#describe(worker));
    const kept = new Set(keptByHost(room, described));
    return described.filter((worker) => !kept.has(worker));
  }

  #describe(worker: WorkerRecord): Kept {
    const host = this.#store.hosts.get(worker.hostId);
    const isClosed = !host || host.isCordoned || isDraining(host);
    return { ...worker, standbyAt: worker.standbyAt ?? 0, isClosed };
  }

  /** Its host hears of it, and its room is another one. */
  #freed(hostId: string): void {
    this.#revisions.touch(hostId);
    this.#pools.changed(hostId);
  }
}

const NO_SIZE = { cpuMilli: 0, memoryMb: 0, diskMb: 0 };

function expiryOf(standbyAt: number | null): number {
  return (standbyAt ?? 0) + FLASHBOOT_KEEP_MS;
}
