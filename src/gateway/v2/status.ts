import { remainingLifeSchema } from "../../contract/job.ts";
import type { SlotRef } from "../../endpoint/messages.ts";
import { jobNotFound, readParameter, readWait, type QueueContext } from "./context.ts";
import { jobResponse } from "./job-body.ts";
import { askWithinLimits } from "./limits.ts";
import { waitForJob } from "./wait-for-job.ts";

/**
 * `GET|POST /status/<id>`: the job as it stands; with `?wait=ms` once it has ended, or after that time.
 * `?ttl=ms` gives the job that long to live from now on, at most until the longest ttl is over. It does not
 * make a result stay longer than its retention.
 */
export async function status(context: QueueContext): Promise<Response> {
  const waitMs = readWait(context, 0);
  const ttlMs = readParameter(context, "ttl", remainingLifeSchema);
  const slot = ttlMs === undefined ? null : await expireIn(context, ttlMs);
  return answerAfter(context, waitMs, slot);
}

/** `GET|POST /status-sync/<id>?wait=ms`: the same, waiting 90 s when `wait` is absent. */
export async function statusSync(context: QueueContext): Promise<Response> {
  return answerAfter(context, readWait(context), null);
}

async function expireIn(context: QueueContext, ttlMs: number): Promise<SlotRef> {
  const jobId = context.req.param("jobId") ?? "";
  const reply = await askWithinLimits(context, (stub) => stub.expireIn(jobId, ttlMs));
  if (reply.kind === "not_found") throw jobNotFound(jobId);
  return reply.slot;
}

async function answerAfter(context: QueueContext, waitMs: number, slot: SlotRef | null): Promise<Response> {
  const jobId = context.req.param("jobId") ?? "";
  return jobResponse(context, await waitForJob(context, jobId, Date.now() + waitMs, slot));
}
