/** The Endpoint object: queue, leases, results and desired workers of one endpoint. */
import { DurableObject } from "cloudflare:workers";
import type { EndpointConfig } from "../contract/endpoint.ts";
import { ENDPOINT_DELETED } from "../contract/errors.ts";
import type { MetricsWindow } from "../contract/metrics-window.ts";
import type { LimitedOperation } from "../contract/rate-limits.ts";
import type { WebhookSecret } from "../contract/webhook.ts";
import { payloadPrefix } from "../durable/stored-payload.ts";
import { isStopped, type FleetReport } from "../domain/jobs/queue-reason.ts";
import { endpointObjectName, fleetObjectName, near, type FleetPort } from "../durable/ports.ts";
import type { ResetReason } from "../link/link-messages.ts";
import type { BatchCall, BatchRequestsCall } from "./batches/messages.ts";
import { openEndpoint, type Endpoint, type EndpointEnv, type Vitals } from "./composition.ts";
import type { ForwardCall } from "../forwarding/messages.ts";
import type {
  ExchangeCall,
  FollowReply,
  ListCall,
  SlotRef,
  SubmitCall,
  TrialReply,
  Unconfigured,
  UploadRef,
} from "./messages.ts";
import { routeUpgrade } from "./router.ts";
import type { ShardAnswer, ShardQuery, ShardReply, ShardUpdate } from "./shards/messages.ts";
import type { ShardObject } from "./shards/shard-calls.ts";

/** Time for the answer of `remove` to leave before the object's memory is reset. */
const RESET_AFTER_MS = 100;

export type EndpointObjectEnv = EndpointEnv & {
  readonly FLEET: DurableObjectNamespace<FleetPort>;
  readonly ENDPOINT: DurableObjectNamespace<ShardPort>;
};

/** What the objects of an endpoint call of each other. */
interface ShardPort extends Rpc.DurableObjectBranded {
  noteNews(shard: number): Promise<void>;
  followLead(shard: number, update: ShardUpdate | null): Promise<ShardReply>;
  answerLead(query: ShardQuery): Promise<ShardAnswer | null>;
  reportOf(endpointId: string, newerThan: number): Promise<FleetReport>;
  remove(): Promise<void>;
}

export class EndpointObject extends DurableObject<EndpointObjectEnv> {
  readonly #endpoint: Endpoint;

  constructor(context: DurableObjectState, env: EndpointObjectEnv) {
    super(context, env);
    this.#endpoint = openEndpoint(context, env, {
      fleet: {
        setDesiredWorkers: (desired) => this.#fleet(desired.config).setDesiredWorkers(desired),
        stateCapacity: async (statement) => {
          const { config } = this.#endpoint.facts;
          if (config) await this.#fleet(config).stateCapacity(statement);
        },
        updateReport: () => this.#updateReport(),
      },
      links: {
        objectOf: (shard) => this.#shard(shard) as unknown as ShardObject,
        notifyLead: async (shard) => await this.#shard(0).noteNews(shard),
      },
    });
    void context.blockConcurrencyWhile(() => this.#wake());
  }

  async #wake(): Promise<void> {
    const now = Date.now();
    const { facts, hooks, alarm } = this.#endpoint;
    facts.load();
    hooks.recover(now);
    await alarm.load();
    if (hooks.isInterrupted) alarm.armBy(now);
  }

  /** Calls a feature if the object is configured; else the caller configures the object and repeats the call. */
  async #whenConfigured<Outcome>(
    call: (endpoint: Endpoint) => Outcome | Promise<Outcome>,
  ): Promise<Outcome | Unconfigured> {
    this.#endpoint.shards.rate.count(Date.now());
    return this.#endpoint.facts.config ? await call(this.#endpoint) : { kind: "unconfigured" };
  }

  // Configuration

  /** Takes over the endpoint's configuration; the next job sees it. */
  async configure(config: EndpointConfig, webhookSecrets: readonly WebhookSecret[] = []): Promise<void> {
    const { facts, commit, agents, scaling, loadBalancing } = this.#endpoint;
    if (facts.isRemoved) return;
    await commit.run(() => {
      const { terms } = facts;
      facts.configure(config);
      if (facts.terms !== terms) agents.lookAgain();
      facts.learnWebhookSecrets(webhookSecrets);
      scaling.repeat();
    });
    loadBalancing.handlers.notify();
  }

  /** Takes over the account's webhook secrets; an unconfigured object gets them with its configuration. */
  async learnWebhookSecrets(secrets: readonly WebhookSecret[]): Promise<void> {
    await this.#whenConfigured(({ commit, facts }) => commit.run(() => facts.learnWebhookSecrets(secrets)));
  }

  /** The endpoint is deleted: its workers go, its jobs and payloads are removed. */
  async remove(): Promise<void> {
    const { facts, resetTables, shards } = this.#endpoint;
    const { config, shard } = facts;
    if (!config) return;
    if (shard === 0) {
      await this.#fleet(config).setDesiredWorkers({ config, desired: 0, isRemoved: true });
      for (let other = 1; other < shards.lead.known; other += 1) await this.#shard(other).remove();
      await removePayloads(this.env.PAYLOADS, config.endpointId);
    }
    facts.forgetConfig();
    await this.ctx.storage.deleteAll();
    resetTables();
    facts.recordRemoval();
    // Memory must go too. Until then every call finds no configuration and touches no table.
    setTimeout(() => this.ctx.abort(ENDPOINT_DELETED), RESET_AFTER_MS);
  }

  // Jobs, for clients

  /** Counts a request that was rejected for its body or parameters, or rejects it because there are too many. */
  async countRefused(operation: LimitedOperation) {
    return this.#whenConfigured(({ limits }) => limits.count(operation, Date.now()));
  }

  async submit(request: SubmitCall) {
    return this.#whenConfigured(({ jobs }) => jobs.submit(request));
  }

  async status(jobId: string, holdMs: number, slot: SlotRef | null = null) {
    return this.#whenConfigured(({ jobs }) => jobs.status(jobId, holdMs, slot));
  }

  async drain(jobId: string, holdMs: number, slot: SlotRef | null) {
    return this.#whenConfigured(({ streams }) => streams.drain(jobId, holdMs, slot));
  }

  async readStream(jobId: string, position: number, holdMs: number, slot: SlotRef | null) {
    return this.#whenConfigured(({ streams }) => streams.read(jobId, position, holdMs, slot));
  }

  async expireIn(jobId: string, ttlMs: number) {
    return this.#whenConfigured(({ jobs }) => jobs.expireIn(jobId, ttlMs));
  }

  /** The events of a job in their order; part of a status request that was admitted before. */
  async timeline(jobId: string) {
    return this.#whenConfigured(({ jobs }) => jobs.timeline(jobId));
  }

  async cancel(jobId: string) {
    return this.#whenConfigured(({ jobs }) => jobs.cancel(jobId));
  }

  async abandon(jobId: string) {
    return this.#whenConfigured(({ jobs }) => jobs.abandon(jobId));
  }

  async retry(jobId: string) {
    return this.#whenConfigured(({ jobs }) => jobs.retry(jobId));
  }

  async purge() {
    return this.#whenConfigured(({ jobs, hooks }) => jobs.purge((now) => hooks.purged(now)));
  }

  async list(call: ListCall) {
    return this.#whenConfigured(({ jobs }) => jobs.list(call));
  }

  async webhookLog(jobId: string) {
    return this.#whenConfigured(({ webhooks }) => webhooks.log(jobId));
  }

  async redeliver(jobId: string) {
    return this.#whenConfigured(({ webhooks }) => webhooks.redeliver(jobId));
  }

  async batch(call: BatchCall) {
    return this.#whenConfigured(({ batches }) => batches.execute(call));
  }

  async batches(page: { readonly offset: number; readonly limit: number }) {
    return this.#whenConfigured(({ batches }) => batches.list(page));
  }

  async batchRequests(call: BatchRequestsCall) {
    return this.#whenConfigured(({ batches }) => batches.requests(call));
  }

  /** Starts a worker although nothing asks for one, and keeps it for this long; 0 ends that. */
  async startTrial(durationMs: number) {
    return this.#whenConfigured(async ({ commit, trial }): Promise<TrialReply> => {
      const until = Date.now() + durationMs;
      await commit.run(() => trial.runUntil(until));
      return { kind: "trial", until };
    });
  }

  // Metrics, all from memory

  /** As JSON text: to copy the object to the caller would cost more than to make it. */
  async health() {
    return this.#whenConfigured(({ metrics }) => metrics.health(Date.now()));
  }

  async workers() {
    return this.#whenConfigured(({ metrics }) => metrics.workers());
  }

  /** What the endpoint did, and which workers it had, within a window. */
  async activity(window: MetricsWindow) {
    return this.#whenConfigured(async ({ metrics, shards }) => {
      const now = Date.now();
      return metrics.activity(window, await shards.sums.activity(window, now), now);
    });
  }

  /** What the endpoint did since it exists, and its gauges now. */
  async totals() {
    return this.#whenConfigured(async ({ metrics, shards }) => metrics.totals(await shards.sums.totals()));
  }

  /** What jobs did in each hour from `since` on. */
  async usage(since: number) {
    return this.#whenConfigured(async ({ metrics, shards }) =>
      metrics.usage(since, await shards.sums.usage(since), Date.now()),
    );
  }

  // Agents

  /** One exchange of an agent: takes its reports, extends its leases, answers with jobs and stops. */
  async exchange(call: ExchangeCall) {
    return this.#whenConfigured(({ agents }) => agents.exchange(call));
  }

  /** Whether the result of an attempt may be stored under its key, or is stored there already and must stay. */
  async acceptsUpload(upload: UploadRef) {
    return this.#whenConfigured(({ agents }) => agents.acceptsUpload(upload));
  }

  /**
   * Takes Fleet's report of this endpoint's workers; the leased jobs of lost workers are rescued. Returns the revision in
   * effect, which is another one when this report is older; or that the endpoint was deleted.
   */
  async fleetReport(report: FleetReport): Promise<number | "removed"> {
    const { facts, commit, hooks, loadBalancing } = this.#endpoint;
    const { revision } = facts.report;
    if (!facts.config) return facts.isRemoved ? "removed" : revision;
    if (report.revision <= revision) return revision;
    const hasTurned = isStopped(facts.report) !== isStopped(report);
    await commit.run(() => hooks.learn(facts.learn(report), Date.now()));
    if (hasTurned) loadBalancing.handlers.notify();
    return report.revision;
  }

  async #updateReport(): Promise<void> {
    const { config, report, shard } = this.#endpoint.facts;
    if (!config) return;
    const source = shard === 0 ? this.#fleet(config) : this.#shard(0);
    await this.fleetReport(await source.reportOf(config.endpointId, report.revision));
  }

  // Other objects of the endpoint, see shards/

  /** To the first object: there is news in another one. */
  async noteNews(shard: number): Promise<void> {
    const { calls } = this.#endpoint.shards;
    if (!this.#endpoint.facts.hasShards) return;
    calls.noteNews(shard);
    calls.send((work) => this.ctx.waitUntil(work), Date.now());
  }

  /** To another object, whose number is `shard`: what it must know, if that is news. Returns what it has to do. */
  async followLead(shard: number, update: ShardUpdate | null): Promise<ShardReply> {
    const { shards, hooks } = this.#endpoint;
    return await shards.member.follow(shard, update, hooks);
  }

  /** To another object: its part of what is summed up over all of them; null from one that knows nothing. */
  async answerLead(query: ShardQuery): Promise<ShardAnswer | null> {
    const { facts, shards, hooks } = this.#endpoint;
    return facts.config ? await shards.answers.answer(query, (now) => hooks.purged(now)) : null;
  }

  /** To the first object: the report of Fleet that it has. */
  async reportOf(_endpointId: string, _newerThan: number): Promise<FleetReport> {
    return this.#endpoint.facts.report;
  }

  /** Has so many objects take new jobs, whatever the load; the load decides again later. */
  async resize(count: number): Promise<void> {
    await this.#whenConfigured(({ commit, shards }) => commit.run(() => shards.lead.resize(count)));
  }

  #shard(shard: number): DurableObjectStub<ShardPort> {
    const { config } = this.#endpoint.facts;
    return this.env.ENDPOINT.getByName(endpointObjectName(config?.endpointId ?? "", shard));
  }

  // Requests of load-balanced endpoints

  /** Forwards a request to a worker; the answer's body follows while it is read. */
  async forward(call: ForwardCall) {
    return this.#whenConfigured(({ loadBalancing }) => loadBalancing.handlers.forward(call));
  }

  /** Ends a request that was forwarded to a worker; nothing happens if it is over. */
  async abortForwarded(requestId: string, reason: ResetReason): Promise<void> {
    this.#endpoint.loadBalancing.handlers.abort(requestId, reason);
  }

  // Logs

  /** Passes lines on, unchanged, to the followers of the logs that their agent knows; returns how agents refer to them. */
  async sendToFollowers(lines: string, known: number): Promise<FollowReply> {
    return this.#endpoint.agents.sendToFollowers(lines, known);
  }

  // Sockets

  /** Upgrades to a WebSocket: see router.ts. */
  override async fetch(request: Request): Promise<Response> {
    return await routeUpgrade(this.#endpoint, request, Date.now());
  }

  override async webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): Promise<void> {
    this.#endpoint.loadBalancing.links.take(socket, message, Date.now());
  }

  override async webSocketClose(socket: WebSocket, code: number, reason: string): Promise<void> {
    this.#closed(socket, code, reason);
    // 1005 and 1006 stand for a close without a code and may not be sent.
    socket.close(code === 1005 || code === 1006 ? 1000 : code);
  }

  override async webSocketError(socket: WebSocket): Promise<void> {
    this.#closed(socket, 1006, "");
  }

  #closed(socket: WebSocket, code: number, reason: string): void {
    const { loadBalancing, agents } = this.#endpoint;
    if (!loadBalancing.closed(socket, code, reason)) agents.closed(socket);
  }

  // Time

  override async alarm(): Promise<void> {
    const { alarm, facts, commit, hooks, batches } = this.#endpoint;
    alarm.fired();
    if (!facts.config) return;
    await commit.run(() => hooks.sweep(Date.now()));
    await batches.continueWork();
  }

  #fleet({ accountId, locations }: EndpointConfig): DurableObjectStub<FleetPort> {
    return this.env.FLEET.getByName(fleetObjectName(accountId), near(locations));
  }

  /** What the object did since it woke, in the units that cost, and what waits in it now. */
  async vitals(): Promise<Vitals> {
    return this.#endpoint.vitals();
  }
}

async function removePayloads(bucket: R2Bucket, endpointId: string): Promise<void> {
  for (;;) {
    const page = await bucket.list({ prefix: payloadPrefix(endpointId) });
    if (page.objects.length === 0) return;
    await bucket.delete(page.objects.map(({ key }) => key));
  }
}
