/** What the service and the worker of the BullMQ contestant agree on. */
import type { QueueOptions } from "bullmq";

export const QUEUE_NAME = "jobs";

/** The counterparts of Edgerun's retention: results of run and of runsync are kept for so long. */
export const RUN_KEPT_SECONDS = 1_800;
export const RUNSYNC_KEPT_SECONDS = 60;

export type JobData = { readonly input: unknown };

/** Workers and waiting services may never give a command up, as BullMQ's documentation asks. */
export function connectionTo(redisPort: number): QueueOptions["connection"] {
  return { host: "127.0.0.1", port: redisPort, maxRetriesPerRequest: null };
}
