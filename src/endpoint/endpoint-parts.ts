/** All that an Endpoint object consists of, put together in one place. */
import { AlarmClock } from "../durable/alarm-clock.ts";
import { GroupCommit } from "../durable/group-commit.ts";
import { ObjectDatabase } from "../durable/sql.ts";
import { Waiters } from "../durable/waiters.ts";
import { ActivityBook } from "./activity-book.ts";
import { ActivityStore } from "./activity-store.ts";
import { AgentDesk } from "./agent-desk.ts";
import { BatchBook } from "./batch-book.ts";
import { BatchStore } from "./batch-store.ts";
import { openBatches } from "./batches.ts";
import { ChunkStore } from "./chunk-store.ts";
import { DirectBook } from "./direct/direct-book.ts";
import { openDirect } from "./direct/direct-parts.ts";
import { Dispatch } from "./dispatch.ts";
import { EndpointBells } from "./endpoint-bells.ts";
import { EndpointFacts } from "./endpoint-facts.ts";
import { Followers } from "./followers.ts";
import { JobDesk } from "./job-desk.ts";
import { JobStorage } from "./job-storage.ts";
import { JobStore } from "./job-store.ts";
import { PresentLevels } from "./present-levels.ts";
import { QueueLedger } from "./queue-ledger.ts";
import { Queue } from "./queue.ts";
import { RequestLimits } from "./request-limits.ts";
import { Rollout } from "./rollout.ts";
import { RunningTimes } from "./running-times.ts";
import { Scaling } from "./scaling.ts";
import { ENDPOINT_MIGRATIONS } from "./schema.ts";
import { StreamDesk } from "./stream-desk.ts";
import { WebhookDesk } from "./webhook-desk.ts";
import { WebhookOutbox } from "./webhook-outbox.ts";
import { WebhookSender } from "./webhook-sender.ts";
import { WebhookStore } from "./webhook-store.ts";
import { WorkerLookup } from "./worker-lookup.ts";
import { WorkerRooms } from "./worker-rooms.ts";
import { Workload } from "./workload.ts";

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
  const { queue, facts, ledger, limits, commit, chunks, times, dispatch, rooms, storage } = core;
  const jobWaiters = new Waiters<number, "look">();
  const streamWaiters = new Waiters<number, "look">();
  const agents = new AgentDesk({ queue, chunks, ledger, dispatch, times, rooms, storage });
  const webhooks = new WebhookDesk({ queue, outbox: core.outbox, limits, commit });
  const jobs = new JobDesk({
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
  const streams = new StreamDesk({
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
  const serving = openDirect(context, core);
  const lookup = new WorkerLookup({ facts, update: hooks.updateReport });
  return {
    ...core,
    lookup,
    serving,
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
  const activity = new ActivityBook(new ActivityStore(database));
  const ledger = new QueueLedger(store, activity);
  const times = new RunningTimes();
  const outbox = new WebhookOutbox(new WebhookStore(database));
  const book = new BatchBook(new BatchStore(database));
  const queue = new Queue({ store, chunks, ledger, times, outbox, counter: book });
  const { sql } = context.storage;
  const storage = new JobStorage({ sql, ledger, book, gigabytes: env.ENDPOINT_STORAGE_GB });
  const facts = new EndpointFacts(store);
  const rooms = new WorkerRooms();
  const rollout = new Rollout(store);
  const direct = new DirectBook({ activity, facts });
  const work = new Workload({ ledger, direct, activity, facts });
  const scaling = new Scaling({ store, ledger, work, queue, facts, rooms, rollout });
  return {
    database,
    limits,
    chunks,
    activity,
    ledger,
    times,
    outbox,
    book,
    storage,
    queue,
    facts,
    rooms,
    rollout,
    scaling,
    direct,
    work,
    levels: new PresentLevels({ facts, work, scaling }),
    dispatch: new Dispatch(),
    commit: new GroupCommit(context, finishTurn),
    alarm: new AlarmClock(context.storage),
    bells: new EndpointBells(context, limits),
    followers: new Followers(context),
  };
}
