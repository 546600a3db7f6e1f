/** The Endpoint object: queue, leases, results and scaling wish of one endpoint. */
import { ENDPOINT_DELETED } from "../contract/errors.ts";
import { DurableObject } from "cloudflare:workers";
import type { EndpointConfig } from "../contract/endpoint.ts";
import type { ResetReason } from "../link/link-messages.ts";
import type { WebhookSecret } from "../contract/webhook.ts";
import type { MetricsWindow } from "../contract/metrics.ts";
import type { LimitedOperation } from "../contract/rate-limits.ts";
import { payloadPrefix } from "../durable/stored-payload.ts";
import type { FleetReport } from "../domain/jobs/queue-reason.ts";
import { FLEET_NAME, type FleetPort } from "../durable/ports.ts";
import type {
  BatchCall,
  BatchListReply,
  BatchReply,
  BatchRequestsCall,
  BatchRequestsReply,
} from "./batches/messages.ts";
import type { ForwardCall, ForwardReply } from "./load-balancing/messages.ts";
import { reportActivity, reportUsage } from "./metrics/activity-report.ts";
import { routeUpgrade } from "./router.ts";
import { openParts, type EndpointEnv, type EndpointParts } from "./composition.ts";
import { exchange } from "./dispatch/exchange.ts";
import { reportHealth, reportMetrics } from "./metrics/health-report.ts";
import type {
  AbandonReply,
  ActivityReply,
  CancelReply,
  Counted,
  DrainReply,
  ExchangeCall,
  ExchangeReply,
  ExpireReply,
  FollowReply,
  HealthReply,
  ListCall,
  ListReply,
  PurgeReply,
  RateLimited,
  ReadStreamReply,
  RedeliverReply,
  RetryReply,
  SlotRef,
  StatusReply,
  SubmitReply,
  SubmitRequest,
  TimelineReply,
  TotalsReply,
  Unconfigured,
  UploadRef,
  UsageReply,
  UploadReply,
  WebhookLogReply,
} from "./messages.ts";
import { ENDPOINT_MIGRATIONS } from "./schema.ts";
import { CommitHooks } from "./commit-hooks.ts";

/** Time that the answer to `remove` gets to leave before the object's memory is reset. */
const RESET_AFTER_MS = 100;

export type EndpointObjectEnv = EndpointEnv & { readonly FLEET: DurableObjectNamespace<FleetPort> };

export class EndpointObject extends DurableObject<EndpointObjectEnv> {
  readonly #parts: EndpointParts;
  readonly #commitHooks: CommitHooks;

  constructor(context: DurableObjectState, env: EndpointObjectEnv) {
    super(context, env);
    this.#parts = openParts(context, env, {
      finishTurn: () => this.#commitHooks.finish(),
      updateReport: () => this.#updateReport(),
    });
    this.#commitHooks = new CommitHooks(this.#parts, {
      bucket: env.PAYLOADS,
      setDesiredWorkers: (desired) => this.#fleet().setDesiredWorkers(desired),
      keepAlive: (work) => context.waitUntil(work),
    });
    void context.blockConcurrencyWhile(() => this.#wake());
  }

  async #wake(): Promise<void> {
    const now = Date.now();
    const {
      facts,
      limits,
      notifier,
      batchIndex,
      queue,
      ledger,
      times,
      scaling,
      outbox,
      alarm,
      activity,
      gauges,
    } = this.#parts;
    facts.load();
    limits.growWith(facts.report);
    notifier.recover();
    this.#parts.followers.recount();
    batchIndex.load();
    queue.recover(now);
    times.learn(facts.report, ledger.running.values());
    this.#parts.loadBalancing.recover(now);
    scaling.recover(now);
    activity.resume(gauges.read(), now);
    outbox.recover(now);
    await alarm.load();
    if (outbox.isReady) alarm.armBy(now); // sending was cut short
  }

  // Configuration

  /** Takes over the endpoint's configuration; the next job sees it. */
  async configure(config: EndpointConfig, webhookSecrets: readonly WebhookSecret[] = []): Promise<void> {
    if (this.#parts.facts.isRemoved) return;
    await this.#parts.commit.run(() => {
      const { terms } = this.#parts.facts;
      this.#parts.facts.configure(config);
      if (this.#parts.facts.terms !== terms) {
        this.#parts.dispatch.wakeAll();
        this.#parts.notifier.notifyAllAgents();
      }
      this.#parts.facts.learnWebhookSecrets(webhookSecrets);
      this.#parts.scaling.repeat();
    });
    this.#parts.loadBalancing.handlers.notify();
  }

  /** The account has new secrets. An object that knows no endpoint gets them with its configuration. */
  async learnWebhookSecrets(secrets: readonly WebhookSecret[]): Promise<void> {
    if (!this.#parts.facts.config) return;
    await this.#parts.commit.run(() => this.#parts.facts.learnWebhookSecrets(secrets));
  }

  /** The endpoint is deleted: its workers go, its jobs and payloads are removed. */
  async remove(): Promise<void> {
    const { config } = this.#parts.facts;
    if (!config) return;
    await this.#fleet().setDesiredWorkers({ config, desired: 0, isRemoved: true });
    await removePayloads(this.env.PAYLOADS, config.endpointId);
    this.#parts.facts.forgetConfig();
    await this.ctx.storage.deleteAll();
    this.#parts.database.migrate(ENDPOINT_MIGRATIONS);
    this.#parts.facts.recordRemoval();
    // Memory must go too. Until then every call finds no configuration and touches no table.
    setTimeout(() => this.ctx.abort(ENDPOINT_DELETED), RESET_AFTER_MS);
  }

  // Jobs, for clients

  /** Counts a request that its body or its parameters do not let pass; says when those are too many. */
  async countRefused(operation: LimitedOperation): Promise<Unconfigured | RateLimited | Counted> {
    return this.#parts.facts.config ? this.#parts.limits.count(operation, Date.now()) : UNCONFIGURED;
  }

  async submit(request: SubmitRequest): Promise<SubmitReply> {
    return this.#parts.facts.config ? this.#parts.jobs.submit(request) : UNCONFIGURED;
  }

  async status(jobId: string, holdMs: number, kept: SlotRef | null = null): Promise<StatusReply> {
    return this.#parts.facts.config ? this.#parts.jobs.status(jobId, holdMs, kept) : UNCONFIGURED;
  }

  async drain(jobId: string, holdMs: number, kept: SlotRef | null): Promise<DrainReply> {
    return this.#parts.facts.config ? this.#parts.streams.drain(jobId, holdMs, kept) : UNCONFIGURED;
  }

  async readStream(
    jobId: string,
    position: number,
    holdMs: number,
    kept: SlotRef | null,
  ): Promise<ReadStreamReply> {
    return this.#parts.facts.config ? this.#parts.streams.read(jobId, position, holdMs, kept) : UNCONFIGURED;
  }

  async expireIn(jobId: string, ttlMs: number): Promise<ExpireReply> {
    return this.#parts.facts.config ? this.#parts.jobs.expireIn(jobId, ttlMs) : UNCONFIGURED;
  }

  /** What happened to a job, in its order; part of a status request that was admitted before. */
  async timeline(jobId: string): Promise<TimelineReply> {
    return this.#parts.facts.config ? this.#parts.jobs.timeline(jobId) : UNCONFIGURED;
  }

  async cancel(jobId: string): Promise<CancelReply> {
    return this.#parts.facts.config ? this.#parts.jobs.cancel(jobId) : UNCONFIGURED;
  }

  async abandon(jobId: string): Promise<AbandonReply> {
    return this.#parts.facts.config ? this.#parts.jobs.abandon(jobId) : UNCONFIGURED;
  }

  async retry(jobId: string): Promise<RetryReply> {
    return this.#parts.facts.config ? this.#parts.jobs.retry(jobId) : UNCONFIGURED;
  }

  async purge(): Promise<PurgeReply> {
    return this.#parts.facts.config
      ? this.#parts.jobs.purge((now) => this.#commitHooks.notifyOfPurge(now))
      : UNCONFIGURED;
  }

  async list(call: ListCall): Promise<ListReply> {
    return this.#parts.facts.config ? this.#parts.jobs.list(call) : UNCONFIGURED;
  }

  async webhookLog(jobId: string): Promise<WebhookLogReply> {
    return this.#parts.facts.config ? this.#parts.webhooks.log(jobId) : UNCONFIGURED;
  }

  async redeliver(jobId: string): Promise<RedeliverReply> {
    return this.#parts.facts.config ? this.#parts.webhooks.redeliver(jobId) : UNCONFIGURED;
  }

  async batch(call: BatchCall): Promise<BatchReply> {
    return this.#parts.facts.config ? this.#parts.batches.handlers.execute(call) : UNCONFIGURED;
  }

  async batches(page: { readonly offset: number; readonly limit: number }): Promise<BatchListReply> {
    return this.#parts.facts.config ? this.#parts.batches.handlers.list(page) : UNCONFIGURED;
  }

  async batchRequests(call: BatchRequestsCall): Promise<BatchRequestsReply> {
    return this.#parts.facts.config ? this.#parts.batches.handlers.requests(call) : UNCONFIGURED;
  }

  async health(): Promise<HealthReply> {
    if (!this.#parts.facts.config) return UNCONFIGURED;
    const metrics = reportMetrics(this.#parts);
    return { kind: "health", health: reportHealth(this.#parts, Date.now()), metrics };
  }

  /** What the endpoint did and which workers it had within a window. */
  async activity(window: MetricsWindow): Promise<ActivityReply> {
    if (!this.#parts.facts.config) return UNCONFIGURED;
    return { kind: "activity", ...reportActivity(this.#parts.activity, window, Date.now()) };
  }

  /** What the endpoint did since it exists, and its levels now; from memory. */
  async totals(): Promise<TotalsReply> {
    const { facts, activity } = this.#parts;
    if (!facts.config) return UNCONFIGURED;
    return { kind: "totals", total: activity.total.toRecord(), levels: activity.levels };
  }

  /** What jobs did in each hour from `since` on. */
  async usage(since: number): Promise<UsageReply> {
    if (!this.#parts.facts.config) return UNCONFIGURED;
    return { kind: "usage", hours: reportUsage(this.#parts.activity, since, Date.now()) };
  }

  // Agents

  /** One exchange of an agent: takes its reports, extends its leases, answers with jobs and stops. */
  async exchange(call: ExchangeCall): Promise<ExchangeReply> {
    return this.#parts.facts.config ? exchange(this.#parts, call) : UNCONFIGURED;
  }

  /** Whether the result of an attempt shall be stored under its key, or is and shall stay there. */
  async acceptsUpload(upload: UploadRef): Promise<UploadReply> {
    if (!this.#parts.facts.config) return UNCONFIGURED;
    return { kind: "answer", isAccepted: this.#parts.agents.acceptsUpload(upload, Date.now()) };
  }

  /**
   * What Fleet knows of this endpoint's workers. A leased job whose worker is gone is rescued. Returns the revision
   * that counts, which is another one when the report is older.
   */
  async fleetReport(report: FleetReport): Promise<number> {
    const { revision } = this.#parts.facts.report;
    if (!this.#parts.facts.config || report.revision <= revision) return revision;
    await this.#parts.commit.run(() => {
      const { facts, dispatch, notifier } = this.#parts;
      const { gone, closed, openedOn } = facts.learn(report);
      dispatch.withdraw(closed);
      for (const { hostId } of gone) if (!facts.hasWorkerOn(hostId)) notifier.closeWaitersOf(hostId);
      // Their agents may have offered slots before it was known whose these are.
      for (const hostId of openedOn) {
        dispatch.wake(hostId);
        notifier.notifyAgent(hostId);
      }
      this.#parts.times.learn(report, this.#parts.ledger.running.values());
      this.#parts.limits.growWith(report);
      const alive = new Set(report.workers.map(({ workerId }) => workerId));
      this.#parts.agents.rescueFromLostWorkers(alive, Date.now());
      this.#parts.loadBalancing.workersGone(gone);
    });
    return report.revision;
  }

  async #updateReport(): Promise<void> {
    const { config, report } = this.#parts.facts;
    if (config) await this.fleetReport(await this.#fleet().reportOf(config.endpointId, report.revision));
  }

  // Requests that go straight to workers

  /** Hands a request to a worker; the answer's body follows while it is read. */
  async forward(call: ForwardCall): Promise<ForwardReply> {
    return this.#parts.facts.config ? this.#parts.loadBalancing.handlers.forward(call) : UNCONFIGURED;
  }

  /** Ends a request that was handed to a worker; nothing happens if it is over. */
  async abortForwarded(requestId: string, reason: ResetReason): Promise<void> {
    this.#parts.loadBalancing.handlers.abort(requestId, reason);
  }

  // Logs

  /** Passes lines on to all who follow the logs, as they are; says who does. */
  async sendToFollowers(lines: string): Promise<FollowReply> {
    this.#parts.followers.send(lines);
    return { kind: "follow", follow: this.#parts.followers.follow };
  }

  #follow(): Response {
    const response = this.#parts.followers.accept(Date.now());
    if (response.webSocket) this.#notifyAgentsOfFollowers();
    return response;
  }

  #closed(socket: WebSocket, code: number, reason: string): void {
    const { followers, notifier, loadBalancing } = this.#parts;
    if (loadBalancing.closed(socket, code, reason)) return;
    notifier.closed(socket);
    const { follow } = followers;
    followers.recount();
    if (followers.follow !== follow) this.#notifyAgentsOfFollowers();
  }

  #notifyAgentsOfFollowers(): void {
    this.#parts.dispatch.wakeAll();
    this.#parts.notifier.notifyAllAgents();
  }

  // Sockets

  /** Upgrades, as endpoint-door.ts says; and `?logs`, which is no wait, but brings lines as they come. */
  override async fetch(request: Request): Promise<Response> {
    if (new URL(request.url).searchParams.has("logs")) return this.#follow();
    return await routeUpgrade(this.#parts, request, Date.now());
  }

  override async webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): Promise<void> {
    this.#parts.loadBalancing.links.take(socket, message, Date.now());
  }

  override async webSocketClose(socket: WebSocket, code: number, reason: string): Promise<void> {
    this.#closed(socket, code, reason);
    // 1005 and 1006 are what a side sees that was told nothing; they may not be sent.
    socket.close(code === 1005 || code === 1006 ? 1000 : code);
  }

  override async webSocketError(socket: WebSocket): Promise<void> {
    this.#closed(socket, 1006, "");
  }

  // Time

  override async alarm(): Promise<void> {
    this.#parts.alarm.fired();
    if (!this.#parts.facts.config) return;
    await this.#parts.commit.run(() => {
      const now = Date.now();
      this.#parts.queue.sweep(now);
      this.#parts.outbox.sweep(now);
      this.#parts.batches.work.sweep(now);
    });
    await this.#parts.batches.handlers.goOn();
  }

  #fleet(): DurableObjectStub<FleetPort> {
    return this.env.FLEET.getByName(FLEET_NAME);
  }

  /** What the object did since it woke, in the units that cost, what it keeps in R2, and who waits inside it now. */
  async vitals(): Promise<Vitals> {
    const { read, written } = this.#parts.database.rows;
    return {
      storedBytes: this.#parts.storage.storedBytes,
      rowsRead: read,
      rowsWritten: written + this.#parts.alarm.writes,
      waitingExchanges: this.#parts.dispatch.waitingCount,
      openWebhooks: this.#parts.outbox.openCount,
      requestsInFlight: this.#parts.requests.running,
      waitingRequests: this.#parts.requests.waiting,
      awaitedRequests: this.#parts.requests.awaited,
    };
  }
}

type Vitals = {
  /** What payloads take in R2. */
  readonly storedBytes: number;
  readonly rowsRead: number;
  /** Alarms included. */
  readonly rowsWritten: number;
  readonly waitingExchanges: number;
  /** Zero when nothing is sent, and all outcomes are written. */
  readonly openWebhooks: number;
  /** Requests that workers have, and that wait for one. */
  readonly requestsInFlight: number;
  readonly waitingRequests: number;
  /** Of those that workers have: requests that keep the object awake. */
  readonly awaitedRequests: number;
};

const UNCONFIGURED = { kind: "unconfigured" } as const;

async function removePayloads(bucket: R2Bucket, endpointId: string): Promise<void> {
  for (;;) {
    const page = await bucket.list({ prefix: payloadPrefix(endpointId) });
    if (page.objects.length === 0) return;
    await bucket.delete(page.objects.map(({ key }) => key));
  }
}
