/** The Fleet object: which hosts there are, and which worker runs where. */
import { DurableObject } from "cloudflare:workers";
import { shardName } from "../domain/shard.ts";
import { AlarmClock } from "../durable/alarm-clock.ts";
import { Doorbells } from "../durable/doorbells.ts";
import { GroupCommit } from "../durable/group-commit.ts";
import type { HostStock } from "../domain/stock.ts";
import type { EndpointPort, Wish } from "../durable/ports.ts";
import { ObjectDatabase } from "../durable/sql.ts";
import { Placer } from "./placer.ts";
import { FleetStore, type HostRecord } from "./fleet-store.ts";
import { HostPresence } from "./host-presence.ts";
import { showWorkers } from "./shown-workers.ts";
import type { AssignmentsReply, FleetSyncReply, ShownWorker, SyncCall } from "./messages.ts";
import { FLEET_MIGRATIONS } from "./schema.ts";

const REPORT_AGAIN_MS = 2_000;

export type FleetObjectEnv = { readonly ENDPOINT: DurableObjectNamespace<EndpointPort> };

/** A host that waits on a doorbell; its socket tells after a hibernation that the host is there. */
type HostBell = { readonly heardAt: number; readonly holdMs: number };

export class FleetObject extends DurableObject<FleetObjectEnv> {
  readonly #store: FleetStore;
  readonly #presence = new HostPresence();
  readonly #placer: Placer;
  readonly #commit: GroupCommit;
  readonly #alarm: AlarmClock;
  readonly #bells: Doorbells<HostBell>;
  /** Last report that each endpoint has heard, as text. */
  readonly #heardReports = new Map<string, string>();
  #lastReportRevision = 0;
  #isSending = false;

  constructor(context: DurableObjectState, env: FleetObjectEnv) {
    super(context, env);
    const database = new ObjectDatabase(context.storage.sql);
    database.migrate(FLEET_MIGRATIONS);
    this.#store = new FleetStore(database);
    this.#alarm = new AlarmClock(context.storage);
    this.#bells = new Doorbells(context);
    this.#commit = new GroupCommit(context, () => this.#finishTurn());
    this.#placer = new Placer(this.#store, this.#presence);
    void context.blockConcurrencyWhile(() => this.#wake());
  }

  async #wake(): Promise<void> {
    const now = Date.now();
    this.#store.load();
    for (const hostId of this.#store.hosts.keys()) {
      const bell = this.#bells.find(hostTag(hostId))[0]?.waiter;
      if (bell) this.#presence.heard(hostId, bell.heardAt, bell.holdMs);
      // A host with workers gets the time to come back before they are given up.
      else if (this.#store.workersOn(hostId).length > 0) this.#presence.heard(hostId, now, 0);
    }
    await this.#alarm.load();
  }

  // Endpoints

  /** An endpoint says how many workers it wants, of which kind, and which of those it has may go. */
  async wish(wish: Wish): Promise<void> {
    await this.#commit.run(() => {
      if (wish.isRemoved) this.#placer.removeWish(wish.config.endpointId);
      else this.#store.saveWish({ wanted: wish.wanted, config: wish.config });
      this.#placer.letGo(wish.config.endpointId, wish.leaving ?? []);
      this.#store.addUnsent(wish.config.endpointId);
    });
  }

  /** A secret or registry credential of the account has changed. */
  async renewAssignments(accountId: string): Promise<void> {
    await this.#commit.run(() => this.#placer.renewAssignments(accountId));
  }

  // For people who look

  /** What the hosts of all accounts have and how much of it is free; nothing tells whose a host is. */
  async stock(): Promise<HostStock[]> {
    return this.#placer.stock(Date.now());
  }

  /** Workers of endpoints, the oldest first; the caller answers for whose endpoints these are. */
  async workersOf(endpointIds: readonly string[]): Promise<ShownWorker[]> {
    return showWorkers(this.#store, endpointIds);
  }

  // Hosts

  /** An agent says what its host has and hears what it should have. */
  async sync(call: SyncCall): Promise<FleetSyncReply> {
    return this.#commit.run(() => {
      const now = Date.now();
      const host = this.#welcome(call, now);
      this.#takeWorkerReports(call);
      this.#bells.ringAll(hostTag(call.hostId)); // sends an older hold home
      this.#placer.plan(now);
      const latest = this.#store.hosts.get(call.hostId) ?? host;
      if (call.holdMs > 0 && latest.revision === call.appliedRevision) return { kind: "quiet" };
      return this.#assignmentsOf(latest);
    });
  }

  /** What a host should have, without its agent having anything to say. */
  async assignments(hostId: string): Promise<AssignmentsReply> {
    const host = this.#store.hosts.get(hostId);
    return host ? this.#assignmentsOf(host) : { kind: "assignments", revision: 0, workers: [] };
  }

  /** Only upgrades come here: `/doorbell?host=…&revision=…&holdMs=…`. */
  override async fetch(request: Request): Promise<Response> {
    const query = new URL(request.url).searchParams;
    const hostId = query.get("host") ?? "";
    const waiter = { heardAt: Date.now(), holdMs: Number(query.get("holdMs")) };
    const { response, ring } = this.#bells.accept([hostTag(hostId)], waiter);
    if (this.#store.hosts.get(hostId)?.revision !== Number(query.get("revision"))) ring("look");
    return response;
  }

  override async webSocketClose(socket: WebSocket, code: number): Promise<void> {
    socket.close(code === 1005 || code === 1006 ? 1000 : code);
  }

  // Time

  override async alarm(): Promise<void> {
    this.#alarm.rang();
    await this.#commit.run(() => {
      for (const hostId of this.#placer.giveUpLostHosts(Date.now())) this.#presence.forget(hostId);
    });
  }

  /** Runs once per turn: place what is wanted, tell hosts and endpoints what changed. */
  #finishTurn(): void {
    const now = Date.now();
    this.#placer.plan(now);
    for (const endpointId of this.#placer.takeChangedEndpoints()) this.#store.addUnsent(endpointId);
    for (const hostId of this.#placer.takeChangedHosts()) this.#bells.ringAll(hostTag(hostId));
    if (this.#store.unsent.size > 0) this.ctx.waitUntil(this.#sendReports());

    const dueAt = [...this.#store.workers.values()].map(({ hostId }) => this.#presence.dueAt(hostId) ?? now);
    if (this.#store.unsent.size > 0) dueAt.push(now + REPORT_AGAIN_MS);
    if (dueAt.length > 0) this.#alarm.armBy(Math.min(...dueAt));
  }

  // Inside a turn

  #welcome(call: SyncCall, now: number): HostRecord {
    const known = this.#store.hosts.get(call.hostId);
    this.#presence.heard(call.hostId, now, call.holdMs);
    const isKnown =
      known?.agentVersion === call.agentVersion &&
      JSON.stringify(fixedPart(known.inventory)) === JSON.stringify(fixedPart(call.inventory));
    if (known && isKnown) return known;
    const host: HostRecord = {
      hostId: call.hostId,
      accountId: call.accountId,
      agentVersion: call.agentVersion,
      inventory: call.inventory,
      revision: known?.revision ?? 1,
    };
    this.#store.saveHost(host);
    return host;
  }

  #takeWorkerReports(call: SyncCall): void {
    const reported = new Map(call.workers.map((report) => [report.workerId, report]));
    for (const worker of this.#store.workersOn(call.hostId)) {
      const report = reported.get(worker.workerId);
      if (report) this.#placer.noteState(worker, report.state, report.detail ?? null, report.start);
      else if (worker.retiredIn !== null && call.appliedRevision >= worker.retiredIn) {
        this.#placer.remove(worker);
      }
    }
  }

  #assignmentsOf(host: HostRecord): AssignmentsReply {
    const workers = this.#store
      .workersOn(host.hostId)
      .filter((worker) => worker.retiredIn === null)
      .map(({ workerId, endpointId, version, gpuIndexes }) => ({
        workerId,
        endpointId,
        version,
        gpuIndexes,
      }));
    return { kind: "assignments", revision: host.revision, workers };
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
    const content = this.#placer.describe(endpointId);
    const text = JSON.stringify(content);
    if (this.#heardReports.get(endpointId) !== text) {
      this.#lastReportRevision = Math.max(this.#lastReportRevision + 1, Date.now());
      const stub = this.env.ENDPOINT.getByName(shardName(endpointId, 0));
      await stub.fleetReport({ ...content, revision: this.#lastReportRevision });
      this.#heardReports.set(endpointId, text);
    }
    if (!this.#placer.isKnown(endpointId)) this.#heardReports.delete(endpointId); // endpoints come and go, Fleet stays
    // Changed while it was on its way? Then it stays noted and is sent again.
    if (JSON.stringify(this.#placer.describe(endpointId)) === text) this.#store.removeUnsent(endpointId);
  }
}

function hostTag(hostId: string): string {
  return `host:${hostId}`;
}

/** Free disk changes all the time and is no reason to write a row. */
function fixedPart(inventory: HostRecord["inventory"]): unknown {
  return { ...inventory, diskFreeMb: 0 };
}
