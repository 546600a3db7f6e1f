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
import { QueueLedger } from "./queue/queue-ledger.ts";
import { Queue } from "./queue/queue.ts";
import { RunningTimes } from "./queue/running-times.ts";
import { Autoscaler, type DesiredState } from "./scaling/autoscaler.ts";
import { Rollout } from "./scaling/rollout.ts";
import { WorkerConcurrency } from "./scaling/worker-set.ts";
import { Workload } from "./scaling/workload.ts";
import { ENDPOINT_MIGRATIONS } from "./schema.ts";
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
  /** "true": webhooks may call loopback and private addresses; for development. */
  readonly WEBHOOK_ALLOW_PRIVATE?: string;
};

/** Calls of the object to Fleet. */
export type FleetCalls = {
  readonly setDesiredWorkers: FleetPort["setDesiredWorkers"];
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
  readonly loadBalancing: LoadBalancing;
  readonly metrics: MetricsHandlers;
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
  /** Of those in flight: requests that keep the object awake. */
  readonly awaitedRequests: number;
};

/** Opens the storage and builds what stands on it; no row is read yet. */
export function openEndpoint(context: DurableObjectState, env: EndpointEnv, fleet: FleetCalls): Endpoint {
  const keepAlive = (work: Promise<unknown>): void => context.waitUntil(work);
  const database = new ObjectDatabase(context.storage.sql);
  database.migrate(ENDPOINT_MIGRATIONS);
  const factStore = new FactStore(database);
  const facts = new EndpointFacts(factStore);
  const lookup = new WorkerLookup(facts, fleet.updateReport);
  const limits = new RequestLimits();
  const alarm = new AlarmClock(context.storage);
  const commit = new GroupCommit(context, () => hooks.finishTurn(Date.now()));

  const chunks = new ChunkStore(database);
  const outbox = new WebhookOutbox(new WebhookStore(database));
  const batchIndex = new BatchIndex(new BatchStore(database));
  const activity = new ActivityCounters(new ActivityStore(database));
  const orphans = new OrphanedPayloads(env.PAYLOADS, facts, keepAlive);

  const store = new JobStore(database);
  const claims = new Claims(store, factStore.map("claims:"));
  const ledger = new QueueLedger(store, claims, activity, factStore.fact("checkpoint"));
  const times = new RunningTimes();
  const queue = new Queue({ store, claims, ledger, times, orphans, chunks, outbox, batches: batchIndex });
  const storage = new JobStorage({
    sql: context.storage.sql,
    claims,
    ledger,
    batches: batchIndex,
    gigabytes: env.ENDPOINT_STORAGE_GB,
  });

  const concurrency = new WorkerConcurrency();
  const rollout = new Rollout(factStore.fact("rollout"));
  const requests = new RequestTracker({ activity, facts });
  const work = new Workload({ claims, ledger, requests });
  const desired = factStore.fact<DesiredState>("desired_workers");
  const scaling = new Autoscaler({ stored: desired, ledger, work, queue, facts, concurrency, rollout });
  const metrics = new MetricsHandlers({ activity, facts, work, ledger, scaling, limits, rollout, requests });

  const dispatch = new Dispatch();
  const notifier = new EndpointNotifier(context, limits);
  const handlers = new AgentHandlers({
    queue,
    claims,
    chunks,
    orphans,
    dispatch,
    times,
    concurrency,
    storage,
  });
  const followers = new Followers(context);
  const agents = new AgentExchanges({
    facts,
    lookup,
    commit,
    queue,
    storage,
    scaling,
    dispatch,
    handlers,
    notifier,
    followers,
  });
  const sender = new WebhookSender({
    outbox,
    queue,
    facts,
    bucket: env.PAYLOADS,
    allowsPrivate: env.WEBHOOK_ALLOW_PRIVATE === "true",
    inTurn: (work) => commit.run(work),
    keepAlive,
  });
  const webhooks = new WebhookHandlers({ queue, outbox, limits, commit });
  const jobs = new JobHandlers({
    facts,
    queue,
    ledger,
    times,
    webhooks,
    dispatch,
    agents: handlers,
    limits,
    storage,
    commit,
    notifier,
  });
  const streams = new StreamHandlers({ facts, queue, chunks, limits, commit, notifier, jobs });
  const batches = openBatches({
    facts,
    queue,
    claims,
    ledger,
    limits,
    storage,
    commit,
    index: batchIndex,
    jobStore: store,
    orphans,
  });
  const loadBalancing = openLoadBalancing(context, { facts, scaling, requests, commit });

  const scalingHooks: FeatureHooks = {
    recover: (now) => scaling.recover(now),
    commit: (config, now) => {
      const { closed, hasReopened } = scaling.decide(config, now);
      agents.withdraw(closed);
      if (!hasReopened) return;
      agents.lookAgain();
      loadBalancing.handlers.notify();
    },
    send: () => {
      if (scaling.isUnsent) keepAlive(scaling.send(fleet.setDesiredWorkers));
    },
    nextAt: (now) => scaling.nextAt(now),
  };
  const hooks: CommitHooks = new CommitHooks({
    facts,
    alarm,
    takeEffects: () => queue.takeEffects(),
    features: {
      limits: {
        recover: () => limits.growWith(facts.report),
        learn: ({ report }) => limits.growWith(report),
      },
      dispatch: agents,
      queue: {
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
      },
      loadBalancing: loadBalancing.hooks,
      scaling: scalingHooks,
      metrics: metrics.hooks,
      checkpoint: { commit: (_, now) => ledger.persist(now) },
      webhooks: {
        recover: (now) => outbox.recover(now),
        isInterrupted: () => outbox.isReady,
        commit: () => outbox.save(),
        send: () => sender.start(),
        nextAt: (now) => outbox.nextAt(now),
        sweep: (now) => outbox.sweep(now),
      },
      batches: batches.hooks,
    },
  });
  return {
    facts,
    lookup,
    limits,
    jobs,
    streams,
    webhooks,
    batches,
    agents,
    scaling,
    loadBalancing,
    metrics,
    commit,
    alarm,
    hooks,
    resetTables: () => database.migrate(ENDPOINT_MIGRATIONS),
    vitals: () => ({
      storedBytes: storage.storedBytes,
      rowsRead: database.rows.read,
      rowsWritten: database.rows.written + alarm.writes,
      waitingExchanges: dispatch.waitingCount,
      openWebhooks: outbox.openCount,
      requestsInFlight: requests.running,
      waitingRequests: requests.waiting,
      awaitedRequests: requests.awaited,
    }),
  };
}
