/** The Endpoint object: queue, leases, results and scaling wish of one endpoint. */
import { DurableObject } from "cloudflare:workers";
import { HOT_HOLD_MS, QUEUE_DEPTH_MAX } from "../contract/limits.ts";
import type { EndpointConfig } from "../contract/endpoint.ts";
import { countWorkers } from "../domain/health.ts";
import { decodeJobId, encodeJobId, NONCE_BYTES } from "../domain/job-id.ts";
import { isFinal, type JobEvent } from "../domain/job-machine.ts";
import { listJob, stateOf, viewJob, wireStatusOf, type JobView } from "../domain/job-view.ts";
import { laneOf } from "../domain/lanes.ts";
import { payloadPrefix, resultKey } from "../domain/payload-key.ts";
import { explainWait, NO_REPORT, type FleetReport } from "../domain/queue-reason.ts";
import { AlarmClock } from "../durable/alarm-clock.ts";
import { GroupCommit } from "../durable/group-commit.ts";
import { FLEET_NAME, type FleetPort } from "../durable/ports.ts";
import { ObjectDatabase } from "../durable/sql.ts";
import { Waiters } from "../durable/waiters.ts";
import { AgentDesk } from "./agent-desk.ts";
import { ChunkStore } from "./chunk-store.ts";
import { Dispatch } from "./dispatch.ts";
import { EndpointBells, readAgentQuery, readJobWaiter } from "./endpoint-bells.ts";
import { JobStore, type StoredJob } from "./job-store.ts";
import type {
  CancelOutcome,
  CancelReply,
  DrainOutcome,
  DrainReply,
  ExchangeAnswer,
  ExchangeCall,
  ExchangeReply,
  HealthReply,
  ListCall,
  ListOutcome,
  ListReply,
  PurgeOutcome,
  PurgeReply,
  RateLimited,
  ReadStreamOutcome,
  ReadStreamReply,
  RetryOutcome,
  RetryReply,
  SlotRef,
  StatusOutcome,
  StatusReply,
  SubmitOutcome,
  SubmitReply,
  SubmitRequest,
  Unconfigured,
  UploadRef,
  WantsUploadReply,
} from "./messages.ts";
import { QueueLedger } from "./queue-ledger.ts";
import { Queue } from "./queue.ts";
import { queueFull, RequestLimits, type RequestSlot } from "./request-limits.ts";
import { Scaling } from "./scaling.ts";
import { ENDPOINT_MIGRATIONS } from "./schema.ts";

/** The object is hot, and lets calls wait inside it, for this long after the last work. */
const HOT_FOR_MS = 2_000;

/** Time that the answer to `remove` gets to leave before the object's memory is reset. */
const RESET_AFTER_MS = 100;

const SHARD = 0;

/** R2 takes no more keys in one call. */
const DELETE_MAX_KEYS = 1_000;

export type EndpointObjectEnv = {
  readonly FLEET: DurableObjectNamespace<FleetPort>;
  readonly PAYLOADS: R2Bucket;
};

export class EndpointObject extends DurableObject<EndpointObjectEnv> {
  readonly #database: ObjectDatabase;
  readonly #store: JobStore;
  readonly #chunks: ChunkStore;
  readonly #ledger: QueueLedger;
  readonly #queue: Queue;
  readonly #scaling: Scaling;
  readonly #dispatch = new Dispatch();
  readonly #desk: AgentDesk;
  readonly #commit: GroupCommit;
  readonly #alarm: AlarmClock;
  readonly #bells: EndpointBells;
  readonly #limits = new RequestLimits();
  readonly #jobWaiters = new Waiters<number, "look">();
  readonly #streamWaiters = new Waiters<number, "look">();
  #config: EndpointConfig | undefined;
  #report: FleetReport = NO_REPORT;
  #lastActiveAt = 0;

  constructor(context: DurableObjectState, env: EndpointObjectEnv) {
    super(context, env);
    this.#database = new ObjectDatabase(context.storage.sql);
    this.#alarm = new AlarmClock(context.storage);
    this.#bells = new EndpointBells(context, this.#limits);
    this.#commit = new GroupCommit(context, () => this.#finishTurn());
    this.#database.migrate(ENDPOINT_MIGRATIONS);
    this.#store = new JobStore(this.#database);
    this.#chunks = new ChunkStore(this.#database);
    this.#ledger = new QueueLedger(this.#store);
    this.#queue = new Queue(this.#store, this.#chunks, this.#ledger);
    this.#scaling = new Scaling(this.#store, this.#ledger);
    this.#desk = new AgentDesk(this.#queue, this.#chunks, this.#ledger, this.#dispatch, publicId);
    void context.blockConcurrencyWhile(() => this.#wake());
  }

  async #wake(): Promise<void> {
    const now = Date.now();
    this.#config = this.#store.readFact<EndpointConfig>("config");
    this.#report = this.#store.readFact<FleetReport>("report") ?? NO_REPORT;
    this.#limits.growWith(this.#report);
    this.#bells.recover();
    this.#queue.recover(now);
    this.#scaling.recover(now);
    await this.#alarm.load();
  }

  // Configuration

  /** Takes over the endpoint's configuration; the next job sees it. */
  async configure(config: EndpointConfig): Promise<void> {
    // A caller who read the endpoint just before it was deleted must not bring it back.
    if (this.#store.readFact<true>("removed")) return;
    await this.#commit.run(() => {
      this.#config = config;
      this.#store.writeFact("config", config);
      this.#scaling.repeat();
    });
  }

  /** The endpoint is deleted: its workers go, its jobs and payloads are removed. */
  async remove(): Promise<void> {
    const config = this.#config;
    if (!config) return;
    await this.#fleet().wish({ config, wanted: 0, isRemoved: true });
    await removePayloads(this.env.PAYLOADS, config.endpointId);
    this.#config = undefined;
    await this.ctx.storage.deleteAll();
    this.#database.migrate(ENDPOINT_MIGRATIONS);
    this.#store.writeFact("removed", true);
    // Memory must go too. Until then every call finds no configuration and touches no table.
    setTimeout(() => this.ctx.abort("The endpoint was deleted."), RESET_AFTER_MS);
  }

  // Jobs, for clients

  /** Queues a job; waits a moment for its result when asked to and when the object is hot anyway. */
  async submit(request: SubmitRequest): Promise<SubmitReply> {
    if (!this.#config) return UNCONFIGURED;
    return this.#limits.admit<SubmitOutcome>(operationOf(request), Date.now(), async (slot) => {
      const submitted = await this.#commit.run(() => this.#submitOnce(request, Date.now()));
      if (submitted.kind !== "stored") return submitted;
      const { stored, isNew } = submitted;
      if (request.holdMs > 0 && !isFinal(stored.job.state))
        await this.#holdForJob(stored.seq, request.holdMs);
      const latest = this.#queue.get(stored.seq) ?? stored;
      return { kind: "submitted", isNew, ...this.#show(latest, request.holdMs > 0 ? slot : null) };
    });
  }

  /**
   * A job as it stands; with `holdMs`, after a moment in which it may have ended. Who has waited before
   * brings the slot that it was given then.
   */
  async status(jobId: string, holdMs: number, kept: SlotRef | null = null): Promise<StatusReply> {
    if (!this.#config) return UNCONFIGURED;
    const look = async (slot: RequestSlot) => this.#look(jobId, holdMs, slot);
    if (kept) return this.#limits.resume<StatusOutcome>(kept, look);
    return this.#limits.admit<StatusOutcome>("status", Date.now(), look);
  }

  /**
   * Hands out the chunks that no earlier call got; waits a moment for some when asked to. Only the first
   * look of a request counts to its limit.
   */
  async drain(jobId: string, holdMs: number, isFirstLook: boolean): Promise<DrainReply> {
    if (!this.#config) return UNCONFIGURED;
    const look = () => this.#drainNow(jobId, holdMs);
    if (isFirstLook) return this.#limits.admit<DrainOutcome>("stream", Date.now(), look);
    return { ...(await look()), quota: null };
  }

  /** Chunks beyond a position, in batches, without touching what is drained. */
  async readStream(
    jobId: string,
    position: number,
    holdMs: number,
    isFirstLook: boolean,
  ): Promise<ReadStreamReply> {
    if (!this.#config) return UNCONFIGURED;
    const look = () => this.#readStreamNow(jobId, position, holdMs);
    if (isFirstLook) return this.#limits.admit<ReadStreamOutcome>("stream", Date.now(), look);
    return { ...(await look()), quota: null };
  }

  async cancel(jobId: string): Promise<CancelReply> {
    if (!this.#config) return UNCONFIGURED;
    const work = (): CancelOutcome => {
      const now = Date.now();
      const stored = this.#find(jobId, now);
      if (!stored) return NOT_FOUND;
      const applied = this.#queue.apply(stored, CANCEL, now);
      const { state } = applied.kind === "moved" ? applied.job : stored.job;
      return { kind: "done", id: jobId, status: wireStatusOf(state) };
    };
    return this.#limits.admit("cancel", Date.now(), () => this.#commit.run(work));
  }

  async retry(jobId: string): Promise<RetryReply> {
    if (!this.#config) return UNCONFIGURED;
    const work = (): RetryOutcome => {
      const now = Date.now();
      const stored = this.#find(jobId, now);
      if (!stored) return NOT_FOUND;
      const applied = this.#queue.apply(stored, RETRY, now);
      if (applied.kind === "moved") return { kind: "done", id: jobId };
      return { kind: "not_retryable", status: wireStatusOf(stored.job.state) };
    };
    return this.#limits.admit("retry", Date.now(), () => this.#commit.run(work));
  }

  /** Cancels every job that waits. */
  async purge(): Promise<PurgeReply> {
    if (!this.#config) return UNCONFIGURED;
    const work = (): PurgeOutcome => {
      const now = Date.now();
      const removed = this.#queue.purge(now);
      this.#jobWaiters.wakeAll("look");
      this.#streamWaiters.wakeAll("look");
      this.#bells.ringAllJobs(now);
      return { kind: "purged", removed };
    };
    return this.#limits.admit("purge-queue", Date.now(), () => this.#commit.run(work));
  }

  /** A page of the jobs that are still there, the newest first. */
  async list({ status, offset, limit }: ListCall): Promise<ListReply> {
    if (!this.#config) return UNCONFIGURED;
    return this.#limits.admit<ListOutcome>("requests", Date.now(), async () => {
      const state = status && stateOf(status);
      const matching = this.#queue.newestFirst(Date.now()).filter(({ job }) => !state || job.state === state);
      const found = [...matching.drop(offset).take(limit + 1)];
      const requests = found.slice(0, limit).map((stored) => listJob(publicId(stored), stored.job));
      const total = this.#ledger.countIn(state);
      return { kind: "jobs", page: { requests, total, offset, limit, hasMore: found.length > limit } };
    });
  }

  async health(): Promise<HealthReply> {
    if (!this.#config) return UNCONFIGURED;
    const { completed, failed, retried } = this.#ledger.counts;
    const inProgress = this.#ledger.running.size;
    const jobs = { completed, failed, inProgress, inQueue: this.#ledger.queued, retried };
    const busy = new Set([...this.#ledger.running.values()].map((lease) => lease.workerId));
    return { kind: "health", health: { jobs, workers: countWorkers(this.#report, busy) } };
  }

  /** The endpoint's workers, for the management API. */
  async workers(): Promise<readonly { readonly workerId: string; readonly desiredStatus: DesiredStatus }[]> {
    return this.#report.workers.map(({ workerId, state }) => ({
      workerId,
      desiredStatus: state === "crash_looping" ? "RESTARTING" : state === "pulling" ? "CREATED" : "RUNNING",
    }));
  }

  // Agents

  /** One exchange of an agent: takes its reports, extends its leases, answers with jobs and stops. */
  async exchange(call: ExchangeCall): Promise<ExchangeReply> {
    if (!this.#config) return UNCONFIGURED;
    if (call.isHolding && this.#dispatch.isSuperseded(call)) return { kind: "superseded" };

    const answer = await this.#commit.run(() => {
      const now = Date.now();
      const answered = this.#desk.exchange(call, now);
      if (!isEmptyAnswer({ ...answered, stops: [] })) this.#lastActiveAt = now;
      return answered;
    });
    if (!call.isHolding || !isEmptyAnswer(answer)) return { kind: "answer", ...answer };

    this.#dispatch.supersede(call.hostId);
    this.#bells.supersede(call);
    if (!this.#isHot(Date.now())) return { kind: "quiet" };
    const end = await this.#dispatch.hold({ ...call, slots: this.#desk.openSlots(call) });
    if (end.kind === "jobs") return { kind: "answer", acks: [], chunkAcks: [], stops: [], jobs: end.jobs };
    return end.kind === "look" ? this.exchange({ ...call, reports: [], chunks: [] }) : end;
  }

  /** Whether the result of an attempt shall be stored under its key, or is and shall stay there. */
  async wantsUpload(upload: UploadRef): Promise<WantsUploadReply> {
    if (!this.#config) return UNCONFIGURED;
    return { kind: "answer", isWanted: this.#desk.wantsUpload(upload, Date.now()) };
  }

  /** What Fleet knows of this endpoint's workers. A leased job whose worker is gone is rescued. */
  async fleetReport(report: FleetReport): Promise<void> {
    if (!this.#config || report.revision <= this.#report.revision) return;
    await this.#commit.run(() => {
      this.#report = report;
      this.#limits.growWith(report);
      this.#store.writeFact("report", report);
      this.#desk.rescueFromLostWorkers(new Set(report.workers.map(({ workerId }) => workerId)), Date.now());
    });
  }

  // Doorbells

  /**
   * Only upgrades come here: `/doorbell?job=…&operation=…&slot=…&wait=…`, `/doorbell?stream=…&after=…` or
   * `/doorbell?host=…&session=…&turn=…&free=…`.
   */
  override async fetch(request: Request): Promise<Response> {
    const query = new URL(request.url).searchParams;
    const jobId = query.get("job");
    if (jobId !== null) {
      const now = Date.now();
      const stored = this.#find(jobId, now);
      return this.#bells.openForJob(readJobWaiter(query, stored?.seq, now), isUnderway(stored));
    }
    const streamId = query.get("stream");
    if (streamId !== null) {
      const stored = this.#find(streamId, Date.now());
      const isQuiet = isUnderway(stored) && this.#chunks.endOf(stored.seq) <= Number(query.get("after"));
      return this.#bells.openForStream(stored?.seq, isQuiet);
    }
    const agent = readAgentQuery(query);
    const hasNews = this.#desk.hasNewsFor(agent.hostId) || (agent.free > 0 && this.#ledger.queued > 0);
    return this.#bells.openForAgent(agent, hasNews);
  }

  override async webSocketClose(socket: WebSocket, code: number): Promise<void> {
    this.#bells.closed(socket);
    // 1005 and 1006 are what a side sees that was told nothing; they may not be sent.
    socket.close(code === 1005 || code === 1006 ? 1000 : code);
  }

  override async webSocketError(socket: WebSocket): Promise<void> {
    this.#bells.closed(socket);
  }

  // Time

  override async alarm(): Promise<void> {
    this.#alarm.rang();
    if (!this.#config) return;
    await this.#commit.run(() => this.#queue.sweep(Date.now()));
  }

  /** Runs once per turn: everything that follows from what the turn did, in the same commit. */
  #finishTurn(): void {
    const now = Date.now();
    this.#handOut(now);
    this.#tellOfChunks();
    this.#carryOutEffects(now);
    this.#dropOrphanedPayloads();
    if (!this.#config) return;
    this.#scaling.decide(this.#config, now);
    this.#ledger.checkpointIfDue();
    this.#arm(now);
    if (this.#scaling.isUntold) this.#tellFleet();
  }

  #arm(now: number): void {
    const isMoreToSweep = this.#alarm.armedAt === null && this.#queue.isRebuilding && this.#ledger.hasJobs;
    const dueAt = [this.#queue.nextSweepAt, this.#scaling.nextAt(now), isMoreToSweep ? now : null].filter(
      (at) => at !== null,
    );
    if (dueAt.length > 0) this.#alarm.armBy(Math.min(...dueAt));
  }

  #tellFleet(): void {
    const send = async (wanted: number) => {
      // Read at the moment of sending: it may change while an earlier wish is on its way.
      const config = this.#config;
      if (config) await this.#fleet().wish({ config, wanted, isRemoved: false });
    };
    this.ctx.waitUntil(this.#scaling.tell(send));
  }

  // Inside a turn

  #submitOnce(request: SubmitRequest, now: number): Submitted {
    const known = request.idempotencyKey ? this.#queue.findByKey(request.idempotencyKey, now) : undefined;
    return known ? { kind: "stored", stored: known, isNew: false } : this.#submitNow(request, now);
  }

  #submitNow(request: SubmitRequest, now: number): Submitted {
    const config = this.#config;
    if (!config) return UNCONFIGURED;
    const depthMax = config.queueDepthMax ?? QUEUE_DEPTH_MAX;
    if (this.#ledger.queued >= depthMax) return queueFull(operationOf(request), depthMax);
    this.#lastActiveAt = now;
    const slot = this.#ledger.queued === 0 ? this.#dispatch.takeSlot() : undefined;
    const order = { input: request.input, optionsJson: request.optionsJson };
    const stored = this.#queue.submit(
      {
        nonce: randomNonce(),
        isSync: request.isSync,
        lane: request.isLowPriority ? "low" : "normal",
        ttlMs: request.ttlMs,
        executionTimeoutMs: request.executionTimeoutMs ?? config.executionTimeoutMs,
        order,
        idempotencyKey: request.idempotencyKey ?? null,
      },
      slot && { workerId: slot.workerId, hostId: slot.hostId },
      now,
    );
    slot?.give(this.#desk.dispatched(stored, order), stored.seq);
    return { kind: "stored", stored, isNew: true };
  }

  /** Gives what waits to the agents held here, then rings for those that wait outside. */
  #handOut(now: number): void {
    while (this.#ledger.queued > 0) {
      const slot = this.#dispatch.takeSlot();
      if (!slot) break;
      const claimed = this.#queue.claim(slot, now);
      if (!claimed) break;
      slot.give(this.#desk.dispatched(claimed.stored, claimed.order), claimed.stored.seq);
    }
    this.#dispatch.flush();
    this.#bells.ringForJobs(this.#ledger.queued);
  }

  #tellOfChunks(): void {
    for (const seq of this.#desk.takeStreamed()) {
      this.#streamWaiters.wake(seq, "look");
      this.#bells.ringStream(seq);
    }
  }

  #carryOutEffects(now: number): void {
    for (const effect of this.#queue.takeEffects()) {
      switch (effect.kind) {
        case "settled":
          this.#desk.forget(effect.seq);
          this.#jobWaiters.wake(effect.seq, "look");
          this.#streamWaiters.wake(effect.seq, "look");
          this.#bells.ringJob(effect.seq, now);
          break;
        case "stopHandler":
          this.#desk.noteNews(effect.hostId);
          this.#dispatch.wake(effect.hostId);
          this.#bells.ringAgent(effect.hostId);
          break;
        case "requeued":
          this.#desk.forget(effect.seq);
          break;
      }
    }
  }

  #dropOrphanedPayloads(): void {
    const endpointId = this.#config?.endpointId ?? "";
    const keys = this.#queue.takeOrphanedKeys((stored) =>
      resultKey(endpointId, publicId(stored), stored.job.attempt),
    );
    for (let from = 0; from < keys.length; from += DELETE_MAX_KEYS) {
      this.ctx.waitUntil(this.env.PAYLOADS.delete(keys.slice(from, from + DELETE_MAX_KEYS)));
    }
  }

  // Reading

  #find(jobId: string, now: number): StoredJob | undefined {
    const id = decodeJobId(jobId);
    const stored = id && this.#queue.find(id.seq, id.nonce, now);
    return stored?.job.isSync === id?.isSync ? stored : undefined;
  }

  async #look(jobId: string, holdMs: number, slot: RequestSlot): Promise<StatusOutcome> {
    const stored = this.#find(jobId, Date.now());
    if (!stored) return NOT_FOUND;
    if (holdMs === 0 || isFinal(stored.job.state)) return { kind: "found", ...this.#show(stored, null) };

    await this.#holdForJob(stored.seq, holdMs);
    const latest = this.#find(jobId, Date.now());
    return latest ? { kind: "found", ...this.#show(latest, slot) } : NOT_FOUND;
  }

  /** The job for its caller, who keeps its slot while there is something to wait for. */
  #show(stored: StoredJob, slot: RequestSlot | null) {
    const isEnded = isFinal(stored.job.state);
    const kept = slot && !isEnded ? slot.keep(Date.now()) : null;
    return { view: this.#view(stored), isFinal: isEnded, slot: kept };
  }

  #view(stored: StoredJob): JobView {
    const queue = stored.job.state === "queued" ? this.#explain(stored.seq) : null;
    return viewJob(publicId(stored), stored.job, { progress: this.#desk.progressOf(stored.seq), queue });
  }

  #explain(seq: number) {
    const why = explainWait({
      isLowPriority: laneOf(seq) === "low",
      workersMax: this.#config?.workersMax ?? 0,
      report: this.#report,
    });
    return { position: this.#queue.positionOf(seq), ...why };
  }

  /** Waits for the job's end, but only while the object is hot: a quiet one must be free to hibernate. */
  async #holdForJob(seq: number, holdMs: number): Promise<void> {
    if (!this.#isHot(Date.now())) return;
    await this.#jobWaiters.wait(seq, Math.min(holdMs, HOT_HOLD_MS));
  }

  async #drainNow(jobId: string, holdMs: number): Promise<DrainOutcome> {
    const stored = await this.#awaitChunks(jobId, holdMs, (seq) => this.#chunks.cursorOf(seq));
    if (!stored) return NOT_FOUND;
    const cursor = this.#chunks.cursorOf(stored.seq);
    if (this.#chunks.endOf(stored.seq) <= cursor) return drained(stored, { runs: [], position: cursor });
    return this.#commit.run(() => {
      const latest = this.#find(jobId, Date.now());
      return latest ? drained(latest, this.#chunks.drain(latest.seq)) : NOT_FOUND;
    });
  }

  async #readStreamNow(jobId: string, position: number, holdMs: number): Promise<ReadStreamOutcome> {
    const stored = await this.#awaitChunks(jobId, holdMs, () => position);
    if (!stored) return NOT_FOUND;
    const runs = this.#chunks.after(stored.seq, position);
    return { kind: "found", view: this.#view(stored), isFinal: isFinal(stored.job.state), runs };
  }

  /** The job, after a moment in which chunks may have come if there are none beyond the position yet. */
  async #awaitChunks(
    jobId: string,
    holdMs: number,
    positionOf: (seq: number) => number,
  ): Promise<StoredJob | undefined> {
    const now = Date.now();
    const stored = this.#find(jobId, now);
    if (!isUnderway(stored) || holdMs === 0 || !this.#isHot(now)) return stored;
    if (this.#chunks.endOf(stored.seq) > positionOf(stored.seq)) return stored;
    await this.#streamWaiters.wait(stored.seq, Math.min(holdMs, HOT_HOLD_MS));
    return this.#find(jobId, Date.now());
  }

  #isHot(now: number): boolean {
    return now - this.#lastActiveAt < HOT_FOR_MS;
  }

  #fleet(): DurableObjectStub<FleetPort> {
    return this.env.FLEET.getByName(FLEET_NAME);
  }

  /** What the object did since it woke, in the units that cost, and who waits inside it now. */
  async vitals(): Promise<Vitals> {
    const { read, written } = this.#database.rows;
    return {
      rowsRead: read,
      rowsWritten: written + this.#alarm.writes,
      heldExchanges: this.#dispatch.heldCount,
    };
  }
}

type Vitals = {
  readonly rowsRead: number;
  /** Alarms included. */
  readonly rowsWritten: number;
  readonly heldExchanges: number;
};

type Drained = Extract<DrainOutcome, { kind: "found" }>;
type Submitted =
  | { readonly kind: "stored"; readonly stored: StoredJob; readonly isNew: boolean }
  | Unconfigured
  | RateLimited;

type DesiredStatus = "RUNNING" | "CREATED" | "RESTARTING" | "EXITED";

const UNCONFIGURED = { kind: "unconfigured" } as const;
const NOT_FOUND = { kind: "not_found" } as const;
const CANCEL: JobEvent = { kind: "cancel" };
const RETRY: JobEvent = { kind: "retry" };

function isUnderway(stored: StoredJob | undefined): stored is StoredJob {
  return stored !== undefined && !isFinal(stored.job.state);
}

function isEmptyAnswer({ acks, chunkAcks, jobs, stops }: ExchangeAnswer): boolean {
  return acks.length + chunkAcks.length + jobs.length + stops.length === 0;
}

function drained({ job }: StoredJob, chunks: Pick<Drained, "runs" | "position">): DrainOutcome {
  return { kind: "found", status: wireStatusOf(job.state), isFinal: isFinal(job.state), ...chunks };
}

function operationOf({ isSync }: SubmitRequest): "run" | "runsync" {
  return isSync ? "runsync" : "run";
}

function publicId(stored: StoredJob): string {
  return encodeJobId({ seq: stored.seq, nonce: stored.nonce, isSync: stored.job.isSync, shard: SHARD });
}

function randomNonce(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function removePayloads(bucket: R2Bucket, endpointId: string): Promise<void> {
  for (;;) {
    const page = await bucket.list({ prefix: payloadPrefix(endpointId) });
    if (page.objects.length === 0) return;
    await bucket.delete(page.objects.map(({ key }) => key));
  }
}
