/** The hosts of the fleet: which are present, what they have, and whether they are cordoned or drained. */
import type { Inventory, WorkerReport, WorkerState } from "../../contract/agent/agent.ts";
import type { Failing } from "../../domain/placement/worker-moves.ts";
import { stockOfHost, type HostStock } from "../../domain/placement/stock.ts";
import { modelContent } from "../../contract/content.ts";
import { mergeStart } from "../../domain/jobs/worker-start.ts";
import { isDraining } from "../../domain/placement/agent-support.ts";
import type { FleetParts } from "../composition.ts";
import type { HostRecord, WorkerRecord } from "../fleet-store.ts";
import type { Heard } from "./host-presence.ts";
import type { HostChange, HostView, NamedHost, SyncCall } from "../messages.ts";
import { CREDENTIAL_CACHE_MS } from "../../domain/accounts/permissions.ts";

/** How long a removed host is remembered, so that a token that is still cached as valid does not bring it back. */
const HOST_TOMBSTONE_MS = 2 * CREDENTIAL_CACHE_MS;

const NOTHING: Inventory = { gpus: [], cpuCount: 0, memoryMb: 0, diskFreeMb: 0, runtime: "docker" };

/** What its owner and its assignments make of a host, before either did anything. */
const NEW_HOST = { revision: 1, isCordoned: false, isDrained: false, price: null };

export class HostRegistry {
  readonly #parts: FleetParts;

  constructor(parts: FleetParts) {
    this.#parts = parts;
  }

  /** To be called once, when the store is loaded; a host with workers gets time to return. */
  recover(now: number, heardOf: (hostId: string) => Heard | undefined): void {
    const { store } = this.#parts;
    for (const { hostId, removedAt, awaySince } of store.hosts.values()) {
      if (removedAt !== null && now - removedAt > HOST_TOMBSTONE_MS) store.removeHost(hostId);
      if (removedAt !== null) continue;
      const heard = heardOf(hostId);
      const mayReturn = awaySince === null && store.countWorkersOn(hostId) > 0;
      if (heard) this.#heard(hostId, heard);
      else if (mayReturn) this.#heard(hostId, { at: now, holdMs: 0 });
    }
  }

  /** Applies the report of a host and its workers, unless the host was removed. */
  applySync(call: SyncCall, now: number): void {
    const { store, pools, usage } = this.#parts;
    const stored = store.hosts.get(call.hostId);
    if (stored && stored.removedAt !== null) return;
    const host = this.#record(call, stored);
    if (!stored || !isSame(stored, host)) {
      usage.repriced(host, now);
      store.saveHost(host);
      pools.changed(call.hostId);
      if (stored && stored.awaySince !== null) this.#return(call.hostId, Math.max(now, stored.awaySince));
      if (stored && isDraining(stored) !== isDraining(host)) this.#reviewWorkersOn(call.hostId);
      if (stored?.inventory.clusterAddress !== host.inventory.clusterAddress)
        this.#parts.clusters.touchPeersOf(call.hostId);
    } else store.hosts.set(call.hostId, host);
    if (call.telemetry) this.#parts.telemetry.record(call.hostId, call.telemetry, now);
    if (call.models) this.#parts.models.record(call.hostId, call.models);
    this.#recordContents(call);
    pools.measureDisk(call.hostId, call.inventory.diskFreeMb);
    this.#heard(call.hostId, { at: now, holdMs: call.holdMs, presence: call.presence });
    this.#applyWorkerReports(call, now);
  }

  #recordContents({ hostId, accountId, contents, models = [] }: SyncCall): void {
    if (!contents) return;
    const modelIds = new Set(models.map(({ id }) => id));
    this.#parts.pools
      .of(accountId)
      .contents.record(hostId, [...contents, ...[...modelIds].map(modelContent)]);
  }

  /** Lost hosts get no more workers. */
  expelSilent(now: number): void {
    for (const hostId of this.#parts.presence.takeLost(now)) {
      this.#parts.pools.expel(hostId);
      if (this.#hasPods(hostId)) this.#leave(hostId, now);
    }
  }

  /** Notes since when a host that has pods is away; what is on it counts as unused until it returns. */
  #leave(hostId: string, now: number): void {
    const { store, presence, usage } = this.#parts;
    const host = store.hosts.get(hostId);
    if (!host) return;
    const awaySince = presence.heardAt(hostId) ?? now;
    for (const worker of store.workersOn(hostId)) usage.ended(worker, awaySince);
    store.saveHost({ ...host, awaySince });
  }

  #return(hostId: string, now: number): void {
    const { store } = this.#parts;
    const running = store.workersOn(hostId).filter(({ standbyAt }) => standbyAt === null);
    for (const worker of running) store.saveWorker({ ...worker, revivedAt: now });
  }

  /** Removes the workers of lost hosts. Their pods stay, unless they stop anyway. */
  removeLost(now: number): void {
    const { store, presence, revisions } = this.#parts;
    this.expelSilent(now);
    for (const hostId of store.busyHosts()) {
      if (presence.isPresent(hostId, now)) continue;
      const lost = store.workersOn(hostId).filter(endsWithHost);
      for (const worker of lost) this.#remove(worker);
      if (lost.length > 0) revisions.touch(hostId);
      if (!this.#hasPods(hostId)) presence.forget(hostId);
    }
    revisions.endStep();
  }

  /** Whether a lost host has workers that `removeLost` would remove. */
  hasLostWorkers(now: number): boolean {
    const { store, presence } = this.#parts;
    return store
      .busyHosts()
      .some((hostId) => !presence.isPresent(hostId, now) && store.workersOn(hostId).some(endsWithHost));
  }

  /** The hosts of the account shall fetch their assignments again: a secret in them has changed. */
  renewAssignments(accountId: string): void {
    const { store, revisions } = this.#parts;
    for (const hostId of store.busyHosts()) {
      if (store.hosts.get(hostId)?.accountId === accountId) revisions.touch(hostId);
    }
    revisions.endStep();
  }

  /** Cordons, drains or prices a host, which may not have called yet. */
  change({ hostId, accountId, name, cordoned, drained, price }: HostChange, now: number): void {
    const { store, pools, usage } = this.#parts;
    const stored = store.hosts.get(hostId) ?? hostThatNeverCalled({ id: hostId, accountId, name });
    if (stored.removedAt !== null) return;
    const host = {
      ...stored,
      isCordoned: cordoned ?? stored.isCordoned,
      isDrained: drained ?? stored.isDrained,
      price: price === undefined ? stored.price : price,
    };
    if (isSame(stored, host)) return;
    usage.repriced(host, now);
    store.saveHost(host);
    pools.changed(hostId);
    this.#reviewWorkersOn(hostId);
  }

  /** Removes a host, also one whose first call may still be under way: its token may be cached as valid for a moment. */
  remove(named: NamedHost, now: number): void {
    const { store, pools, presence, revisions } = this.#parts;
    const { id: hostId } = named;
    const host = store.hosts.get(hostId) ?? hostThatNeverCalled(named);
    for (const worker of store.workersOn(hostId)) this.#remove(worker);
    this.#parts.pods.hostRemoved(hostId, now);
    store.saveHost({ ...host, inventory: NOTHING, removedAt: now, awaySince: null }); // remembered until the object starts again
    pools.expel(hostId);
    presence.forget(hostId);
    this.#parts.telemetry.forget(hostId);
    this.#parts.models.forget(hostId);
    pools.of(host.accountId).contents.forget(hostId);
    revisions.touch(hostId);
    revisions.endStep();
  }

  /** What the present hosts have, and how much of it is free. */
  stock(now: number): HostStock[] {
    const { store, presence } = this.#parts;
    return [...store.hosts.values()]
      .filter(({ hostId, removedAt }) => removedAt === null && presence.isPresent(hostId, now))
      .map(({ hostId, inventory }) => stockOfHost(inventory, this.#takenGpus(hostId)));
  }

  /** The hosts of the account that have called, or that their owner has changed. */
  viewsOf(accountId: string, now: number): HostView[] {
    const { store, presence, telemetry, models } = this.#parts;
    return [...store.hosts.values()]
      .filter((host) => host.accountId === accountId && host.removedAt === null)
      .map(({ hostId, agentVersion, inventory, isCordoned, isDrained, price }) => ({
        hostId,
        agentVersion,
        dataCenterId: stockOfHost(inventory, new Set()).dataCenterId,
        gpus: stockOfHost(inventory, this.#takenGpus(hostId)).gpus,
        isPresent: presence.isPresent(hostId, now),
        workers: store.workersOn(hostId).filter(({ standbyAt }) => standbyAt === null).length,
        isCordoned,
        isDrained,
        price,
        lastSeenAt: presence.heardAt(hostId),
        telemetry: telemetry.of(hostId),
        models: models.of(hostId),
      }));
  }

  #record(call: SyncCall, stored: HostRecord | undefined): HostRecord {
    const { hostId, accountId, name, agentVersion } = call;
    const { revision, isCordoned, isDrained, price } = stored ?? NEW_HOST;
    const isInUse = this.#parts.store.countWorkersOn(hostId) > 0 || this.#hasPods(hostId);
    const diskFreeMb = (isInUse ? stored : call)?.inventory.diskFreeMb ?? call.inventory.diskFreeMb;
    // An equal inventory stays the same object, by which others see that nothing has changed.
    const isEqual = stored && sameInventory(stored.inventory, call.inventory);
    return {
      hostId,
      accountId,
      name,
      agentVersion,
      inventory: { ...(isEqual ? stored.inventory : call.inventory), diskFreeMb },
      revision,
      isCordoned,
      isDrained,
      removedAt: null,
      awaySince: null,
      price,
    };
  }

  #hasPods(hostId: string): boolean {
    const { store, podStore } = this.#parts;
    return podStore.withVolumeOn(hostId).length > 0 || store.workersOn(hostId).some(({ isPod }) => isPod);
  }

  /** What shall be there has to be looked at again. */
  #review({ endpointId, isPod }: WorkerRecord): void {
    if (isPod) this.#parts.podPlacer.review(endpointId);
    else this.#parts.placer.review(endpointId);
  }

  /** Its endpoint is told; nobody waits for news of a pod. */
  #announce({ endpointId, isPod }: WorkerRecord): void {
    if (!isPod) this.#parts.store.addUnsent(endpointId);
  }

  #heard(hostId: string, heard: Heard): void {
    const { presence, pools } = this.#parts;
    if (presence.heard(hostId, heard) === "came") pools.admit(hostId);
  }

  #reviewWorkersOn(hostId: string): void {
    for (const worker of this.#parts.store.workersOn(hostId)) this.#review(worker);
  }

  #applyWorkerReports(call: SyncCall, now: number): void {
    const reported = new Map(call.workers.map((report) => [report.workerId, report]));
    for (const worker of this.#parts.store.workersOn(call.hostId)) {
      const report = reported.get(worker.workerId);
      if (report) {
        const current = worker.isPod ? this.#parts.pods.applyReport(worker, report) : worker;
        if (current) this.#applyReport(current, report, now);
      } else if (worker.retiredIn !== null && call.appliedRevision >= worker.retiredIn) this.#remove(worker);
    }
  }

  #applyReport(worker: WorkerRecord, report: SyncCall["workers"][number], now: number): void {
    // Fleet decides which workers are on standby: the agent may not know yet that the worker was revived.
    if (report.isStandby) return;
    const { store, placer } = this.#parts;
    const { detail = null, imageDigest = worker.imageDigest } = report;
    // It also decides which workers are removed: an agent that does not know yet still reports it as ready.
    const state = worker.retiredIn === null ? report.state : "stopping";
    const start = mergeStart(worker.start, report.start);
    const failing = failingNow(worker.failing, report.failing, now);
    const isSame = worker.state === state && worker.detail === detail && worker.start === start;
    const isStored = isSame && worker.imageDigest === imageDigest;
    if (isStored && worker.failing === failing) return;
    const revivedAt = isFirstRun(worker, start) ? now : worker.revivedAt;
    const readyAt = worker.readyAt ?? readySince(state, start, now);
    const reported = { ...worker, state, detail, start, revivedAt, imageDigest, failing, readyAt };
    if (isStored) store.rememberWorker(reported);
    else store.saveWorker(reported);
    if (worker.failing !== failing) this.#review(worker);
    if (!isSame) this.#announce(worker);
    if (worker.state !== state && !worker.isPod) placer.reviewRollout(worker.endpointId);
  }

  #remove(worker: WorkerRecord): void {
    const { store, pools, usage } = this.#parts;
    const now = Date.now();
    usage.ended(worker, now);
    store.removeWorker(worker.workerId, now);
    if (worker.isPod) this.#parts.clusters.touchPeers(this.#parts.podStore.get(worker.workerId)?.config);
    this.#announce(worker);
    pools.changed(worker.hostId);
    this.#review(worker);
  }

  #takenGpus(hostId: string): ReadonlySet<number> {
    const workers = this.#parts.store.workersOn(hostId).filter(({ standbyAt }) => standbyAt === null);
    return new Set(workers.flatMap(({ gpuIndexes }) => gpuIndexes));
  }
}

/** All but a pod that shall run: its host may return. */
function endsWithHost({ isPod, retiredIn }: WorkerRecord): boolean {
  return !isPod || retiredIn !== null;
}

/** The previous record unless the worker has failed again, or does not fail any more. */
function failingNow(
  previous: Failing | null,
  reported: WorkerReport["failing"],
  now: number,
): Failing | null {
  if (reported === undefined) return null;
  return reported.times === previous?.times ? previous : { times: reported.times, since: now - reported.ago };
}

function isSame(a: HostRecord, b: HostRecord): boolean {
  return (
    a.agentVersion === b.agentVersion &&
    a.name === b.name &&
    a.isCordoned === b.isCordoned &&
    a.isDrained === b.isDrained &&
    a.awaySince === b.awaySince &&
    JSON.stringify(a.price) === JSON.stringify(b.price) &&
    sameInventory(a.inventory, b.inventory)
  );
}

/** Free disk changes all the time and does not justify a row write. */
function sameInventory(a: Inventory, b: Inventory): boolean {
  return JSON.stringify({ ...a, diskFreeMb: 0 }) === JSON.stringify({ ...b, diskFreeMb: 0 });
}

/** An agent's time of its start is the exact one, but no event is later than its report. */
function readySince(state: WorkerState, start: WorkerRecord["start"], now: number): number | null {
  return state === "ready" ? Math.min(start?.readyAt ?? now, now) : null;
}

/** From then on a pod is charged. */
function isFirstRun({ isPod, start: before }: WorkerRecord, start: WorkerRecord["start"]): boolean {
  return isPod && !before?.containerStartedAt && Boolean(start?.containerStartedAt);
}

function hostThatNeverCalled({ id: hostId, accountId, name }: NamedHost): HostRecord {
  const unknown = { agentVersion: "", inventory: NOTHING, removedAt: null, awaySince: null };
  return { ...NEW_HOST, ...unknown, hostId, accountId, name };
}
