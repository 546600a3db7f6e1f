/**
 * What a job of Edgerun costs on Cloudflare: requests, object time and rows are counted on an edge with meters,
 * with the real agent and real worker processes, and priced.
 */
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { startAgent } from "../../standalone/agent.ts";
import { createJoinToken } from "../../standalone/management-api.ts";
import { createEndpoint, type Edge } from "../contestants/edge.ts";
import {
  callsBetween,
  readMeters,
  startMeteredEdge,
  statementsBetween,
  usageBetween,
} from "../metered-edge/metered-edge.ts";
import { receiveWebhooks } from "./webhook-receiver.ts";
import { type Bench, type Condition, note, type Scenario } from "./bench.ts";
import { priceOf, type Usage } from "./price.ts";
import { RUNSYNC_RETENTION_MS } from "../../src/domain/jobs/job-machine.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const WORKERS = 4;
const BUSY_CLIENTS = 64;
const MILLION = 1_000_000;
const MONTH_SECONDS = 30 * 86_400;
/** Longer than an object stays hot, so that every job meets a quiet one. */
const GAP_MS = 3_000;
const LOOK_AGAIN_MS = 100;

/** Results of runsync are removed while it is measured; those of run are kept for longer, and counted so. */
const SYNC_REMOVAL_MS = RUNSYNC_RETENTION_MS + GAP_MS;
const RUN_REMOVAL_ROWS = 1;
/** Statements that read fewer rows a job are left out, or write a tenth of that. */
const NOTED_ROWS = 0.5;

const NO_WORKER = "idle, one agent, no worker";
const IDLE_WORKERS = `idle, one agent, ${WORKERS} idle workers`;

type Site = { readonly edge: Edge; readonly endpointId: string; readonly webhook: string };

export const cost: Scenario = {
  name: "cost",
  async run(bench) {
    await using stack = new AsyncDisposableStack();
    const edge = stack.use(await startMeteredEdge());
    const api = edge.management;
    const agent = await startAgent({
      program: join(ROOT, "node-agent/main.ts"),
      edgeUrl: edge.url,
      stateDirectory: join(edge.stateDirectory, "agent"),
      logPath: join(edge.stateDirectory, "agent.log"),
      runtime: "process",
      joinToken: await createJoinToken(api, "bench"),
    });
    stack.defer(() => agent.stop());
    await createEndpoint(api, { name: "bench-without-workers", workers: 0 });
    await countIdle(bench, edge, NO_WORKER);
    const command = `node ${join(ROOT, "test/support/worker-script.mjs")}`;
    const endpointId = await createEndpoint(api, { name: "bench", workers: WORKERS, command });
    const receiver = stack.use(await receiveWebhooks());
    const site = { edge, endpointId, webhook: receiver.url };
    await untilReady(site, WORKERS);
    const idle = await countIdle(bench, edge, IDLE_WORKERS);
    await countAsyncJobs(bench, site, idle);
    await countBusyJobs(bench, site, api);
    await countSyncJobs(bench, site, idle);
  },
};

async function untilReady({ edge, endpointId }: Site, count: number): Promise<void> {
  for (;;) {
    const { workers } = (await edge.call(endpointId, "GET", "health")) as { workers: { idle: number } };
    if (workers.idle === count) return;
    await delay(LOOK_AGAIN_MS);
  }
}

/** Usage per second while nothing is asked of an endpoint and its agent is connected. */
async function countIdle(bench: Bench, edge: Edge, variant: string): Promise<Usage> {
  await delay(GAP_MS);
  const seconds = bench.isQuick ? 52 : 155; // once or three times the longest hold, and a little
  const { usage } = await counted(edge, () => delay(seconds * 1_000));
  const perSecond = scaled(usage, 1 / seconds);
  const condition = { scenario: "cost", variant };
  noteUsage(bench, condition, scaled(perSecond, MONTH_SECONDS), "a month");
  note(bench, "edgerun", condition, "$ a month", "$", priceOf(perSecond, MONTH_SECONDS));
  return perSecond;
}

async function countAsyncJobs(bench: Bench, site: Site, idle: Usage): Promise<void> {
  const alone = async () => {
    const id = await submit(site);
    await delay(GAP_MS);
    await site.edge.call(site.endpointId, "GET", `status/${id}`);
  };
  await countJobs(bench, site, idle, {
    variant: `run, status and webhook, a job every ${GAP_MS / 1_000} s`,
    jobs: bench.isQuick ? 5 : 20,
    isSync: false,
    work: async (jobs) => {
      for (let job = 0; job < jobs; job += 1) await alone();
    },
  });
  await countJobs(bench, site, idle, {
    variant: `run, status and webhook, 16 clients at ${WORKERS} workers with one slot`,
    jobs: bench.isQuick ? 80 : 480,
    isSync: false,
    work: async (jobs) => {
      const client = async () => {
        for (let job = 0; job < jobs / 16; job += 1) await ended(site, await submit(site));
      };
      await Promise.all(Array.from({ length: 16 }, client));
    },
  });
}

/** As many jobs at once as make good use of one worker that takes many. */
async function countBusyJobs(bench: Bench, site: Site, api: Edge["management"]): Promise<void> {
  const command = `node ${join(ROOT, "test/support/worker-script.mjs")}`;
  const env = { MOCK_CONCURRENCY: String(BUSY_CLIENTS) };
  const endpointId = await createEndpoint(api, { name: "bench-busy", workers: 1, command, env });
  const busy = { ...site, endpointId };
  await untilReady(busy, 1);
  const idle = await countIdle(bench, site.edge, `idle, one agent, ${WORKERS + 1} idle workers`);
  await countJobs(bench, busy, idle, {
    variant: `run, status and webhook, ${BUSY_CLIENTS} clients at one worker with ${BUSY_CLIENTS} slots`,
    jobs: bench.isQuick ? BUSY_CLIENTS * 4 : BUSY_CLIENTS * 14, // within the limit of run
    isSync: false,
    work: async (jobs) => {
      const client = async () => {
        for (let job = 0; job < jobs / BUSY_CLIENTS; job += 1) await ended(busy, await submit(busy));
      };
      await Promise.all(Array.from({ length: BUSY_CLIENTS }, client));
    },
  });
}

async function countSyncJobs(bench: Bench, site: Site, idle: Usage): Promise<void> {
  const cases = [
    { seconds: 0.1, jobs: 10 },
    { seconds: 2, jobs: 5 },
    { seconds: 60, jobs: 2 },
  ];
  for (const { seconds, jobs } of bench.isQuick ? cases.slice(0, 2) : cases) {
    await countJobs(bench, site, idle, {
      variant: `runsync of ${seconds} s, one at a time`,
      jobs,
      isSync: true,
      work: async (count) => {
        for (let job = 0; job < count; job += 1) {
          await runsync(site, seconds);
          await delay(GAP_MS);
        }
      },
    });
  }
}

type Count = {
  readonly variant: string;
  readonly jobs: number;
  /** Whether they are runsync. */
  readonly isSync: boolean;
  readonly work: (jobs: number) => Promise<void>;
};

/** Counts what jobs use beyond what would have been used without them in the same time. */
async function countJobs(bench: Bench, site: Site, idle: Usage, count: Count): Promise<void> {
  const { variant, jobs, isSync, work } = count;
  await delay(GAP_MS);
  const { usage, calls, statements, seconds } = await counted(site.edge, async () => {
    await work(jobs);
    await delay(isSync ? SYNC_REMOVAL_MS : GAP_MS); // the last hold inside the object belongs to them too
  });
  const perJob = scaled(beyond(usage, scaled(idle, seconds)), 1 / jobs);
  const removed = { ...perJob, rowsWritten: perJob.rowsWritten + (isSync ? 0 : RUN_REMOVAL_ROWS) };
  const condition = { scenario: "cost", variant };
  noteUsage(bench, condition, removed, "a job");
  for (const [call, count] of Object.entries(calls)) {
    note(bench, "edgerun", condition, `… of which ${call}`, "requests", count / jobs);
  }
  note(bench, "edgerun", condition, "$ per million jobs", "$", priceOf(removed, MILLION));
  noteStatements(bench, condition, statements, jobs);
}

/** The statements that a job pays for, those of the idle endpoint included. */
function noteStatements(
  bench: Bench,
  condition: Condition,
  statements: Counted["statements"],
  jobs: number,
): void {
  for (const [statement, { read, written }] of Object.entries(statements)) {
    if (read / jobs >= NOTED_ROWS)
      note(bench, "edgerun", condition, `read by ${statement}`, "rows", read / jobs);
    if (written / jobs >= NOTED_ROWS / 10)
      note(bench, "edgerun", condition, `written by ${statement}`, "rows", written / jobs);
  }
}

// Calls

async function submit({ edge, endpointId, webhook }: Site): Promise<string> {
  const body = JSON.stringify({ input: { mock_return: 1 }, webhook });
  return ((await edge.call(endpointId, "POST", "run", body)) as { id: string }).id;
}

/** One status call, which waits for the end. */
async function ended({ edge, endpointId }: Site, id: string): Promise<void> {
  await edge.call(endpointId, "GET", `status-sync/${id}`);
}

async function runsync({ edge, endpointId }: Site, seconds: number): Promise<void> {
  const body = JSON.stringify({ input: { mock_delay: seconds, mock_return: 1 } });
  const job = (await edge.call(endpointId, "POST", "runsync", body)) as { status: string };
  if (job.status !== "COMPLETED") throw new Error(`A runsync of ${seconds} s is ${job.status}.`);
}

// Usage

async function counted(edge: Edge, work: () => Promise<void>): Promise<Counted> {
  const before = await readMeters(edge);
  const startedAt = performance.now();
  await work();
  const seconds = (performance.now() - startedAt) / 1_000;
  const after = await readMeters(edge);
  return {
    seconds,
    usage: usageBetween(before, after),
    calls: callsBetween(before, after),
    statements: statementsBetween(before, after),
  };
}

type Counted = {
  readonly seconds: number;
  readonly usage: Usage;
  /** By object and method. */
  readonly calls: Readonly<Record<string, number>>;
  readonly statements: ReturnType<typeof statementsBetween>;
};

function combined(a: Usage, b: Usage, combine: (a: number, b: number) => number): Usage {
  return {
    workerRequests: combine(a.workerRequests, b.workerRequests),
    objectRequests: combine(a.objectRequests, b.objectRequests),
    objectSeconds: combine(a.objectSeconds, b.objectSeconds),
    rowsRead: combine(a.rowsRead, b.rowsRead),
    rowsWritten: combine(a.rowsWritten, b.rowsWritten),
  };
}

function scaled(usage: Usage, factor: number): Usage {
  return combined(usage, usage, (value) => value * factor);
}

function beyond(usage: Usage, idle: Usage): Usage {
  return combined(usage, idle, (value, share) => Math.max(0, value - share));
}

function noteUsage(
  bench: Bench,
  condition: { scenario: string; variant: string },
  usage: Usage,
  per: string,
): void {
  note(bench, "edgerun", condition, `Worker requests ${per}`, "requests", usage.workerRequests);
  note(bench, "edgerun", condition, `object requests ${per}`, "requests", usage.objectRequests);
  note(bench, "edgerun", condition, `seconds an object is awake, ${per}`, "s", usage.objectSeconds);
  note(bench, "edgerun", condition, `rows read ${per}`, "rows", usage.rowsRead);
  note(
    bench,
    "edgerun",
    condition,
    `rows written ${per}${per === "a job" ? ", removal included" : ""}`,
    "rows",
    usage.rowsWritten,
  );
}
