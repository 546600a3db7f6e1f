/** Operations on jobs. */
import { ServiceError } from "../../../contract/errors.ts";
import {
  flagSchema,
  type JobView,
  remainingTtlSchema,
  requestsQuerySchema,
  waitSchema,
} from "../../../contract/job.ts";
import { describeColdStart } from "../../../domain/jobs/cold-start.ts";
import { coldStartIn } from "../../../domain/jobs/timeline.ts";
import { costOfJob } from "../../../domain/costs/job-cost.ts";
import { RUN_BODY_MAX_BYTES, RUNSYNC_BODY_MAX_BYTES, WAIT_DEFAULT_MS } from "../../../contract/limits.ts";
import { IN_OBJECT_WAIT_MS } from "../../../durable/waiters.ts";
import type { Payload } from "../../../domain/jobs/job-machine.ts";
import type { RedeliverOutcome, SlotRef } from "../../../endpoint/messages.ts";
import { callShardOfJob } from "../../../management/endpoints/endpoint-directory.ts";
import {
  jobNotFound,
  type QueueContext,
  readParameter,
  readQuery,
  readWait,
  requireWriteAccess,
} from "../context.ts";
import { callAboutJob, callWithinLimits } from "../limits.ts";
import { jobResponse, waitForJob } from "./job-answer.ts";
import { submitJob } from "./submission.ts";

/** `POST /run`: queues a job and answers at once with its id. */
export async function run(context: QueueContext): Promise<Response> {
  const { view, isNew } = await submitJob(context, {
    isSync: false,
    maxBytes: RUN_BODY_MAX_BYTES,
    waitMs: null,
    holdMs: 0,
  });
  return context.json({ id: view.id, status: isNew ? "IN_QUEUE" : view.status });
}

/** A strict client expects the member in every reply, as in that of an ended job. */
const NO_WORKER_YET = { workerId: "" };

/**
 * `POST /runsync?wait=ms`: queues a job and answers when it has ended, or after `wait` (90 s) with its
 * current state. A client that hangs up does not cancel its job.
 */
export async function runsync(context: QueueContext): Promise<Response> {
  const waitMs = readParameter(context, "wait", waitSchema) ?? null;
  const untilAt = Date.now() + (waitMs ?? WAIT_DEFAULT_MS);
  const submitted = await submitJob(context, {
    isSync: true,
    maxBytes: RUNSYNC_BODY_MAX_BYTES,
    waitMs,
    holdMs: IN_OBJECT_WAIT_MS,
  });
  const view = submitted.isFinal
    ? submitted.view
    : await waitForJob(context, submitted.view.id, untilAt, submitted);
  return jobResponse(context, { ...NO_WORKER_YET, ...view });
}

/**
 * `GET|POST /status/<id>`: the state of the job; with `?wait=ms`, when it has ended or after that time.
 * `?ttl=ms` moves the expiry of the job to this time from now, within the longest ttl; the retention of a
 * result does not change. `?timeline=1` adds the events of the job, `?cost=1` what it cost.
 */
export async function status(context: QueueContext): Promise<Response> {
  const waitMs = readWait(context, 0);
  const ttlMs = readParameter(context, "ttl", remainingTtlSchema);
  const additions = {
    timeline: readParameter(context, "timeline", flagSchema) ?? false,
    cost: readParameter(context, "cost", flagSchema) ?? false,
  };
  const slot = ttlMs === undefined ? null : await expireIn(context, ttlMs);
  const view = await viewAfter(context, waitMs, slot);
  return jobResponse(context, await withAdditions(context, view, additions));
}

/** `GET|POST /status-sync/<id>?wait=ms`: like status, with a wait of 90 s by default. */
export async function statusSync(context: QueueContext): Promise<Response> {
  return jobResponse(context, await viewAfter(context, readWait(context), null));
}

async function expireIn(context: QueueContext, ttlMs: number): Promise<SlotRef> {
  requireWriteAccess(context);
  const jobId = context.req.param("jobId") ?? "";
  const reply = await callAboutJob(context, jobId, (stub) => stub.expireIn(jobId, ttlMs));
  if (reply.kind === "not_found") throw jobNotFound(jobId);
  return reply.slot;
}

function viewAfter(
  context: QueueContext,
  waitMs: number,
  slot: SlotRef | null,
): Promise<JobView<Payload | null>> {
  return waitForJob(context, context.req.param("jobId") ?? "", Date.now() + waitMs, { slot });
}

async function withAdditions(
  context: QueueContext,
  view: JobView<Payload | null>,
  { timeline, cost }: Readonly<Record<"timeline" | "cost", boolean>>,
): Promise<JobView<Payload | null>> {
  if (!timeline && !cost) return view;
  const endpoint = context.get("endpoint");
  const reply = await callShardOfJob(context.env, endpoint, view.id, (stub) => stub.timeline(view.id));
  if (reply.kind !== "timeline") return view;
  const { events, queuedAt } = reply;
  const start = timeline ? coldStartIn(events, queuedAt) : null;
  return {
    ...view,
    ...(timeline && { timeline: events }),
    ...(start && { coldStart: describeColdStart(start) }),
    ...(cost && { cost: costOfJob(events, Date.now()) }),
  };
}

/** `POST /cancel/<id>`: cancels a queued or running job; an ended job does not change. */
export async function cancel(context: QueueContext): Promise<Response> {
  const jobId = context.req.param("jobId") ?? "";
  const reply = await callAboutJob(context, jobId, (stub) => stub.cancel(jobId));
  if (reply.kind === "not_found") throw jobNotFound(jobId);
  return context.json({ id: reply.id, status: reply.status });
}

/** `POST /retry/<id>`: queues a failed or timed-out job again, with the same id and input. */
export async function retry(context: QueueContext): Promise<Response> {
  const jobId = context.req.param("jobId") ?? "";
  const reply = await callAboutJob(context, jobId, (stub) => stub.retry(jobId));
  switch (reply.kind) {
    case "not_found":
      throw jobNotFound(jobId);
    case "not_retryable":
      throw new ServiceError(
        "job_not_retryable",
        `Job ${jobId} is ${reply.status}; only a FAILED or TIMED_OUT job can be retried. Submit a new one instead.`,
      );
    case "done":
      return context.json({ id: reply.id, status: "IN_QUEUE" });
  }
}

/** `POST /purge-queue`: cancels all queued jobs; running ones continue. */
export async function purgeQueue(context: QueueContext): Promise<Response> {
  const reply = await callWithinLimits(context, (stub) => stub.purge());
  return context.json({ removed: reply.removed, status: "completed" });
}

/** `GET /requests?status=&offset=&limit=`: the stored jobs, newest first. */
export async function requests(context: QueueContext): Promise<Response> {
  const { status = null, offset, limit } = readQuery(context, requestsQuerySchema);
  const reply = await callWithinLimits(context, (stub) => stub.list({ status, offset, limit }));
  return context.json(reply.page);
}

/** `GET /webhooks/<id>`: the deliveries of the job's webhook. */
export async function webhookLog(context: QueueContext): Promise<Response> {
  const jobId = context.req.param("jobId") ?? "";
  const reply = await callAboutJob(context, jobId, (stub) => stub.webhookLog(jobId));
  if (reply.kind === "not_found") throw jobNotFound(jobId);
  return context.json(reply.log);
}

/** `POST /webhooks/<id>/redeliver`: sends the webhook of an ended job again. */
export async function redeliver(context: QueueContext): Promise<Response> {
  const jobId = context.req.param("jobId") ?? "";
  const reply = await callAboutJob(context, jobId, (stub) => stub.redeliver(jobId));
  switch (reply.kind) {
    case "not_found":
      throw jobNotFound(jobId);
    case "refused":
      throw new ServiceError("invalid_input", `Job ${jobId} ${REDELIVERY_ERRORS[reply.reason]}`);
    case "log":
      return context.json(reply.log);
  }
}

const REDELIVERY_ERRORS: Record<Extract<RedeliverOutcome, { readonly kind: "refused" }>["reason"], string> = {
  no_webhook:
    "has no webhook, so there is nothing to deliver. Submit jobs with `webhook` to be notified of their end.",
  not_ended: "has not ended yet. Its webhook will be called when it has.",
  never_sent: "was purged, and purged jobs call no webhook.",
};
