/** All that an Endpoint object consists of, put together in one place. */
import { AlarmClock } from "../durable/alarm-clock.ts";
import { GroupCommit } from "../durable/group-commit.ts";
import { ObjectDatabase } from "../durable/sql.ts";
import { Waiters } from "../durable/waiters.ts";
import { ActivityCounters } from "./metrics/activity-counters.ts";
import { ActivityStore } from "./metrics/activity-store.ts";
import { AgentHandlers } from "./dispatch/agent-handlers.ts";
import { BatchIndex } from "./batches/batch-index.ts";
import { BatchStore } from "./batches/batch-store.ts";
import { openBatches } from "./batches/batches.ts";
import { ChunkStore } from "./streams/chunk-store.ts";
import { RequestTracker } from "./load-balancing/request-tracker.ts";
import { openLoadBalancing } from "./load-balancing/load-balancing.ts";
import { Dispatch } from "./dispatch/dispatch.ts";
import { EndpointNotifier } from "./dispatch/notifier.ts";
import { EndpointFacts, WorkerLookup } from "./endpoint-facts.ts";
import { Followers } from "./dispatch/log-followers.ts";
import { JobHandlers } from "./job-handlers.ts";
import { JobStorage } from "./queue/job-storage.ts";
import { JobStore } from "./queue/job-store.ts";
import { CurrentGauges } from "./metrics/health-report.ts";
import { QueueLedger } from "./queue/queue-ledger.ts";
import { Queue } from "./queue/queue.ts";
import { RequestLimits } from "./limits/request-limits.ts";
import { Rollout } from "./scaling/rollout.ts";
import { RunningTimes } from "./queue/running-times.ts";
import { Autoscaler } from "./scaling/autoscaler.ts";
import { ENDPOINT_MIGRATIONS } from "./schema.ts";
import { StreamHandlers } from "./streams/stream-handlers.ts";
import { WebhookHandlers } from "./webhooks/webhook-handlers.ts";
import { WebhookOutbox } from "./webhooks/webhook-outbox.ts";
import { WebhookSender } from "./webhooks/webhook-sender.ts";
import { WebhookStore } from "./webhooks/webhook-store.ts";
import { WorkerConcurrency } from "./scaling/worker-set.ts";
import { Workload } from "./scaling/workload.ts";

export type EndpointEnv = {
  readonly PAYLOADS: R2Bucket;
  /** What jobs of an endpoint may take, in GB; see job-storage.ts. */
  readonly ENDPOINT_STORAGE_GB?: string;
  /** "true": webhooks may have loopback and private addresses; for development. */
  readonly WEBHOOK_ALLOW_PRIVATE?: string;
};

export type EndpointParts = ReturnType<typeof openParts>;

/** What the object itself does for its parts. */
export type ObjectHooks = {
  /** Runs at the end of each turn. */
  readonly finishTurn: () => void;
  /** Fetches what Fleet has to tell, and takes it over. */
  readonly updateReport: () => Promise<void>;
};

/** Opens the storage and builds what stands on it; nothing is read yet. */
export function openParts(context: DurableObjectState, env: EndpointEnv, hooks: ObjectHooks) {
  const core = openCore(context, env, hooks.finishTurn);
  const { queue, facts, ledger, limits, commit, chunks, times, dispatch, concurrency, storage } = core;
  const jobWaiters = new Waiters<number, "look">();
  const streamWaiters = new Waiters<number, "look">();
  const agents = new AgentHandlers({ queue, chunks, ledger, dispatch, times, concurrency, storage });
  const webhooks = new WebhookHandlers({ queue, outbox: core.outbox, limits, commit });
  const jobs = new JobHandlers({
    facts,
    queue,
    ledger,
    times,
    webhookAttempts: (stored) => webhooks.logOf(stored).attempts,
    dispatch,
    agents,
    limits,
    storage,
    commit,
    waiters: jobWaiters,
  });
  const streams = new StreamHandlers({
    facts,
    queue,
    chunks,
    limits,
    commit,
    waiters: streamWaiters,
    view: (stored) => jobs.view(stored),
  });
  const sender = new WebhookSender({
    outbox: core.outbox,
    queue,
    facts,
    bucket: env.PAYLOADS,
    allowsPrivate: env.WEBHOOK_ALLOW_PRIVATE === "true",
    inTurn: (work) => commit.run(work),
    keepAlive: (work) => context.waitUntil(work),
  });
  const batches = openBatches(core);
  const loadBalancing = openLoadBalancing(context, core);
  const lookup = new WorkerLookup({ facts, update: hooks.updateReport });
  return {
    ...core,
    lookup,
    loadBalancing,
    agents,
    webhooks,
    jobs,
    streams,
    sender,
    batches,
    jobWaiters,
    streamWaiters,
  };
}

/** What the desks share: the stores, the queue, and what is counted. */
function openCore(context: DurableObjectState, env: EndpointEnv, finishTurn: () => void) {
  const database = new ObjectDatabase(context.storage.sql);
  database.migrate(ENDPOINT_MIGRATIONS);
  const store = new JobStore(database);
  const limits = new RequestLimits();
  const chunks = new ChunkStore(database);
  const activity = new ActivityCounters(new ActivityStore(database));
  const ledger = new QueueLedger(store, activity);
  const times = new RunningTimes();
  const outbox = new WebhookOutbox(new WebhookStore(database));
  const batchIndex = new BatchIndex(new BatchStore(database));
  const queue = new Queue({ store, chunks, ledger, times, outbox, counter: batchIndex });
  const { sql } = context.storage;
  const storage = new JobStorage({ sql, ledger, batchIndex, gigabytes: env.ENDPOINT_STORAGE_GB });
  const facts = new EndpointFacts(store);
  const concurrency = new WorkerConcurrency();
  const rollout = new Rollout(store);
  const requests = new RequestTracker({ activity, facts });
  const work = new Workload({ ledger, requests, activity, facts });
  const scaling = new Autoscaler({ store, ledger, work, queue, facts, concurrency, rollout });
  return {
    database,
    limits,
    chunks,
    activity,
    ledger,
    times,
    outbox,
    batchIndex,
    storage,
    queue,
    facts,
    concurrency,
    rollout,
    scaling,
    requests,
    work,
    gauges: new CurrentGauges({ facts, work, scaling }),
    dispatch: new Dispatch(),
    commit: new GroupCommit(context, finishTurn),
    alarm: new AlarmClock(context.storage),
    notifier: new EndpointNotifier(context, limits),
    followers: new Followers(context),
  };
}
