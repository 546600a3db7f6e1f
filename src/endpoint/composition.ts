/** The composition root of an Endpoint object: opens its features, each with what it needs, and registers their hooks. */
import { AlarmClock } from "../durable/alarm-clock.ts";
import { GroupCommit } from "../durable/group-commit.ts";
import type { FleetPort } from "../durable/ports.ts";
import { ObjectDatabase } from "../durable/sql.ts";
import { openBatches, type BatchHandlers } from "./batches/batch-handlers.ts";
import { BatchIndex } from "./batches/batch-index.ts";
import { BatchStore } from "./batches/batch-store.ts";
import { CommitHooks, type FeatureHooks } from "./commit-hooks.ts";
import { AgentHandlers } from "./dispatch/agent-handlers.ts";
import { Dispatch } from "./dispatch/dispatch.ts";
import { AgentExchanges } from "./dispatch/exchange.ts";
import { Followers } from "./dispatch/log-followers.ts";
import { EndpointNotifier } from "./dispatch/notifier.ts";
import { EndpointFacts, WorkerLookup } from "./facts/endpoint-facts.ts";
import { FactStore } from "./facts/fact-store.ts";
import { JobHandlers } from "./job-handlers.ts";
import { RequestLimits } from "./limits/request-limits.ts";
import { openLoadBalancing, type LoadBalancing } from "./load-balancing/load-balancing.ts";
import { RequestTracker } from "./load-balancing/request-tracker.ts";
import { ActivityCounters } from "./metrics/activity-counters.ts";
import { ActivityStore } from "./metrics/activity-store.ts";
import { MetricsHandlers } from "./metrics/metrics-handlers.ts";
import { Claims } from "./queue/claims.ts";
import { JobStorage, OrphanedPayloads } from "./queue/job-storage.ts";
import { JobStore } from "./queue/job-store.ts";
import { QueueLedger, type Checkpoint } from "./queue/queue-ledger.ts";
import { Queue } from "./queue/queue.ts";
import { RunningTimes } from "./queue/running-times.ts";
import { SegmentDeadlines } from "./queue/segment-deadlines.ts";
import { Autoscaler, type DesiredState } from "./scaling/autoscaler.ts";
import { Rollout } from "./scaling/rollout.ts";
import { CanaryWatch } from "./scaling/canary-watch.ts";
import { Trial } from "./scaling/trial.ts";
import { WorkerConcurrency } from "./scaling/worker-set.ts";
import { Workload } from "./scaling/workload.ts";
import { ENDPOINT_MIGRATIONS } from "./schema.ts";
import { openShards, type ShardLinks, type Shards } from "./shards/shards.ts";
import { ChunkStore } from "./streams/chunk-store.ts";
import { StreamHandlers } from "./streams/stream-handlers.ts";
import { WebhookHandlers } from "./webhooks/webhook-handlers.ts";
import { WebhookOutbox } from "./webhooks/webhook-outbox.ts";
import { WebhookSender } from "./webhooks/webhook-sender.ts";
import { WebhookStore } from "./webhooks/webhook-store.ts";

export type EndpointEnv = {
  readonly PAYLOADS: R2Bucket;
  /** What jobs of an endpoint may take, in GB; see queue/job-storage.ts. */
  readonly ENDPOINT_STORAGE_GB?: string;
  /** Objects that may share the queue of an endpoint; 1 to have one for each. */
  readonly ENDPOINT_SHARDS_MAX?: string;
  /** "true": webhooks may call loopback and private addresses; for development. */
  readonly WEBHOOK_ALLOW_PRIVATE?: string;
};

/** Calls of the object to Fleet. */
export type FleetCalls = {
  readonly setDesiredWorkers: FleetPort["setDesiredWorkers"];
  readonly stateCapacity: FleetPort["stateCapacity"];
  /** Fetches the report of Fleet and takes it over. */
  readonly updateReport: () => Promise<void>;
};

/** What the object and its router call. */
export type Endpoint = {
  readonly facts: EndpointFacts;
  readonly lookup: WorkerLookup;
  readonly limits: RequestLimits;
  readonly jobs: JobHandlers;
  readonly streams: StreamHandlers;
  readonly webhooks: WebhookHandlers;
  readonly batches: BatchHandlers;
  readonly agents: AgentExchanges;
  readonly scaling: Pick<Autoscaler, "repeat">;
  readonly trial: Trial;
  readonly loadBalancing: LoadBalancing;
  readonly metrics: MetricsHandlers;
  readonly shards: Shards;
  readonly commit: GroupCommit;
  readonly alarm: AlarmClock;
  readonly hooks: CommitHooks;
  /** Makes the tables again after all storage was deleted. */
  readonly resetTables: () => void;
  readonly vitals: () => Vitals;
};

export type Vitals = {
  /** Bytes that payloads take in R2. */
  readonly storedBytes: number;
  readonly rowsRead: number;
  /** Alarms included. */
  readonly rowsWritten: number;
  readonly waitingExchanges: number;
  /** Zero when no webhook is being sent and all outcomes are written. */
  readonly openWebhooks: number;
  /** Requests that workers have, and requests that wait for one. */
  readonly requestsInFlight: number;
  readonly waitingRequests: number;
  /** Those of the requests in flight that keep the object awake. */
  readonly awaitedRequests: number;
};

/** Opens the storage and the features on it; no row is read yet. */
export function openEndpoint(
  context: DurableObjectState,
  env: EndpointEnv,
  { fleet, links }: { readonly fleet: FleetCalls; readonly links: ShardLinks },
): Endpoint {
  const base = openBase(context, fleet, () => hooks.finishTurn(Date.now()));
  const queue = openQueue(context, env, base);
  const shards = openShards({
    ...base,
    ...queue,
    links,
    idleTimes: { freeSince: (workerId) => scaling.scaling.freeSince(workerId) },
    shardsMax: env.ENDPOINT_SHARDS_MAX,
    keepAlive: (work) => context.waitUntil(work),
  });
  const scaling = openScaling(base, queue, shards);
  const agents = openAgents(context, base, queue, scaling, shards);
  const clients = openClients(context, env, base, queue, agents, shards);
  const { commit, alarm, facts, limits, lookup, database } = base;
  const loadBalancing = openLoadBalancing(context, { facts, commit, ...scaling });
  const metrics = new MetricsHandlers({ ...base, ...queue, ...scaling, others: shards.others });
  const hooks: CommitHooks = new CommitHooks({
    facts,
    alarm,
    takeEffects: () => queue.queue.takeEffects(),
    features: {
      limits: {
        recover: () => limits.growWith(facts.report),
        learn: ({ report }) => limits.growWith(report),
      },
      dispatch: agents.exchanges,
      queue: queueHooks(base, queue),
      loadBalancing: loadBalancing.hooks,
      shards: shards.hooks({
        isClosed: (workerId) => scaling.scaling.isClosed(workerId),
        wakeHosts: (hostIds) => agents.exchanges.wakeHosts(hostIds),
      }),
      scaling: scalingHooks(
        context,
        fleet,
        scaling.scaling,
        agents.exchanges,
        loadBalancing,
        () => facts.shard > 0,
      ),
      metrics: metrics.hooks,
      checkpoint: { commit: (_, now) => void (queue.ledger.persist(now) && queue.outbox.flushAll()) },
      webhooks: clients.webhooks.hooks,
      batches: clients.batches.hooks,
    },
  });
  return {
    facts,
    lookup,
    limits,
    ...clients,
    agents: agents.exchanges,
    scaling: scaling.scaling,
    trial: scaling.trial,
    loadBalancing,
    metrics,
    shards,
    commit,
    alarm,
    hooks,
    resetTables: () => database.migrate(ENDPOINT_MIGRATIONS),
    vitals: () => vitalsOf(base, queue, scaling.requests, agents.dispatch),
  };
}

/** What all features share. */
function openBase(context: DurableObjectState, fleet: FleetCalls, finishTurn: () => void) {
  const database = new ObjectDatabase(context.storage.sql);
  database.migrate(ENDPOINT_MIGRATIONS);
  const factStore = new FactStore(database);
  const facts = new EndpointFacts(factStore);
  return {
    database,
    factStore,
    facts,
    lookup: new WorkerLookup(facts, fleet.updateReport),
    limits: new RequestLimits(),
    alarm: new AlarmClock(context.storage),
    commit: new GroupCommit(context, finishTurn),
  };
}

type Base = ReturnType<typeof openBase>;

/** The queue, and the stores of the features that change with its jobs. */
function openQueue(context: DurableObjectState, env: EndpointEnv, { database, factStore, facts }: Base) {
  const chunks = new ChunkStore(database);
  const outbox = new WebhookOutbox(new WebhookStore(database));
  const batches = new BatchIndex(new BatchStore(database));
  const activity = new ActivityCounters(new ActivityStore(database));
  const orphans = new OrphanedPayloads(env.PAYLOADS, facts, (work) => context.waitUntil(work));
  const canary = new CanaryWatch(factStore.fact("canary"), facts);
  const store = new JobStore(database, facts);
  const claims = new Claims(store, factStore.map("claims:"));
  const deadlines = new SegmentDeadlines();
  const stored = factStore.fact<Checkpoint>("checkpoint");
  const ledger = new QueueLedger({ store, claims, activity, deadlines, stored });
  const times = new RunningTimes();
  const { sql } = context.storage;
  const storage = new JobStorage({ sql, claims, ledger, batches, gigabytes: env.ENDPOINT_STORAGE_GB });
  const queue = new Queue({
    store,
    claims,
    ledger,
    times,
    deadlines,
    orphans,
    chunks,
    outbox,
    batches,
    canary,
  });
  return { store, claims, ledger, times, storage, queue, orphans, chunks, outbox, batches, activity, canary };
}

type JobQueue = ReturnType<typeof openQueue>;

function queueHooks(
  { facts, alarm }: Base,
  { queue, claims, times, storage, orphans }: JobQueue,
): FeatureHooks {
  return {
    recover: (now) => {
      queue.recover(now);
      times.learn(facts.report, claims.running.values());
    },
    learn: ({ report }) => times.learn(report, claims.running.values()),
    settle: () => {
      storage.endTurn();
      orphans.delete();
    },
    nextAt: (now) => (queue.isRebuilding && alarm.armedAt === null ? now : queue.nextSweepAt),
    sweep: (now) => queue.sweep(now),
  };
}

function openScaling(
  { factStore, facts }: Base,
  { claims, ledger, activity, canary }: JobQueue,
  { others }: Pick<Shards, "others">,
) {
  const concurrency = new WorkerConcurrency();
  const rollout = new Rollout(factStore.fact("rollout"));
  const requests = new RequestTracker({ activity, facts });
  const work = new Workload({ claims, ledger, requests, others });
  const stored = factStore.fact<DesiredState>("desired_workers");
  const trial = new Trial(factStore.fact("trial"));
  const scaling = new Autoscaler({ stored, ledger, work, facts, concurrency, rollout, canary, trial });
  return { concurrency, rollout, trial, requests, work, scaling };
}

type Scaling = ReturnType<typeof openScaling>;

function scalingHooks(
  context: DurableObjectState,
  fleet: FleetCalls,
  scaling: Autoscaler,
  agents: AgentExchanges,
  loadBalancing: LoadBalancing,
  isLedByAnother: () => boolean,
): FeatureHooks {
  return {
    recover: (now) => scaling.recover(now),
    commit: (config, now) => {
      if (isLedByAnother()) return;
      const { closed, hasReopened } = scaling.decide(config, now);
      agents.withdraw(closed);
      if (!hasReopened) return;
      agents.lookAgain();
      loadBalancing.handlers.notify();
    },
    send: () => {
      if (isLedByAnother()) return;
      if (scaling.isUnsent) context.waitUntil(scaling.send(fleet.setDesiredWorkers));
      const now = Date.now();
      const { statements } = scaling;
      if (statements.isDue(now)) context.waitUntil(statements.send(fleet.stateCapacity, now));
    },
    nextAt: (now) => (isLedByAnother() ? null : scaling.nextAt(now)),
  };
}

function openAgents(
  context: DurableObjectState,
  base: Base,
  queue: JobQueue,
  { concurrency, scaling }: Scaling,
  { lead, lending }: Shards,
) {
  const dispatch = new Dispatch();
  const notifier = new EndpointNotifier(context, base.limits);
  const followers = new Followers(context);
  const handlers = new AgentHandlers({ ...queue, dispatch, concurrency });
  const parts = { ...base, ...queue, scaling, dispatch, handlers, notifier, followers, lead, lending };
  return { dispatch, notifier, handlers, exchanges: new AgentExchanges(parts) };
}

type Agents = ReturnType<typeof openAgents>;

/** The operations of clients on jobs, streams, webhooks and batches. */
function openClients(
  context: DurableObjectState,
  env: EndpointEnv,
  base: Base,
  queue: JobQueue,
  { dispatch, notifier, handlers }: Agents,
  { sums, spread }: Shards,
) {
  const sender = new WebhookSender({
    ...base,
    ...queue,
    bucket: env.PAYLOADS,
    allowsPrivate: env.WEBHOOK_ALLOW_PRIVATE === "true",
    keepAlive: (work) => context.waitUntil(work),
  });
  const webhooks = new WebhookHandlers({ ...base, ...queue, sender });
  const jobs = new JobHandlers({
    ...base,
    ...queue,
    webhooks,
    dispatch,
    agents: handlers,
    notifier,
    sums,
    spread,
  });
  const streams = new StreamHandlers({ ...base, ...queue, notifier, jobs });
  const batches = openBatches({ ...base, ...queue, index: queue.batches, jobStore: queue.store });
  return { jobs, streams, webhooks, batches };
}

function vitalsOf(
  { database, alarm }: Base,
  { storage, outbox }: JobQueue,
  requests: RequestTracker,
  dispatch: Dispatch,
): Vitals {
  return {
    storedBytes: storage.storedBytes,
    rowsRead: database.rows.read,
    rowsWritten: database.rows.written + alarm.writes,
    waitingExchanges: dispatch.waitingCount,
    openWebhooks: outbox.openCount,
    requestsInFlight: requests.workers.total,
    waitingRequests: requests.waiting,
    awaitedRequests: requests.awaited,
  };
}
