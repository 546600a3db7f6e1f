/** Carries out what the domain decides about workers, and remembers whom a change concerns. */
import type { WorkerState } from "../contract/agent.ts";
import { planWorkers } from "../domain/fleet-plan.ts";
import { place, type CandidateHost, type Shortage } from "../domain/placement.ts";
import type { FleetReport } from "../domain/queue-reason.ts";
import { stockOfHost, type HostStock } from "../domain/stock.ts";
import { mergeStart, type WorkerStart } from "../domain/timeline.ts";
import type { FleetStore, HostRecord, WishRecord, WorkerRecord } from "./fleet-store.ts";
import type { HostPresence } from "./host-presence.ts";

export class Placer {
  readonly #store: FleetStore;
  readonly #presence: HostPresence;
  readonly #shortages = new Map<string, { shortage: Shortage; missing: number }>();
  #changedEndpoints = new Set<string>();
  #changedHosts = new Set<string>();

  constructor(store: FleetStore, presence: HostPresence) {
    this.#store = store;
    this.#presence = presence;
  }

  /** Brings the set of workers in step with all wishes. */
  plan(now: number): void {
    for (const wish of this.#store.wishes.values()) this.#planEndpoint(wish, now);
    for (const worker of this.#store.workers.values()) {
      if (!this.#store.wishes.has(worker.endpointId)) this.#retire(worker);
    }
  }

  /** Drops the workers of hosts that have been silent for too long; returns those hosts. */
  giveUpLostHosts(now: number): string[] {
    const hostIds = new Set([...this.#store.workers.values()].map(({ hostId }) => hostId));
    const lost = [...hostIds].filter((hostId) => !this.#presence.isPresent(hostId, now));
    for (const hostId of lost) {
      for (const worker of this.#store.workersOn(hostId)) this.remove(worker);
      this.#touchHost(hostId);
    }
    return lost;
  }

  /** The account's hosts shall fetch their assignments anew: what these hold beyond their release has changed. */
  renewAssignments(accountId: string): void {
    const hostIds = new Set([...this.#store.workers.values()].map(({ hostId }) => hostId));
    for (const hostId of hostIds) {
      if (this.#store.hosts.get(hostId)?.accountId === accountId) this.#touchHost(hostId);
    }
  }

  removeWish(endpointId: string): void {
    this.#store.removeWish(endpointId);
    this.#shortages.delete(endpointId);
  }

  /** Says whether an endpoint still wants workers or has some. */
  isKnown(endpointId: string): boolean {
    return this.#store.wishes.has(endpointId) || this.#store.workersOf(endpointId).length > 0;
  }

  /** The endpoint gives these workers no more jobs. */
  letGo(endpointId: string, workerIds: readonly string[]): void {
    for (const workerId of workerIds) {
      const worker = this.#store.workers.get(workerId);
      if (worker?.endpointId === endpointId) this.#retire(worker);
    }
  }

  noteState(
    worker: WorkerRecord,
    state: WorkerState,
    detail: string | null,
    reported: WorkerStart | null,
  ): void {
    const start = mergeStart(worker.start, reported);
    if (worker.state === state && worker.detail === detail && worker.start === start) return;
    this.#store.saveWorker({ ...worker, state, detail, start });
    this.#changedEndpoints.add(worker.endpointId);
  }

  remove(worker: WorkerRecord): void {
    this.#store.removeWorker(worker.workerId);
    this.#changedEndpoints.add(worker.endpointId);
  }

  /** What an endpoint is told of its workers. */
  describe(endpointId: string): Omit<FleetReport, "revision"> {
    const workers = this.#store
      .workersOf(endpointId)
      .map(({ workerId, hostId, version, state, detail, start }) => ({
        workerId,
        hostId,
        version,
        state,
        detail,
        start,
      }));
    const short = this.#shortages.get(endpointId);
    return { workers, missing: short?.missing ?? 0, shortage: short?.shortage ?? null };
  }

  takeChangedEndpoints(): ReadonlySet<string> {
    const changed = this.#changedEndpoints;
    this.#changedEndpoints = new Set();
    return changed;
  }

  takeChangedHosts(): ReadonlySet<string> {
    const changed = this.#changedHosts;
    this.#changedHosts = new Set();
    return changed;
  }

  #planEndpoint(wish: WishRecord, now: number): void {
    const { endpointId, version } = wish.config;
    const active = this.#store.workersOf(endpointId).filter((worker) => worker.retiredIn === null);
    const plan = planWorkers(active, wish.wanted, version);
    for (const worker of active) if (plan.retire.includes(worker.workerId)) this.#retire(worker);
    this.#add(wish, plan.add, now);
  }

  #add(wish: WishRecord, count: number, now: number): void {
    const { endpointId } = wish.config;
    for (let missing = count; missing > 0; missing -= 1) {
      const placement = place(wish.config, this.#candidates(now));
      if (placement.kind === "nowhere") return this.#noteShortage(endpointId, placement.shortage, missing);
      this.#store.saveWorker({
        workerId: newWorkerId(),
        endpointId,
        hostId: placement.hostId,
        version: wish.config.version,
        gpuIndexes: placement.gpuIndexes,
        state: "starting",
        detail: null,
        createdAt: now,
        retiredIn: null,
        start: null,
      });
      this.#changedEndpoints.add(endpointId);
      this.#touchHost(placement.hostId);
    }
    if (this.#shortages.delete(endpointId)) this.#changedEndpoints.add(endpointId);
  }

  /** What the hosts that are there have, and how much of it is free. */
  stock(now: number): HostStock[] {
    return this.#presentHosts(now).map(({ hostId, inventory }) =>
      stockOfHost(inventory, takenGpus(this.#store.workersOn(hostId))),
    );
  }

  #candidates(now: number): CandidateHost[] {
    return this.#presentHosts(now).map(({ hostId, accountId, inventory }) => {
      const workers = this.#store.workersOn(hostId);
      const candidate = { hostId, accountId, gpus: inventory.gpus, workerCount: workers.length };
      return { ...candidate, takenGpus: takenGpus(workers) };
    });
  }

  #presentHosts(now: number): HostRecord[] {
    return [...this.#store.hosts.values()].filter(({ hostId }) => this.#presence.isPresent(hostId, now));
  }

  #noteShortage(endpointId: string, shortage: Shortage, missing: number): void {
    const known = this.#shortages.get(endpointId);
    if (known?.missing === missing && known.shortage.detail === shortage.detail) return;
    this.#shortages.set(endpointId, { shortage, missing });
    this.#changedEndpoints.add(endpointId);
  }

  #retire(worker: WorkerRecord): void {
    if (worker.retiredIn !== null) return;
    const revision = this.#touchHost(worker.hostId);
    this.#store.saveWorker({ ...worker, state: "stopping", detail: null, retiredIn: revision });
    this.#changedEndpoints.add(worker.endpointId);
  }

  /** The host has something new to do; returns the revision that says so. */
  #touchHost(hostId: string): number {
    const host = this.#store.hosts.get(hostId);
    if (!host) return 0;
    const revision = host.revision + 1;
    this.#store.saveHost({ ...host, revision });
    this.#changedHosts.add(hostId);
    return revision;
  }
}

function takenGpus(workers: readonly WorkerRecord[]): ReadonlySet<number> {
  return new Set(workers.flatMap((worker) => worker.gpuIndexes));
}

/** 14 lowercase letters and digits, as clients know worker ids. */
function newWorkerId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(14));
  return [...bytes].map((byte) => (byte % 36).toString(36)).join("");
}
