/**
 * Workers that are prepared before any job (workersPFBTarget): they start on standby, so they are started, frozen as soon
 * as they are ready, and resumed by the first jobs.
 *
 * Q1  They go only where capacity is free, and where they evict no other standby worker.
 * Q2  Workers that run count as well: what an endpoint is to have is there, or was already needed.
 */
import { hasFlashBoot, preparedBy } from "../../domain/placement/standby.ts";
import type { EndpointConfig } from "../../contract/endpoint.ts";
import { randomId } from "../../domain/accounts/random-id.ts";
import type { Budgets } from "../budgets.ts";
import { newWorker, type FleetStore, type WorkerRecord } from "../fleet-store.ts";
import type { HostPools, HostRevisions } from "../hosts/host-pools.ts";
import type { Standbys } from "./standbys.ts";

/** Hosts that are looked at for one worker. */
const HOSTS_MAX = 8;

export type PreparedWorkersParts = {
  readonly store: FleetStore;
  readonly pools: HostPools;
  readonly revisions: HostRevisions;
  readonly standbys: Standbys;
  readonly budgets: Pick<Budgets, "allows">;
};

export class PreparedWorkers {
  readonly #parts: PreparedWorkersParts;
  /** Endpoints that are to have some. */
  readonly #endpointIds = new Set<string>();

  constructor(parts: PreparedWorkersParts) {
    this.#parts = parts;
  }

  /**
   * Prepares what is missing, after all workers have been placed. `reviewed`: endpoints that may have changed;
   * `isCapacityChanged`: some host has changed. Returns the endpoints that have more now.
   */
  plan(reviewed: Iterable<string>, isCapacityChanged: boolean, now: number): readonly string[] {
    const { desiredWorkers } = this.#parts.store;
    for (const endpointId of reviewed) {
      if (targetOf(desiredWorkers.get(endpointId)?.config) > 0) this.#endpointIds.add(endpointId);
      else this.#endpointIds.delete(endpointId);
    }
    const due = isCapacityChanged
      ? [...this.#endpointIds]
      : [...reviewed].filter((id) => this.#endpointIds.has(id));
    return due.filter((endpointId) => this.#prepareFor(desiredWorkers.get(endpointId)?.config, now));
  }

  /** Whether any worker was added. */
  #prepareFor(config: EndpointConfig | undefined, now: number): boolean {
    const { store, budgets } = this.#parts;
    if (!config || !budgets.allows(config.endpointId)) return false;
    const present = store
      .workersOf(config.endpointId)
      .filter(({ version, retiredIn }) => version === config.version && retiredIn === null);
    const target = targetOf(config) - present.length;
    let missing = target;
    const except = missing > 0 ? this.#unableToFreeze(config.accountId) : new Set<string>();
    while (missing > 0 && this.#prepare(config, except, now)) missing -= 1;
    return missing < target;
  }

  /** `except`: hosts to leave out; those that have no capacity for it are added. */
  #prepare(config: EndpointConfig, except: Set<string>, now: number): boolean {
    const { store, pools, revisions, standbys } = this.#parts;
    const pool = pools.of(config.accountId);
    for (let looked = 0; looked < HOSTS_MAX; looked += 1) {
      const place = pool.allocate(config, undefined, except);
      if (!place) return false;
      pools.renew(place.hostId); // standby workers take no capacity
      const { endpointId, version } = config;
      const workerId = randomId((count) => crypto.getRandomValues(new Uint8Array(count)));
      const worker: WorkerRecord = {
        ...newWorker({ workerId, endpointId, version, moves: null }, place, now),
        standbyAt: now,
      };
      if (standbys.canRetain(worker)) {
        store.saveWorker(worker);
        revisions.touch(place.hostId);
        pools.renew(place.hostId);
        return true;
      }
      except.add(place.hostId);
    }
    return false;
  }

  #unableToFreeze(accountId: string): Set<string> {
    const hosts = [...this.#parts.store.hosts.values()].filter((host) => host.accountId === accountId);
    return new Set(hosts.filter(({ inventory }) => !inventory.canFreeze).map(({ hostId }) => hostId));
  }
}

/** How many workers of the current version an endpoint is to have, prepared ones included. */
function targetOf(config: EndpointConfig | undefined): number {
  return config && hasFlashBoot(config) ? preparedBy(config) : 0;
}
