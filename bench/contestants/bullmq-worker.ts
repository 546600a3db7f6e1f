/** The worker of the BullMQ contestant, in a process of its own. */
import { randomUUID } from "node:crypto";
import { type Job, Worker } from "bullmq";
import type { Latency } from "../load/order.ts";
import { latencyOf } from "../load/percentiles.ts";
import { answerCommands, readSettings } from "../process/commands.ts";
import { connectionTo, type JobData, QUEUE_NAME } from "./bullmq-queue.ts";
import { SLOTS } from "./contestant.ts";
import { answerTo } from "./handler.ts";

export type WorkerSettings = { readonly redisPort: number };

const connection = connectionTo(readSettings<WorkerSettings>().redisPort);

async function handle(job: Job<JobData>): Promise<unknown> {
  const { chunk, output } = answerTo(job.data.input);
  if (chunk !== undefined) await job.updateProgress(chunk);
  return output;
}

const worker = new Worker<JobData>(QUEUE_NAME, handle, { connection, concurrency: SLOTS });
/** Takes jobs one at a time, by hand. */
const puller = new Worker<JobData>(QUEUE_NAME, null, { connection, autorun: false });
await Promise.all([worker.waitUntilReady(), puller.waitUntilReady()]);

const commands = {
  pause: (_: null): Promise<void> => worker.pause(),
  resume: (_: null): void => void worker.resume(),

  drain: async (jobs: number): Promise<number> => {
    const done = Promise.withResolvers<void>();
    let left = jobs;
    const count = (): void => {
      left -= 1;
      if (left === 0) done.resolve();
    };
    worker.on("completed", count);
    const startedAt = performance.now();
    void worker.resume();
    await done.promise;
    const seconds = (performance.now() - startedAt) / 1_000;
    worker.off("completed", count);
    await worker.pause(); // a few more than asked for may have been taken meanwhile
    return seconds;
  },

  claim: async (jobs: number): Promise<Latency> => {
    const token = randomUUID();
    const latenciesMs: number[] = [];
    for (let index = 0; index < jobs; index += 1) {
      const requestedAt = performance.now();
      const job = (await puller.getNextJob(token)) as Job<JobData> | undefined;
      latenciesMs.push(performance.now() - requestedAt);
      if (!job) throw new Error("The queue is empty.");
      await job.moveToCompleted(await handle(job), token, false);
    }
    return latencyOf(latenciesMs);
  },
};
export type WorkerCommands = typeof commands;

answerCommands(commands);
