/** The Fleet object of an account: its hosts, and which worker runs on which of them. */
import { DurableObject } from "cloudflare:workers";
import { endpointObjectName, fleetObjectName } from "../durable/ports.ts";
import { usableGpuPrices } from "../domain/costs/nominal-prices.ts";
import { clusterRangeOf } from "../domain/pods/cluster-addresses.ts";
import { limitsOf } from "../domain/placement/host-capacity.ts";
import { AlarmClock } from "../durable/alarm-clock.ts";
import { WakeUpChannels } from "../durable/waiters.ts";
import { GroupCommit } from "../durable/group-commit.ts";
import type {
  CapacityStatement,
  DesiredWorkersUpdate,
  EndpointPort,
  FleetPort,
  MovedRow,
} from "../durable/ports.ts";
import { ObjectDatabase } from "../durable/sql.ts";
import type { Budget } from "../domain/costs/budget.ts";
import type { PodConfig } from "../contract/pod.ts";
import type { FleetReport } from "../domain/jobs/queue-reason.ts";
import { takeFleetSnapshot, type FleetSnapshot } from "./fleet-snapshot.ts";
import { reportedWorkers, viewWorkers } from "./worker-view.ts";
import { fleetParts, type FleetParts } from "./composition.ts";
import type { FleetStore } from "./fleet-store.ts";
import { Handover, SHARED_FLEET_NAME } from "./handover.ts";
import type { Heard } from "./hosts/host-presence.ts";
import { HostRegistry } from "./hosts/host-registry.ts";
import { StockReports } from "./hosts/stock-reports.ts";
import type {
  NamedHost,
  AssignmentsReply,
  BudgetView,
  FleetSyncReply,
  HostChange,
  HostView,
  PodChangeCall,
  PodOutcome,
  PodView,
  WorkerView,
  SyncCall,
  UsageCall,
  WorkerOfEndpoint,
  WithStock,
  WorkerPlace,
} from "./messages.ts";
import { FLEET_MIGRATIONS } from "./schema.ts";
import type { EndpointHour } from "./worker-usage.ts";
import { PLACEMENT_FAILURE_CACHE_MS } from "./placement/shortfalls.ts";

/** How long a host may deliver log lines of a worker after its removal. */
const REMOVED_WORKER_RETENTION_MS = 86_400_000;

const REPORT_AGAIN_MS = 2_000;

export type FleetObjectEnv = {
  readonly ENDPOINT: DurableObjectNamespace<EndpointPort>;
  readonly FLEET: DurableObjectNamespace<FleetPort>;
  /** Private addresses of pods of clusters, as an IPv4 network; see docs/reference/pods.md. */
  readonly CLUSTER_NETWORK?: string;
  /** Prices of GPUs on hosts whose owner has set none. */
  readonly GPU_PRICES?: string;
};

export class FleetObject extends DurableObject<FleetObjectEnv> {
  readonly #parts: FleetParts;
  readonly #store: FleetStore;
  readonly #registry: HostRegistry;
  readonly #commit: GroupCommit;
  readonly #alarm: AlarmClock;
  readonly #handover: Handover;
  readonly #stock: StockReports;
  /** Waiting hosts; after a hibernation their sockets show that they are present. */
  readonly #channels: WakeUpChannels<Heard>;
  /** Last report that each endpoint has received, as JSON. */
  readonly #sentReports = new Map<string, string>();
  #lastReportRevision = 0;
  #isSending = false;

  constructor(context: DurableObjectState, env: FleetObjectEnv) {
    super(context, env);
    const database = new ObjectDatabase(context.storage.sql);
    database.migrate(FLEET_MIGRATIONS);
    this.#parts = fleetParts(database, {
      clusterRange: clusterRangeOf(env.CLUSTER_NETWORK),
      gpuPrices: usableGpuPrices(env.GPU_PRICES),
    });
    this.#store = this.#parts.store;
    this.#registry = new HostRegistry(this.#parts);
    this.#stock = new StockReports((now) => this.#registry.stock(now));
    this.#alarm = new AlarmClock(context.storage);
    this.#handover = new Handover(context.storage.sql);
    this.#channels = new WakeUpChannels(context);
    this.#commit = new GroupCommit(context, () => this.#finishTurn());
    void context.blockConcurrencyWhile(() => this.#wake());
  }

  get #isShared(): boolean {
    return this.ctx.id.name === SHARED_FLEET_NAME;
  }

  async #wake(): Promise<void> {
    if (this.#isShared) this.ctx.storage.transactionSync(() => this.#handover.setAside(SHARED_FLEET_NAME));
    else if (!this.#handover.isTaken) await this.#takeOver(this.ctx.id.name ?? "");
    this.#store.load();
    this.#parts.podStore.load();
    this.#parts.usage.load();
    this.#parts.budgets.load();
    this.#registry.recover(Date.now(), (hostId) => this.#channels.find(hostTag(hostId))[0]?.waiter);
    this.#parts.placer.reviewAll();
    this.#parts.podPlacer.reviewAll();
    this.#reviewBudgets(Date.now());
    await this.#alarm.load();
  }

  /** Takes over what the object that all accounts shared has of this one. */
  async #takeOver(accountId: string): Promise<void> {
    const shared = this.env.FLEET.getByName(fleetObjectName(SHARED_FLEET_NAME));
    const rows = await shared.rowsOfAccount(accountId);
    this.ctx.storage.transactionSync(() => this.#handover.take(rows));
    if (rows.length === 0) return;
    await this.ctx.storage.sync();
    // Where this call fails, rows stay there that nobody looks at.
    await shared.forgetRowsOfAccount(accountId).catch(() => {});
  }

  /** What this object has of another account from the time when all accounts shared it. */
  async rowsOfAccount(accountId: string): Promise<MovedRow[]> {
    return this.#handover.rowsOf(accountId);
  }

  /** The account's own object has taken over its rows. */
  async forgetRowsOfAccount(accountId: string): Promise<void> {
    await this.#commit.run(() => this.#handover.forget(accountId));
  }

  /** A script of an earlier version calls the object that all accounts shared. */
  #refuseOthers(accountId: string): void {
    if (this.#isShared && accountId !== SHARED_FLEET_NAME)
      throw new Error(`The account ${accountId} has a fleet object of its own.`);
  }

  // Endpoints

  /** Sets how many workers an endpoint should have, of which kind, and which of its workers may be removed. */
  async setDesiredWorkers(update: DesiredWorkersUpdate): Promise<void> {
    this.#refuseOthers(update.config.accountId);
    await this.#commit.run(() => {
      if (update.isRemoved) {
        this.#parts.placer.removeDesiredWorkers(update.config.endpointId);
        this.#parts.budgets.remove(update.config.endpointId);
      } else this.#store.saveDesiredWorkers({ desired: update.desired, config: update.config });
      this.#parts.placer.scaleDown(update.config.endpointId, update.leaving ?? [], Date.now());
      this.#parts.placer.resume(update.config.endpointId, update.resume ?? []);
      this.#store.addUnsent(update.config.endpointId);
      this.#parts.placer.review(update.config.endpointId);
    });
  }

  /** While capacity is short, an endpoint states what it needs and which of its workers are free. */
  async stateCapacity(statement: CapacityStatement): Promise<void> {
    await this.#commit.run(() => this.#parts.sharing.state(statement));
  }

  /** The present report for an endpoint whose agent names an unknown worker. */
  async reportOf(endpointId: string, lastRevision: number): Promise<FleetReport> {
    return { ...this.#describe(endpointId), revision: this.#nextReportRevision(lastRevision) };
  }

  /** A secret or registry credential of the account has changed. */
  async renewAssignments(accountId: string): Promise<void> {
    await this.#commit.run(() => this.#registry.renewAssignments(accountId));
  }

  // Budgets

  /** Sets a budget of the account or of one of its endpoints, whose costs of the present period count. */
  async saveBudget({ forgiven: _, ...limits }: Budget): Promise<void> {
    const { budgets } = this.#parts;
    await this.#commit.run(() =>
      budgets.save({ ...limits, forgiven: budgets.find(limits.endpointId)?.forgiven ?? null }),
    );
  }

  /** Returns false where there is no such budget. */
  async removeBudget(endpointId: string | null): Promise<boolean> {
    return this.#commit.run(() => this.#parts.budgets.remove(endpointId));
  }

  /** What was spent in the present period counts no more. Returns false where there is no such budget. */
  async resetBudget(endpointId: string | null): Promise<boolean> {
    return this.#commit.run(() => this.#parts.budgets.reset(endpointId, Date.now()));
  }

  async budgets(): Promise<BudgetView[]> {
    return this.#parts.budgets.views(Date.now());
  }

  // Pods

  /**
   * Makes a pod, which has a place at once or has been promised one; nothing is kept of one that has neither.
   * `clusterSize`: how many pods its cluster will have.
   */
  async createPod(config: PodConfig, clusterSize = 1): Promise<PodOutcome> {
    this.#refuseOthers(config.accountId);
    return this.#commit.run(() => {
      this.#plan(); // those that wait come first
      return this.#parts.pods.create(config, Date.now(), clusterSize);
    });
  }

  /** Starts, restarts, edits, stops or terminates a pod of the account. */
  async changePod(call: PodChangeCall): Promise<PodOutcome> {
    return this.#commit.run(() => {
      this.#plan();
      return this.#parts.pods.change(call, Date.now());
    });
  }

  /** Pods of an account, the oldest first; without `podIds` all. */
  async podsOf(accountId: string, podIds?: readonly string[]): Promise<PodView[]> {
    return this.#parts.pods.viewsOf(accountId, podIds, Date.now());
  }

  /** A page of the ids of pods, in their order; `after` is the last id of the page before. */
  async podIds(after: string, limit: number): Promise<string[]> {
    return this.#parts.podStore.page(after, limit);
  }

  // Read API

  /** The hosts of an account. */
  async hostsOf(accountId: string): Promise<HostView[]> {
    return this.#registry.viewsOf(accountId, Date.now());
  }

  /** Workers of endpoints, the oldest first; the caller checks which account owns the endpoints. */
  async workersOf(endpointIds: readonly string[]): Promise<WorkerView[]> {
    return viewWorkers(this.#store, endpointIds);
  }

  /** Where a worker or pod is; the caller checks which account owns it. */
  async placeOf(workerId: string): Promise<WorkerPlace | null> {
    const worker = this.#store.workers.get(workerId);
    if (!worker) return null;
    const { endpointId, hostId, isPod } = worker;
    return { endpointId, hostId, isPod };
  }

  /** Hosts and endpoints of an account, for metrics. */
  async snapshot(accountId: string): Promise<FleetSnapshot> {
    return takeFleetSnapshot(this.#parts, accountId, Date.now());
  }

  /** Hours of workers from `since` on; the caller has stored what is older than `storedUntil`. */
  async usage({ since, until, storedUntil }: UsageCall): Promise<EndpointHour[]> {
    return this.#commit.run(() => {
      this.#parts.usage.forgetBefore(storedUntil, Date.now());
      this.#store.forgetGone(Date.now() - REMOVED_WORKER_RETENTION_MS);
      return this.#parts.usage.hours(since, until, Date.now());
    });
  }

  /** Those of the workers that the host has, or had recently. */
  async recentWorkersOn(hostId: string, workers: readonly WorkerOfEndpoint[]): Promise<WorkerOfEndpoint[]> {
    return workers.filter((worker) => this.#store.isOrWasOn(hostId, worker));
  }

  // Hosts

  /** Takes the state of a host and returns its assignments. */
  async sync(call: SyncCall): Promise<FleetSyncReply & WithStock> {
    this.#refuseOthers(call.accountId);
    return this.#commit.run(() => {
      this.#registry.applySync(call, Date.now());
      this.#channels.notifyAll(hostTag(call.hostId)); // an older sync of this host ends
      this.#plan();
      return { ...this.#replyTo(call), ...this.#withStock() };
    });
  }

  #replyTo({ hostId, holdMs, appliedRevision }: SyncCall): FleetSyncReply {
    const { revision = 0, removedAt = null } = this.#store.hosts.get(hostId) ?? {};
    if (removedAt !== null) return { kind: "removed" };
    const assigned = this.#assignmentsOf(hostId);
    return holdMs > 0 && revision === appliedRevision ? { kind: "quiet", assigned } : assigned;
  }

  #withStock(isUrgent = false): WithStock {
    const stock = this.#stock.next(Date.now(), isUrgent);
    return stock ? { stock } : {};
  }

  /** The presence of a host was last heard at `at`; unless the host calls, it is lost soon after. */
  async hostSilent(hostId: string, presence: string, at: number): Promise<WithStock> {
    return await this.#commit.run(() => {
      if (!this.#parts.presence.silent(hostId, presence, at)) return {};
      this.#channels.notifyAll(hostTag(hostId)); // or its hold would count again after a loss of memory
      this.#registry.removeLost(Date.now()); // the message may be older than the grace time of a host
      this.#plan();
      return this.#withStock(true);
    });
  }

  /** Cordons, drains or prices a host. */
  async changeHost(change: HostChange): Promise<void> {
    this.#refuseOthers(change.accountId);
    await this.#commit.run(() => this.#registry.change(change, Date.now()));
  }

  /** The token of a host is revoked: its workers are placed elsewhere. */
  async removeHost({ id, accountId, name }: NamedHost): Promise<WithStock> {
    return await this.#commit.run(() => {
      this.#registry.remove({ id, accountId, name }, Date.now());
      this.#plan();
      return this.#withStock(true);
    });
  }

  /** The assignments of a host, without a report of its agent. */
  async assignments(hostId: string): Promise<Exclude<FleetSyncReply, { readonly kind: "quiet" }>> {
    const isRemoved = (this.#store.hosts.get(hostId)?.removedAt ?? null) !== null;
    return isRemoved ? { kind: "removed" } : this.#assignmentsOf(hostId);
  }

  /** Only upgrades come here, with the query `host`, `revision`, `holdMs`, `presence`. */
  override async fetch(request: Request): Promise<Response> {
    const query = new URL(request.url).searchParams;
    const hostId = query.get("host") ?? "";
    const presence = query.get("presence") ?? undefined;
    const waiter = { at: Date.now(), holdMs: Number(query.get("holdMs")), presence };
    const { response, notify } = this.#channels.accept([hostTag(hostId)], waiter);
    const isUpToDate = this.#store.hosts.get(hostId)?.revision === Number(query.get("revision"));
    if (!isUpToDate || !this.#parts.presence.isPromised(hostId, waiter)) notify("look");
    return response;
  }

  override async webSocketClose(socket: WebSocket, code: number): Promise<void> {
    socket.close(code === 1005 || code === 1006 ? 1000 : code);
  }

  // Time

  override async alarm(): Promise<void> {
    this.#alarm.fired();
    await this.#commit.run(() => {
      this.#registry.removeLost(Date.now());
      this.#parts.pods.passTime(Date.now());
    });
  }

  /** Runs once per turn: places workers, notifies hosts and endpoints of changes. */
  #finishTurn(): void {
    const now = Date.now();
    const { revisions, presence } = this.#parts;
    this.#plan();
    for (const hostId of revisions.takeChanged()) this.#channels.notifyAll(hostTag(hostId));
    const hasUnsent = this.#store.unsent.size > 0;
    if (hasUnsent) this.ctx.waitUntil(this.#sendReports());
    const lossAt = presence.earliestDueAt ?? (this.#registry.hasLostWorkers(now) ? now : null);
    if (this.#store.workers.size > 0 && lossAt !== null) this.#alarm.armBy(lossAt);
    const { nextTime } = this.#parts.podStore;
    if (nextTime !== null) this.#alarm.armBy(nextTime);
    if (hasUnsent) this.#alarm.armBy(now + REPORT_AGAIN_MS);
    this.#alarm.armBy(this.#parts.budgets.nextAt);
    const { nextExpiryAt } = this.#parts.standbys;
    if (nextExpiryAt !== null) this.#alarm.armBy(nextExpiryAt);
    const { reviewAt } = this.#parts.sharing;
    if (reviewAt !== null) this.#alarm.armBy(reviewAt);
    if (this.#parts.placer.hasStaleFailures) this.#alarm.armBy(now + PLACEMENT_FAILURE_CACHE_MS);
  }

  // Inside a turn

  #plan(): void {
    const now = Date.now();
    this.#registry.expelSilent(now);
    this.#reviewBudgets(now);
    this.#parts.placer.plan(now, (hostId) => this.#parts.presence.isPresent(hostId, now));
    for (const endpointId of this.#parts.placer.takeChangedEndpoints()) this.#store.addUnsent(endpointId);
  }

  #reviewBudgets(now: number): void {
    for (const endpointId of this.#parts.budgets.review(now)) {
      this.#store.addUnsent(endpointId);
      this.#parts.placer.review(endpointId);
    }
  }

  #assignmentsOf(hostId: string): AssignmentsReply {
    const gpus = this.#store.hosts.get(hostId)?.inventory.gpus ?? [];
    const workers = this.#store
      .workersOn(hostId)
      .filter((worker) => worker.retiredIn === null)
      .map(({ workerId, endpointId, version, gpuIndexes, size, standbyAt, isPod }) => ({
        workerId,
        endpointId,
        version,
        gpuIndexes,
        ...(size?.gpuMemoryMb !== undefined && { gpuMemoryMb: size.gpuMemoryMb }),
        ...(standbyAt !== null && { mode: "standby" as const }),
        ...(isPod && {
          isPod: true as const,
          cluster: this.#parts.clusters.memberOf(workerId),
          volumeNumber: this.#parts.podStore.get(workerId)?.volumeNumber,
        }),
        limits: limitsOf({ gpuIndexes, size }, gpus),
      }));
    const revision = this.#store.hosts.get(hostId)?.revision ?? 0;
    const podVolumes = this.#parts.podStore.withVolumeOn(hostId).map(({ config }) => config.podId);
    const clusterNetwork = this.#parts.clusters.networkOn(hostId);
    return { kind: "assignments", revision, workers, podVolumes, clusterNetwork };
  }

  /** Sends reports to endpoints; the alarm tries again those that are unreachable. */
  async #sendReports(): Promise<void> {
    if (this.#isSending) return;
    this.#isSending = true;
    try {
      while (this.#store.unsent.size > 0)
        await Promise.all([...this.#store.unsent].map((id) => this.#send(id)));
    } catch {
      // An endpoint's object is unreachable at the moment; its report stays unsent.
    } finally {
      this.#isSending = false;
    }
  }

  async #send(endpointId: string): Promise<void> {
    const content = this.#describe(endpointId);
    const json = JSON.stringify(content);
    if (this.#sentReports.get(endpointId) !== json) {
      const stub = this.env.ENDPOINT.getByName(endpointObjectName(endpointId));
      const revision = this.#nextReportRevision();
      const acknowledged = await stub.fleetReport({ ...content, revision });
      if (acknowledged === "removed") await this.#forgetEndpoint(endpointId);
      else if (acknowledged > revision) {
        // An earlier clock was ahead of this one: its last report must not hide this one, which is sent again.
        this.#lastReportRevision = Math.max(this.#lastReportRevision, acknowledged);
        return;
      }
      // An object without a configuration takes no report; it gets this one when it asks for workers.
      if (acknowledged === "removed" || acknowledged === revision) this.#sentReports.set(endpointId, json);
    }
    if (!this.#parts.placer.hasEndpoint(endpointId)) this.#sentReports.delete(endpointId); // endpoints come and go, Fleet stays
    // If it has changed in the meantime, it stays unsent and is sent again.
    if (JSON.stringify(this.#describe(endpointId)) === json) this.#store.removeUnsent(endpointId);
  }

  /** The endpoint was deleted; what its object had sent before may have come after that. */
  async #forgetEndpoint(endpointId: string): Promise<void> {
    if (!this.#store.desiredWorkers.has(endpointId)) return;
    await this.#commit.run(() => {
      this.#parts.placer.removeDesiredWorkers(endpointId);
      this.#parts.placer.review(endpointId);
    });
  }

  #nextReportRevision(lastRevision = 0): number {
    this.#lastReportRevision = Math.max(this.#lastReportRevision + 1, lastRevision + 1, Date.now());
    return this.#lastReportRevision;
  }

  /** The report of an endpoint's workers. */
  #describe(endpointId: string): Omit<FleetReport, "revision"> {
    const workers = reportedWorkers(this.#parts, endpointId);
    const budget = this.#parts.budgets.noticeFor(endpointId);
    return { workers, ...this.#parts.placer.placementStatus(endpointId), ...(budget && { budget }) };
  }
}

function hostTag(hostId: string): string {
  return `host:${hostId}`;
}
