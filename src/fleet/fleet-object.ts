/** The Fleet object: which hosts there are, and which worker runs where. */
import { DurableObject } from "cloudflare:workers";
import { shardName } from "../durable/object-name.ts";
import { limitsOf } from "./placement/worker-limits.ts";
import { AlarmClock } from "../durable/alarm-clock.ts";
import { WakeUpChannels } from "../durable/wake-up-channels.ts";
import { GroupCommit } from "../durable/group-commit.ts";
import type { HostStock } from "../domain/placement/stock.ts";
import type { EndpointPort, DesiredWorkersUpdate } from "../durable/ports.ts";
import { ObjectDatabase } from "../durable/sql.ts";
import type { FleetReport } from "../domain/jobs/queue-reason.ts";
import { takeFleetSnapshot, type FleetSnapshot } from "./fleet-snapshot.ts";
import { fleetParts, type FleetParts } from "./composition.ts";
import type { FleetStore } from "./fleet-store.ts";
import type { Heard } from "./hosts/host-presence.ts";
import { HostRegistry } from "./hosts/host-registry.ts";
import { reportedWorkers, viewWorkers } from "./worker-views.ts";
import type {
  AssignmentsReply,
  FleetSyncReply,
  HostChange,
  HostView,
  WorkerView,
  SyncCall,
  UsageCall,
  WorkerOfEndpoint,
} from "./messages.ts";
import { FLEET_MIGRATIONS } from "./schema.ts";
import type { EndpointHour } from "./worker-usage.ts";
import { PLACEMENT_FAILURE_CACHE_MS } from "./placement/placer.ts";

/** How long a host may deliver log lines of a worker after its removal. */
const REMOVED_WORKER_RETENTION_MS = 86_400_000;

const REPORT_AGAIN_MS = 2_000;

export type FleetObjectEnv = { readonly ENDPOINT: DurableObjectNamespace<EndpointPort> };

export class FleetObject extends DurableObject<FleetObjectEnv> {
  readonly #parts: FleetParts;
  readonly #store: FleetStore;
  readonly #registry: HostRegistry;
  readonly #commit: GroupCommit;
  readonly #alarm: AlarmClock;
  /** Hosts that wait; after a hibernation their sockets tell that they are there. */
  readonly #channels: WakeUpChannels<Heard>;
  /** Last report that each endpoint has heard, as text. */
  readonly #sentReports = new Map<string, string>();
  #lastReportRevision = 0;
  #isSending = false;

  constructor(context: DurableObjectState, env: FleetObjectEnv) {
    super(context, env);
    const database = new ObjectDatabase(context.storage.sql);
    database.migrate(FLEET_MIGRATIONS);
    this.#parts = fleetParts(database);
    this.#store = this.#parts.store;
    this.#registry = new HostRegistry(this.#parts);
    this.#alarm = new AlarmClock(context.storage);
    this.#channels = new WakeUpChannels(context);
    this.#commit = new GroupCommit(context, () => this.#finishTurn());
    void context.blockConcurrencyWhile(() => this.#wake());
  }

  async #wake(): Promise<void> {
    this.#store.load();
    this.#registry.recover(Date.now(), (hostId) => this.#channels.find(hostTag(hostId))[0]?.waiter);
    this.#parts.placer.reviewAll();
    await this.#alarm.load();
  }

  // Endpoints

  /** An endpoint says how many workers it wants, of which kind, and which of those it has may go. */
  async setDesiredWorkers(update: DesiredWorkersUpdate): Promise<void> {
    await this.#commit.run(() => {
      if (update.isRemoved) this.#parts.placer.removeDesiredWorkers(update.config.endpointId);
      else this.#store.saveDesiredWorkers({ desired: update.desired, config: update.config });
      this.#parts.placer.scaleDown(update.config.endpointId, update.leaving ?? [], Date.now());
      this.#parts.placer.resume(update.config.endpointId, update.resume ?? []);
      this.#store.addUnsent(update.config.endpointId);
      this.#parts.placer.review(update.config.endpointId);
    });
  }

  /** An agent names a worker of which the endpoint has not heard: what is there to tell it now? */
  async reportOf(endpointId: string, lastRevision: number): Promise<FleetReport> {
    return { ...this.#describe(endpointId), revision: this.#nextReportRevision(lastRevision) };
  }

  /** A secret or registry credential of the account has changed. */
  async renewAssignments(accountId: string): Promise<void> {
    await this.#commit.run(() => this.#registry.renewAssignments(accountId));
  }

  // For people who look

  /** What the hosts of all accounts have and how much of it is free; nothing tells whose a host is. */
  async stock(): Promise<HostStock[]> {
    return this.#registry.stock(Date.now());
  }

  /** The hosts of an account, as far as Fleet knows them. */
  async hostsOf(accountId: string): Promise<HostView[]> {
    return this.#registry.viewsOf(accountId, Date.now());
  }

  /** Workers of endpoints, the oldest first; the caller answers for whose endpoints these are. */
  async workersOf(endpointIds: readonly string[]): Promise<WorkerView[]> {
    return viewWorkers(this.#store, endpointIds);
  }

  /** Who is there of an account; for those who measure. */
  async snapshot(accountId: string): Promise<FleetSnapshot> {
    return takeFleetSnapshot(this.#parts, accountId, Date.now());
  }

  /** Hours of workers from `since` on; whoever asks has stored what is older than `storedUntil`. */
  async usage({ since, until, storedUntil }: UsageCall): Promise<EndpointHour[]> {
    return this.#commit.run(() => {
      this.#parts.usage.forgetBefore(storedUntil);
      this.#store.forgetGone(Date.now() - REMOVED_WORKER_RETENTION_MS);
      return this.#parts.usage.hours(since, until, Date.now());
    });
  }

  /** Those of the workers that the host has, or had a while ago. */
  async recentWorkersOn(hostId: string, workers: readonly WorkerOfEndpoint[]): Promise<WorkerOfEndpoint[]> {
    return workers.filter((worker) => this.#store.isOrWasOn(hostId, worker));
  }

  // Hosts

  /** An agent says what its host has and hears what it should have. */
  async sync(call: SyncCall): Promise<FleetSyncReply> {
    return this.#commit.run(() => {
      this.#registry.applySync(call, Date.now());
      this.#channels.notifyAll(hostTag(call.hostId)); // sends an older hold home
      this.#plan();
      const { revision = 0, removedAt = null } = this.#store.hosts.get(call.hostId) ?? {};
      if (removedAt !== null) return { kind: "removed" };
      if (call.holdMs > 0 && revision === call.appliedRevision) return { kind: "quiet" };
      return this.#assignmentsOf(call.hostId);
    });
  }

  /** A host's presence was last heard at `at`; unless the host speaks, it is lost soon after. */
  async hostSilent(hostId: string, presence: string, at: number): Promise<void> {
    await this.#commit.run(() => {
      if (!this.#parts.presence.silent(hostId, presence, at)) return;
      this.#channels.notifyAll(hostTag(hostId)); // or its promise would be believed again after a loss of memory
      this.#registry.removeLost(Date.now()); // the news may be older than the time that a silent host gets
    });
  }

  /** The owner of a host wants something else of it. */
  async changeHost(change: HostChange): Promise<void> {
    await this.#commit.run(() => this.#registry.change(change));
  }

  /** The token of a host is revoked: its workers are placed elsewhere. */
  async removeHost(hostId: string): Promise<void> {
    await this.#commit.run(() => this.#registry.remove(hostId, Date.now()));
  }

  /** What a host should have, without its agent having anything to say. */
  async assignments(hostId: string): Promise<Exclude<FleetSyncReply, { readonly kind: "quiet" }>> {
    const isRemoved = (this.#store.hosts.get(hostId)?.removedAt ?? null) !== null;
    return isRemoved ? { kind: "removed" } : this.#assignmentsOf(hostId);
  }

  /** Only upgrades come here: `/doorbell?host=…&revision=…&holdMs=…`. */
  override async fetch(request: Request): Promise<Response> {
    const query = new URL(request.url).searchParams;
    const hostId = query.get("host") ?? "";
    const presence = query.get("presence") ?? undefined;
    const waiter = { at: Date.now(), holdMs: Number(query.get("holdMs")), presence };
    const { response, notify } = this.#channels.accept([hostTag(hostId)], waiter);
    if (this.#store.hosts.get(hostId)?.revision !== Number(query.get("revision"))) notify("look");
    return response;
  }

  override async webSocketClose(socket: WebSocket, code: number): Promise<void> {
    socket.close(code === 1005 || code === 1006 ? 1000 : code);
  }

  // Time

  override async alarm(): Promise<void> {
    this.#alarm.fired();
    await this.#commit.run(() => this.#registry.removeLost(Date.now()));
  }

  /** Runs once per turn: place what is wanted, tell hosts and endpoints what changed. */
  #finishTurn(): void {
    const now = Date.now();
    const { revisions, presence } = this.#parts;
    this.#plan();
    for (const hostId of revisions.takeChanged()) this.#channels.notifyAll(hostTag(hostId));
    const hasUnsent = this.#store.unsent.size > 0;
    if (hasUnsent) this.ctx.waitUntil(this.#sendReports());
    // A host with workers that is not there is lost already.
    if (this.#store.workers.size > 0) this.#alarm.armBy(presence.earliestDueAt ?? now);
    if (hasUnsent) this.#alarm.armBy(now + REPORT_AGAIN_MS);
    const { nextExpiryAt } = this.#parts.standbys;
    if (nextExpiryAt !== null) this.#alarm.armBy(nextExpiryAt);
    if (this.#parts.placer.hasStaleFailures) this.#alarm.armBy(now + PLACEMENT_FAILURE_CACHE_MS);
  }

  // Inside a turn

  #plan(): void {
    const now = Date.now();
    this.#registry.expelSilent(now);
    this.#parts.placer.plan(now, (hostId) => this.#parts.presence.isPresent(hostId, now));
    for (const endpointId of this.#parts.placer.takeChangedEndpoints()) this.#store.addUnsent(endpointId);
  }

  #assignmentsOf(hostId: string): AssignmentsReply {
    const gpus = this.#store.hosts.get(hostId)?.inventory.gpus ?? [];
    const workers = this.#store
      .workersOn(hostId)
      .filter((worker) => worker.retiredIn === null)
      .map(({ workerId, endpointId, version, gpuIndexes, size, standbyAt }) => ({
        workerId,
        endpointId,
        version,
        gpuIndexes,
        ...(standbyAt !== null && { mode: "standby" as const }),
        limits: limitsOf({ gpuIndexes, size }, gpus),
      }));
    return { kind: "assignments", revision: this.#store.hosts.get(hostId)?.revision ?? 0, workers };
  }

  /** Tells endpoints of their workers; who cannot be reached is told again by the alarm. */
  async #sendReports(): Promise<void> {
    if (this.#isSending) return;
    this.#isSending = true;
    try {
      while (this.#store.unsent.size > 0)
        await Promise.all([...this.#store.unsent].map((id) => this.#send(id)));
    } catch {
      // An endpoint's object is unreachable at the moment; what was not sent is still noted.
    } finally {
      this.#isSending = false;
    }
  }

  async #send(endpointId: string): Promise<void> {
    const content = this.#describe(endpointId);
    const json = JSON.stringify(content);
    if (this.#sentReports.get(endpointId) !== json) {
      const stub = this.env.ENDPOINT.getByName(shardName(endpointId, 0));
      const revision = this.#nextReportRevision();
      const acknowledged = await stub.fleetReport({ ...content, revision });
      if (acknowledged > revision) {
        // A clock of before was ahead of this one: what it wrote last must not hide this, which is sent again.
        this.#lastReportRevision = Math.max(this.#lastReportRevision, acknowledged);
        return;
      }
      this.#sentReports.set(endpointId, json);
    }
    if (!this.#parts.placer.hasEndpoint(endpointId)) this.#sentReports.delete(endpointId); // endpoints come and go, Fleet stays
    // Changed while it was on its way? Then it stays noted and is sent again.
    if (JSON.stringify(this.#describe(endpointId)) === json) this.#store.removeUnsent(endpointId);
  }

  #nextReportRevision(lastRevision = 0): number {
    this.#lastReportRevision = Math.max(this.#lastReportRevision + 1, lastRevision + 1, Date.now());
    return this.#lastReportRevision;
  }

  /** What an endpoint is told of its workers. */
  #describe(endpointId: string): Omit<FleetReport, "revision"> {
    const workers = reportedWorkers(this.#store, endpointId);
    return { workers, ...this.#parts.placer.placementStatus(endpointId) };
  }
}

function hostTag(hostId: string): string {
  return `host:${hostId}`;
}
