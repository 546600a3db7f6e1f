import { flagSchema, remainingTtlSchema } from "../../../contract/job.ts";
import type { JobView } from "../../../domain/jobs/job-view.ts";
import type { SlotRef } from "../../../endpoint/messages.ts";
import { callEndpoint } from "../../endpoint-directory.ts";
import { jobNotFound, readParameter, readWait, requireWriteAccess, type QueueContext } from "../context.ts";
import { jobResponse } from "./job-body.ts";
import { callWithinLimits } from "../limits.ts";
import { waitForJob } from "./wait-for-job.ts";

/**
 * `GET|POST /status/<id>`: the job as it stands; with `?wait=ms` once it has ended, or after that time.
 * `?ttl=ms` gives the job that long to live from now on, at most until the longest ttl is over. It does not
 * make a result stay longer than its retention. `?timeline=1` adds what happened to the job, and when.
 */
export async function status(context: QueueContext): Promise<Response> {
  const waitMs = readWait(context, 0);
  const ttlMs = readParameter(context, "ttl", remainingTtlSchema);
  const hasTimeline = readParameter(context, "timeline", flagSchema) ?? false;
  const slot = ttlMs === undefined ? null : await expireIn(context, ttlMs);
  const view = await viewAfter(context, waitMs, slot);
  return jobResponse(context, hasTimeline ? await withTimeline(context, view) : view);
}

/** `GET|POST /status-sync/<id>?wait=ms`: the same, waiting 90 s when `wait` is absent. */
export async function statusSync(context: QueueContext): Promise<Response> {
  return jobResponse(context, await viewAfter(context, readWait(context), null));
}

async function expireIn(context: QueueContext, ttlMs: number): Promise<SlotRef> {
  requireWriteAccess(context);
  const jobId = context.req.param("jobId") ?? "";
  const reply = await callWithinLimits(context, (stub) => stub.expireIn(jobId, ttlMs));
  if (reply.kind === "not_found") throw jobNotFound(jobId);
  return reply.slot;
}

function viewAfter(context: QueueContext, waitMs: number, slot: SlotRef | null): Promise<JobView> {
  return waitForJob(context, context.req.param("jobId") ?? "", Date.now() + waitMs, { slot });
}

async function withTimeline(context: QueueContext, view: JobView): Promise<JobView> {
  const endpoint = context.get("endpoint");
  const reply = await callEndpoint(context.env, endpoint, (stub) => stub.timeline(view.id));
  return reply.kind === "timeline" ? { ...view, timeline: reply.events } : view;
}
