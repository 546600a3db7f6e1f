/** The HTTP service of the BullMQ contestant, with the paths and bodies of Edgerun's queue API. */
import { createHash } from "node:crypto";
import { serve } from "@hono/node-server";
import { type Job, Queue, QueueEvents } from "bullmq";
import { Hono, type MiddlewareHandler } from "hono";
import { streamSSE } from "hono/streaming";
import * as z from "zod";
import { jobRequestSchema } from "../../src/contract/job.ts";
import { answerCommands, readSettings } from "../process/commands.ts";
import {
  connectionTo,
  type JobData,
  QUEUE_NAME,
  RUN_KEPT_SECONDS,
  RUNSYNC_KEPT_SECONDS,
} from "./bullmq-queue.ts";

export type ServiceSettings = { readonly redisPort: number; readonly port: number; readonly apiKey: string };

const RUNSYNC_WAIT_MS = 90_000;
/** Jobs that a deep queue is filled with at once. */
const FILL_BATCH = 2_000;
const KEEP_ALIVE_MS = 120_000;
const WIRE_STATUSES: Readonly<Record<string, string>> = {
  waiting: "IN_QUEUE",
  active: "IN_PROGRESS",
  completed: "COMPLETED",
  failed: "FAILED",
};

const { redisPort, port, apiKey } = readSettings<ServiceSettings>();
const connection = connectionTo(redisPort);
const queue = new Queue<JobData>(QUEUE_NAME, { connection });
const events = new QueueEvents(QUEUE_NAME, { connection });
queue.setMaxListeners(0); // each waiting request listens
events.setMaxListeners(0);
await Promise.all([queue.waitUntilReady(), events.waitUntilReady()]);

const accountsByKeyHash = new Map([[hashOf(apiKey), "account"]]);

function hashOf(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}

const withAccount: MiddlewareHandler = async (context, next) => {
  const key = /^Bearer (.+)$/.exec(context.req.header("Authorization") ?? "")?.[1];
  if (key === undefined || !accountsByKeyHash.has(hashOf(key))) {
    return context.json({ error: "unauthorized" }, 401);
  }
  return await next();
};

function viewOf(job: Job<JobData>, status: string) {
  const { id, timestamp, processedOn = timestamp, finishedOn = processedOn } = job;
  const times = { delayTime: processedOn - timestamp, executionTime: finishedOn - processedOn };
  return { ...times, id, status, workerId: job.processedBy, output: job.returnvalue as unknown };
}

async function submit(body: unknown, retentionSeconds: number): Promise<Job<JobData> | undefined> {
  const parsed = jobRequestSchema.safeParse(body);
  if (!parsed.success) return undefined;
  return queue.add("job", { input: parsed.data.input }, optionsFor(retentionSeconds));
}

function optionsFor(retentionSeconds: number) {
  return { removeOnComplete: { age: retentionSeconds }, removeOnFail: { age: retentionSeconds } };
}

const batchSchema = z.array(jobRequestSchema);

const app = new Hono();
app.use("/v2/*", withAccount);

app.post("/v2/jobs/run", async (context) => {
  const job = await submit(await context.req.json(), RUN_KEPT_SECONDS);
  return job
    ? context.json({ id: job.id, status: "IN_QUEUE" })
    : context.json({ error: "invalid_input" }, 400);
});

app.post("/v2/jobs/runsync", async (context) => {
  const job = await submit(await context.req.json(), RUNSYNC_KEPT_SECONDS);
  if (!job) return context.json({ error: "invalid_input" }, 400);
  const output: unknown = await job.waitUntilFinished(events, RUNSYNC_WAIT_MS);
  return context.json({ ...viewOf(job, "COMPLETED"), output });
});

app.post("/v2/jobs/batch", async (context) => {
  const parsed = batchSchema.safeParse(await context.req.json());
  if (!parsed.success) return context.json({ error: "invalid_input" }, 400);
  const opts = optionsFor(RUN_KEPT_SECONDS);
  const jobs = await queue.addBulk(parsed.data.map(({ input }) => ({ name: "job", data: { input }, opts })));
  return context.json({ requests: jobs.map(({ id }) => ({ id, status: "IN_QUEUE" })) });
});

app.get("/v2/jobs/status/:id", async (context) => {
  const job = await queue.getJob(context.req.param("id"));
  if (!job) return context.json({ error: "job_not_found" }, 404);
  return context.json(viewOf(job, WIRE_STATUSES[await job.getState()] ?? "IN_QUEUE"));
});

app.post("/v2/jobs/cancel/:id", async (context) => {
  const id = context.req.param("id");
  const isRemoved = (await queue.remove(id)) === 1;
  return isRemoved
    ? context.json({ id, status: "CANCELLED" })
    : context.json({ error: "job_not_found" }, 404);
});

app.get("/v2/jobs/health", async (context) => {
  const counts = await queue.getJobCounts("waiting", "active", "completed", "failed");
  return context.json({ jobs: counts });
});

/** Chunks are the progress of the job, as BullMQ has no streams of its own. */
app.get("/v2/jobs/stream/:id", (context) => {
  const id = context.req.param("id");
  return streamSSE(context, async (stream) => {
    const ended = Promise.withResolvers<void>();
    let told: Promise<void> | undefined;
    const report = (chunk: unknown): void => {
      told ??= stream.writeSSE({ data: JSON.stringify({ output: chunk }) });
    };
    const onProgress = (event: { jobId: string; data: unknown }) => {
      if (event.jobId === id) report(event.data);
    };
    const onCompleted = (event: { jobId: string }) => {
      if (event.jobId === id) ended.resolve();
    };
    events.on("progress", onProgress).on("completed", onCompleted);
    const job = await queue.getJob(id); // what came before the listeners were there
    if (job?.progress) report(job.progress);
    if (job?.finishedOn === undefined) await ended.promise;
    events.off("progress", onProgress).off("completed", onCompleted);
    await told;
  });
});

const server = serve({ fetch: app.fetch, hostname: "127.0.0.1", port });
if ("keepAliveTimeout" in server) server.keepAliveTimeout = KEEP_ALIVE_MS;

const commands = {
  /** Queues jobs in bulk, past HTTP, for scenarios that need a deep queue. */
  fill: async (count: number): Promise<void> => {
    const job = { name: "job", data: { input: { name: "bench" } }, opts: optionsFor(RUN_KEPT_SECONDS) };
    for (let left = count; left > 0; left -= FILL_BATCH) {
      await queue.addBulk(Array.from({ length: Math.min(left, FILL_BATCH) }, () => job));
    }
  },
  waiting: async (_: null): Promise<number> => queue.getWaitingCount(),
};
export type ServiceCommands = typeof commands;

answerCommands(commands);
