/** The Endpoint object: queue, leases, results and scaling wish of one endpoint. */
import { DurableObject } from "cloudflare:workers";
import type { EndpointConfig } from "../contract/endpoint.ts";
import type { WebhookSecret } from "../contract/webhook.ts";
import { ANSWER_INPUTS_MAX_BYTES, HOT_HOLD_MS } from "../contract/limits.ts";
import { payloadPrefix, resultKey } from "../domain/payload-key.ts";
import type { FleetReport } from "../domain/queue-reason.ts";
import { AlarmClock } from "../durable/alarm-clock.ts";
import { GroupCommit } from "../durable/group-commit.ts";
import { FLEET_NAME, type FleetPort } from "../durable/ports.ts";
import { ObjectDatabase } from "../durable/sql.ts";
import { Waiters } from "../durable/waiters.ts";
import { AgentDesk } from "./agent-desk.ts";
import { BatchBook } from "./batch-book.ts";
import type {
  BatchCall,
  BatchListReply,
  BatchReply,
  BatchRequestsCall,
  BatchRequestsReply,
} from "./batch-messages.ts";
import { BatchStore } from "./batch-store.ts";
import { openBatches, type Batches } from "./batches.ts";
import { ChunkStore } from "./chunk-store.ts";
import { Dispatch } from "./dispatch.ts";
import { EndpointBells, readAgentQuery, readJobWaiter } from "./endpoint-bells.ts";
import { EndpointFacts } from "./endpoint-facts.ts";
import { JobDesk } from "./job-desk.ts";
import { reportHealth, reportMetrics } from "./health-report.ts";
import { findJob, isUnderway, publicId } from "./job-reference.ts";
import { JobStore, type StoredJob } from "./job-store.ts";
import type {
  CancelReply,
  DrainReply,
  ExchangeAnswer,
  ExchangeCall,
  ExchangeReply,
  ExpireReply,
  HealthReply,
  ListCall,
  ListReply,
  PurgeReply,
  ReadStreamReply,
  RedeliverReply,
  RetryReply,
  SlotRef,
  StatusReply,
  SubmitReply,
  SubmitRequest,
  TimelineReply,
  UploadRef,
  WantsUploadReply,
  WebhookLogReply,
} from "./messages.ts";
import { QueueLedger } from "./queue-ledger.ts";
import { Queue } from "./queue.ts";
import { RequestLimits } from "./request-limits.ts";
import { RunningTimes } from "./running-times.ts";
import { Scaling } from "./scaling.ts";
import { ENDPOINT_MIGRATIONS } from "./schema.ts";
import { StreamDesk } from "./stream-desk.ts";
import { WebhookDesk } from "./webhook-desk.ts";
import { WebhookOutbox } from "./webhook-outbox.ts";
import { WebhookSender } from "./webhook-sender.ts";
import { WebhookStore } from "./webhook-store.ts";

/** Time that the answer to `remove` gets to leave before the object's memory is reset. */
const RESET_AFTER_MS = 100;

/** R2 takes no more keys in one call. */
const DELETE_MAX_KEYS = 1_000;

export type EndpointObjectEnv = {
  readonly FLEET: DurableObjectNamespace<FleetPort>;
  readonly PAYLOADS: R2Bucket;
  /** "true": webhooks may have loopback and private addresses; for development. */
  readonly WEBHOOK_ALLOW_PRIVATE?: string;
};

export class EndpointObject extends DurableObject<EndpointObjectEnv> {
  readonly #database: ObjectDatabase;
  readonly #facts: EndpointFacts;
  readonly #chunks: ChunkStore;
  readonly #ledger: QueueLedger;
  readonly #queue: Queue;
  readonly #scaling: Scaling;
  readonly #dispatch = new Dispatch();
  readonly #times = new RunningTimes();
  readonly #agents: AgentDesk;
  readonly #jobs: JobDesk;
  readonly #streams: StreamDesk;
  readonly #outbox: WebhookOutbox;
  readonly #sender: WebhookSender;
  readonly #webhooks: WebhookDesk;
  readonly #book: BatchBook;
  readonly #batches: Batches;
  readonly #commit: GroupCommit;
  readonly #alarm: AlarmClock;
  readonly #bells: EndpointBells;
  readonly #limits = new RequestLimits();
  readonly #jobWaiters = new Waiters<number, "look">();
  readonly #streamWaiters = new Waiters<number, "look">();

  constructor(context: DurableObjectState, env: EndpointObjectEnv) {
    super(context, env);
    this.#database = new ObjectDatabase(context.storage.sql);
    this.#alarm = new AlarmClock(context.storage);
    this.#bells = new EndpointBells(context, this.#limits);
    this.#commit = new GroupCommit(context, () => this.#finishTurn());
    this.#database.migrate(ENDPOINT_MIGRATIONS);
    const store = new JobStore(this.#database);
    this.#facts = new EndpointFacts(store);
    this.#chunks = new ChunkStore(this.#database);
    this.#ledger = new QueueLedger(store);
    this.#outbox = new WebhookOutbox(new WebhookStore(this.#database));
    this.#book = new BatchBook(new BatchStore(this.#database));
    this.#queue = new Queue({
      store,
      chunks: this.#chunks,
      ledger: this.#ledger,
      times: this.#times,
      outbox: this.#outbox,
      counter: this.#book,
    });
    this.#scaling = new Scaling(store, this.#ledger);
    this.#agents = new AgentDesk(this.#queue, this.#chunks, this.#ledger, this.#dispatch, this.#times);
    this.#jobs = this.#openJobDesk();
    this.#streams = this.#openStreamDesk();
    this.#sender = this.#openSender();
    this.#webhooks = new WebhookDesk({
      queue: this.#queue,
      outbox: this.#outbox,
      limits: this.#limits,
      commit: this.#commit,
    });
    this.#batches = this.#openBatches();
    void context.blockConcurrencyWhile(() => this.#wake());
  }

  #openJobDesk(): JobDesk {
    return new JobDesk({
      facts: this.#facts,
      queue: this.#queue,
      ledger: this.#ledger,
      times: this.#times,
      dispatch: this.#dispatch,
      agents: this.#agents,
      limits: this.#limits,
      commit: this.#commit,
      waiters: this.#jobWaiters,
    });
  }

  #openStreamDesk(): StreamDesk {
    return new StreamDesk({
      facts: this.#facts,
      queue: this.#queue,
      chunks: this.#chunks,
      limits: this.#limits,
      commit: this.#commit,
      waiters: this.#streamWaiters,
      view: (stored) => this.#jobs.view(stored),
    });
  }

  #openSender(): WebhookSender {
    return new WebhookSender({
      outbox: this.#outbox,
      queue: this.#queue,
      facts: this.#facts,
      bucket: this.env.PAYLOADS,
      allowsPrivate: this.env.WEBHOOK_ALLOW_PRIVATE === "true",
      inTurn: (work) => this.#commit.run(work),
      keepAlive: (work) => this.ctx.waitUntil(work),
    });
  }

  #openBatches(): Batches {
    return openBatches({
      database: this.#database,
      book: this.#book,
      facts: this.#facts,
      queue: this.#queue,
      ledger: this.#ledger,
      limits: this.#limits,
      commit: this.#commit,
    });
  }

  async #wake(): Promise<void> {
    const now = Date.now();
    this.#facts.load();
    this.#limits.growWith(this.#facts.report);
    this.#bells.recover();
    this.#book.load();
    this.#queue.recover(now);
    this.#times.learn(this.#facts.report, this.#ledger.running.values());
    this.#scaling.recover(now);
    this.#outbox.recover(now);
    await this.#alarm.load();
    if (this.#outbox.isReady) this.#alarm.armBy(now); // sending was cut short
  }

  // Configuration

  /** Takes over the endpoint's configuration; the next job sees it. */
  async configure(config: EndpointConfig, webhookSecrets: readonly WebhookSecret[] = []): Promise<void> {
    if (this.#facts.isRemoved) return;
    await this.#commit.run(() => {
      this.#facts.configure(config);
      this.#facts.learnWebhookSecrets(webhookSecrets);
      this.#scaling.repeat();
    });
  }

  /** The account has new secrets. An object that knows no endpoint gets them with its configuration. */
  async learnWebhookSecrets(secrets: readonly WebhookSecret[]): Promise<void> {
    if (!this.#facts.config) return;
    await this.#commit.run(() => this.#facts.learnWebhookSecrets(secrets));
  }

  /** The endpoint is deleted: its workers go, its jobs and payloads are removed. */
  async remove(): Promise<void> {
    const { config } = this.#facts;
    if (!config) return;
    await this.#fleet().wish({ config, wanted: 0, isRemoved: true });
    await removePayloads(this.env.PAYLOADS, config.endpointId);
    this.#facts.forgetConfig();
    await this.ctx.storage.deleteAll();
    this.#database.migrate(ENDPOINT_MIGRATIONS);
    this.#facts.noteRemoval();
    // Memory must go too. Until then every call finds no configuration and touches no table.
    setTimeout(() => this.ctx.abort("The endpoint was deleted."), RESET_AFTER_MS);
  }

  // Jobs, for clients

  async submit(request: SubmitRequest): Promise<SubmitReply> {
    return this.#facts.config ? this.#jobs.submit(request) : UNCONFIGURED;
  }

  async status(jobId: string, holdMs: number, kept: SlotRef | null = null): Promise<StatusReply> {
    return this.#facts.config ? this.#jobs.status(jobId, holdMs, kept) : UNCONFIGURED;
  }

  async drain(jobId: string, holdMs: number, kept: SlotRef | null): Promise<DrainReply> {
    return this.#facts.config ? this.#streams.drain(jobId, holdMs, kept) : UNCONFIGURED;
  }

  async readStream(
    jobId: string,
    position: number,
    holdMs: number,
    kept: SlotRef | null,
  ): Promise<ReadStreamReply> {
    return this.#facts.config ? this.#streams.read(jobId, position, holdMs, kept) : UNCONFIGURED;
  }

  async expireIn(jobId: string, ttlMs: number): Promise<ExpireReply> {
    return this.#facts.config ? this.#jobs.expireIn(jobId, ttlMs) : UNCONFIGURED;
  }

  /** What happened to a job, in its order; part of a status request that was admitted before. */
  async timeline(jobId: string): Promise<TimelineReply> {
    return this.#facts.config ? this.#jobs.timeline(jobId) : UNCONFIGURED;
  }

  async cancel(jobId: string): Promise<CancelReply> {
    return this.#facts.config ? this.#jobs.cancel(jobId) : UNCONFIGURED;
  }

  async retry(jobId: string): Promise<RetryReply> {
    return this.#facts.config ? this.#jobs.retry(jobId) : UNCONFIGURED;
  }

  async purge(): Promise<PurgeReply> {
    return this.#facts.config ? this.#jobs.purge((now) => this.#tellOfPurge(now)) : UNCONFIGURED;
  }

  async list(call: ListCall): Promise<ListReply> {
    return this.#facts.config ? this.#jobs.list(call) : UNCONFIGURED;
  }

  async webhookLog(jobId: string): Promise<WebhookLogReply> {
    return this.#facts.config ? this.#webhooks.log(jobId) : UNCONFIGURED;
  }

  async redeliver(jobId: string): Promise<RedeliverReply> {
    return this.#facts.config ? this.#webhooks.redeliver(jobId) : UNCONFIGURED;
  }

  async batch(call: BatchCall): Promise<BatchReply> {
    return this.#facts.config ? this.#batches.desk.carryOut(call) : UNCONFIGURED;
  }

  async batches(page: { readonly offset: number; readonly limit: number }): Promise<BatchListReply> {
    return this.#facts.config ? this.#batches.desk.list(page) : UNCONFIGURED;
  }

  async batchRequests(call: BatchRequestsCall): Promise<BatchRequestsReply> {
    return this.#facts.config ? this.#batches.desk.requests(call) : UNCONFIGURED;
  }

  async health(): Promise<HealthReply> {
    if (!this.#facts.config) return UNCONFIGURED;
    const parts = { facts: this.#facts, ledger: this.#ledger, limits: this.#limits };
    return { kind: "health", health: reportHealth(parts, Date.now()), metrics: reportMetrics(parts) };
  }

  /** The endpoint's workers, for the management API. */
  async workers(): Promise<readonly { readonly workerId: string; readonly desiredStatus: DesiredStatus }[]> {
    return this.#facts.report.workers.map(({ workerId, state }) => ({
      workerId,
      desiredStatus: state === "crash_looping" ? "RESTARTING" : state === "pulling" ? "CREATED" : "RUNNING",
    }));
  }

  // Agents

  /** One exchange of an agent: takes its reports, extends its leases, answers with jobs and stops. */
  async exchange(call: ExchangeCall): Promise<ExchangeReply> {
    if (!this.#facts.config) return UNCONFIGURED;
    const isOvertaken = call.isHolding && this.#dispatch.isSuperseded(call);
    const turn = isOvertaken ? { ...call, slots: [] } : call;
    const answer = await this.#commit.run(() => {
      const now = Date.now();
      const answered = this.#agents.exchange(turn, now);
      if (!isEmptyAnswer({ ...answered, stops: [] })) this.#facts.noteWork(now);
      return answered;
    });
    const isNews = answer.jobs.length + answer.stops.length > 0;
    if (!call.isHolding || isNews) return { kind: "answer", ...answer };
    return withAcks(answer, isOvertaken ? { kind: "superseded" } : await this.#holdExchange(call));
  }

  /** Acknowledgements wait with the call for a job, for the short time that a call waits in here. */
  async #holdExchange(call: ExchangeCall): Promise<ExchangeReply> {
    this.#dispatch.supersede(call.hostId);
    this.#bells.supersede(call);
    if (this.#facts.holdMs(HOT_HOLD_MS, Date.now()) === 0) return { kind: "quiet" };
    const end = await this.#dispatch.hold({ ...call, slots: this.#agents.openSlots(call) });
    if (end.kind === "jobs") return { kind: "answer", ...NOTHING, jobs: end.jobs };
    return end.kind === "look" ? this.exchange({ ...call, reports: [], chunks: [] }) : end;
  }

  /** Whether the result of an attempt shall be stored under its key, or is and shall stay there. */
  async wantsUpload(upload: UploadRef): Promise<WantsUploadReply> {
    if (!this.#facts.config) return UNCONFIGURED;
    return { kind: "answer", isWanted: this.#agents.wantsUpload(upload, Date.now()) };
  }

  /** What Fleet knows of this endpoint's workers. A leased job whose worker is gone is rescued. */
  async fleetReport(report: FleetReport): Promise<void> {
    if (!this.#facts.config || report.revision <= this.#facts.report.revision) return;
    await this.#commit.run(() => {
      this.#facts.learn(report);
      this.#times.learn(report, this.#ledger.running.values());
      this.#limits.growWith(report);
      const alive = new Set(report.workers.map(({ workerId }) => workerId));
      this.#agents.rescueFromLostWorkers(alive, Date.now());
    });
  }

  // Doorbells

  /**
   * Only upgrades come here: `/doorbell?job=…&operation=…&slot=…&wait=…`, the same with `stream=…&after=…`
   * instead of `job=…`, or `/doorbell?host=…&session=…&turn=…&free=…`.
   */
  override async fetch(request: Request): Promise<Response> {
    const query = new URL(request.url).searchParams;
    const now = Date.now();
    const jobId = query.get("job");
    if (jobId !== null) {
      const stored = findJob(this.#queue, jobId, now);
      return this.#bells.openForJob(readJobWaiter(query, stored?.seq, now), isUnderway(stored));
    }
    const streamId = query.get("stream");
    if (streamId !== null) {
      const stored = findJob(this.#queue, streamId, now);
      const isQuiet = isUnderway(stored) && this.#chunks.endOf(stored.seq) <= Number(query.get("after"));
      return this.#bells.openForStream(readJobWaiter(query, stored?.seq, now), isQuiet);
    }
    const agent = readAgentQuery(query);
    const hasNews = this.#agents.hasNewsFor(agent.hostId) || (agent.free > 0 && this.#ledger.queued > 0);
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
    if (!this.#facts.config) return;
    await this.#commit.run(() => {
      const now = Date.now();
      this.#queue.sweep(now);
      this.#outbox.sweep(now);
      this.#batches.work.sweep(now);
    });
    await this.#batches.desk.goOn();
  }

  /** Runs once per turn: everything that follows from what the turn did, in the same commit. */
  #finishTurn(): void {
    const now = Date.now();
    this.#handOut(now);
    this.#tellOfChunks(now);
    this.#carryOutEffects(now);
    this.#dropOrphanedPayloads();
    const { config } = this.#facts;
    if (!config) return;
    this.#scaling.decide(config, now);
    this.#ledger.persist();
    this.#outbox.save();
    this.#sender.start();
    this.#book.persist(now);
    this.#arm(now);
    if (this.#scaling.isUntold) this.#tellFleet();
  }

  #arm(now: number): void {
    const isMoreToSweep = this.#alarm.armedAt === null && this.#queue.isRebuilding && this.#ledger.hasJobs;
    const dueAt = [
      this.#queue.nextSweepAt,
      this.#scaling.nextAt(now),
      this.#outbox.nextAt(now),
      this.#batches.work.nextAt(now),
      isMoreToSweep ? now : null,
    ].filter((at) => at !== null);
    if (dueAt.length > 0) this.#alarm.armBy(Math.min(...dueAt));
  }

  #tellFleet(): void {
    const send = async (wanted: number) => {
      // Read at the moment of sending: it may change while an earlier wish is on its way.
      const { config } = this.#facts;
      if (config) await this.#fleet().wish({ config, wanted, isRemoved: false });
    };
    this.ctx.waitUntil(this.#scaling.tell(send));
  }

  // What follows from a turn

  /** Gives what waits to the agents held here, then rings for those that wait outside. */
  #handOut(now: number): void {
    const slots = this.#dispatch.takeSlots(this.#ledger.queued);
    const claims = this.#queue.claim(slots, now, ANSWER_INPUTS_MAX_BYTES);
    for (const [index, slot] of slots.entries()) {
      const claimed = claims[index];
      if (claimed) slot.give(this.#agents.dispatched(claimed, claimed.order), claimed.seq);
      else slot.putBack();
    }
    this.#dispatch.flush();
    this.#bells.ringForJobs(this.#ledger.queued);
  }

  #tellOfPurge(now: number): void {
    this.#batches.work.purge();
    this.#jobWaiters.wakeAll("look");
    this.#streamWaiters.wakeAll("look");
    this.#bells.ringAllJobs(now);
  }

  #tellOfChunks(now: number): void {
    for (const seq of this.#agents.takeStreamed()) {
      this.#streamWaiters.wake(seq, "look");
      this.#bells.ringStream(seq, now);
    }
  }

  #carryOutEffects(now: number): void {
    for (const effect of this.#queue.takeEffects()) {
      switch (effect.kind) {
        case "settled":
          this.#agents.forget(effect.seq);
          this.#jobWaiters.wake(effect.seq, "look");
          this.#streamWaiters.wake(effect.seq, "look");
          this.#bells.ringJob(effect.seq, now);
          break;
        case "stopHandler":
          this.#agents.noteNews(effect.hostId);
          this.#dispatch.wake(effect.hostId);
          this.#bells.ringAgent(effect.hostId);
          break;
        case "requeued":
          this.#agents.forget(effect.seq);
          this.#book.jobRequeued(effect.seq);
          break;
      }
    }
  }

  #dropOrphanedPayloads(): void {
    const endpointId = this.#facts.config?.endpointId ?? "";
    const keyOfUpload = (stored: StoredJob) => resultKey(endpointId, publicId(stored), stored.job.attempt);
    const keys = [...this.#queue.takeOrphanedKeys(keyOfUpload), ...this.#batches.work.takeOrphanedKeys()];
    for (let from = 0; from < keys.length; from += DELETE_MAX_KEYS) {
      this.ctx.waitUntil(this.env.PAYLOADS.delete(keys.slice(from, from + DELETE_MAX_KEYS)));
    }
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
      openWebhooks: this.#outbox.openCount,
    };
  }
}

type Vitals = {
  readonly rowsRead: number;
  /** Alarms included. */
  readonly rowsWritten: number;
  readonly heldExchanges: number;
  /** Zero when nothing is sent, and all outcomes are written. */
  readonly openWebhooks: number;
};

type DesiredStatus = "RUNNING" | "CREATED" | "RESTARTING" | "EXITED";

const UNCONFIGURED = { kind: "unconfigured" } as const;

const NOTHING: ExchangeAnswer = { acks: [], chunkAcks: [], jobs: [], stops: [] };

/** What a call was held for, and the acknowledgements that it has to bring home in any case. */
function withAcks({ acks, chunkAcks }: ExchangeAnswer, end: ExchangeReply): ExchangeReply {
  if (acks.length + chunkAcks.length === 0 || end.kind === "unconfigured") return end;
  const answer = end.kind === "answer" ? end : NOTHING;
  return { ...answer, kind: "answer", acks, chunkAcks };
}

function isEmptyAnswer({ acks, chunkAcks, jobs, stops }: ExchangeAnswer): boolean {
  return acks.length + chunkAcks.length + jobs.length + stops.length === 0;
}

async function removePayloads(bucket: R2Bucket, endpointId: string): Promise<void> {
  for (;;) {
    const page = await bucket.list({ prefix: payloadPrefix(endpointId) });
    if (page.objects.length === 0) return;
    await bucket.delete(page.objects.map(({ key }) => key));
  }
}
