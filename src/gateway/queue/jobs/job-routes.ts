/** The operations on jobs. */
import * as z from "zod";
import {
  flagSchema,
  jobRequestSchema,
  jobStateSchema,
  jobViewSchema,
  purgeReplySchema,
  remainingTtlSchema,
  requestsPageSchema,
  requestsQuerySchema,
  streamReplySchema,
  waitSchema,
} from "../../../contract/job.ts";
import { WAIT_DEFAULT_MS } from "../../../contract/limits.ts";
import { webhookLogSchema } from "../../../contract/webhook.ts";
import { withPost } from "../../route.ts";
import { idempotencyHeaders, jobRoute, type QueueRoute } from "../route.ts";
import { stream, STREAM_HOLD_MS } from "../streams/stream.ts";
import {
  cancel,
  purgeQueue,
  redeliver,
  requests,
  retry,
  run,
  runsync,
  status,
  statusSync,
  webhookLog,
} from "./job-handlers.ts";

const wait = (details: string) =>
  z.object({ wait: waitSchema.optional().meta({ description: `Milliseconds to wait. ${details}` }) });

const submission = {
  access: "write" as const,
  headers: idempotencyHeaders,
  body: jobRequestSchema,
  example: { input: { name: "you" } },
  errors: [413] as const,
};

const statusRoute = jobRoute("status", {
  on: "GET /status/{jobId}",
  access: "read", // with `?ttl=`, which changes the job: write
  id: "getJob",
  summary: "Get a job",
  details:
    "With `wait`, answers when the job has ended, or after that time with its current state. " +
    "`delayTime` and `executionTime` of a job that has not ended count up to now.",
  query: wait("0 by default.").extend({
    ttl: remainingTtlSchema.optional().meta({
      description: "Sets the expiry of the job to this many milliseconds from now.",
    }),
    timeline: flagSchema.optional().meta({ description: "Adds the events of the job with their times." }),
    cost: flagSchema.optional().meta({ description: "Adds what the job cost." }),
  }),
  answer: jobViewSchema,
  serve: status,
});

const statusSyncRoute = jobRoute("status", {
  on: "GET /status-sync/{jobId}",
  access: "read",
  id: "waitForJob",
  summary: "Wait for the end of a job",
  query: wait(`${WAIT_DEFAULT_MS} by default.`),
  answer: jobViewSchema,
  serve: statusSync,
});

const streamRoute = jobRoute("stream", {
  on: "GET /stream/{jobId}",
  access: "read",
  id: "streamJob",
  summary: "Read what the handler has yielded since the last call",
  details:
    "Waits until there is a chunk, the job has ended or `wait` is over; the first answer with a final status holds " +
    "all remaining chunks. With `Accept: text/event-stream`, sends server-sent events instead, from the start or after " +
    "`Last-Event-ID`.",
  query: wait(`${STREAM_HOLD_MS} by default.`),
  headers: z.object({
    "Last-Event-ID": z.string().optional().meta({
      description:
        "Id of the last event that the client has received. One that is no positive number counts as absent.",
    }),
  }),
  answer: streamReplySchema,
  hasEvents: true,
  serve: stream,
});

export const jobRoutes: readonly QueueRoute[] = [
  jobRoute("run", {
    on: "POST /run",
    id: "runJob",
    summary: "Queue a job",
    details:
      "Answers at once with its id. The result is stored for 30 minutes after the job has ended. `input` is an " +
      "object for workers that name their parameters, and may be any other JSON value, which reaches the handler " +
      "unchanged.",
    ...submission,
    answer: jobStateSchema,
    serve: run,
  }),
  jobRoute("runsync", {
    on: "POST /runsync",
    id: "runJobAndWait",
    summary: "Run a job and wait for its result",
    details:
      "Answers when the job has ended, or after `wait` with its current state. The job continues: read it by " +
      "status or status-sync. Jobs may take hours without an open connection. A client that hangs " +
      "up does not cancel it. `input` may be any JSON value. A job whose worker crashed is FAILED, with the " +
      "worker's last output in `error`, and not an error of this call.",
    ...submission,
    query: wait(`${WAIT_DEFAULT_MS} by default.`),
    answer: jobViewSchema,
    serve: runsync,
  }),
  // Some clients send POST to read.
  ...withPost(statusRoute),
  ...withPost(statusSyncRoute),
  ...withPost(streamRoute),
  jobRoute("cancel", {
    on: "POST /cancel/{jobId}",
    access: "write",
    id: "cancelJob",
    summary: "Cancel a job",
    details: "A queued or running job ends as CANCELLED; an ended job does not change.",
    answer: jobStateSchema,
    serve: cancel,
  }),
  jobRoute("retry", {
    on: "POST /retry/{jobId}",
    access: "write",
    id: "retryJob",
    summary: "Queue a failed or timed-out job again",
    details: "With the same id and input.",
    answer: jobStateSchema,
    errors: [409],
    serve: retry,
  }),
  jobRoute("webhooks", {
    on: "GET /webhooks/{jobId}",
    access: "read",
    id: "getWebhookLog",
    summary: "List the deliveries of a job's webhook",
    answer: webhookLogSchema,
    serve: webhookLog,
  }),
  jobRoute("webhooks", {
    on: "POST /webhooks/{jobId}/redeliver",
    access: "write",
    id: "redeliverWebhook",
    summary: "Send the webhook of an ended job again",
    answer: webhookLogSchema,
    serve: redeliver,
  }),
  jobRoute("requests", {
    on: "GET /requests",
    access: "read",
    id: "listJobs",
    summary: "List stored jobs, newest first",
    query: requestsQuerySchema,
    answer: requestsPageSchema,
    serve: requests,
  }),
  jobRoute("purge-queue", {
    on: "POST /purge-queue",
    access: "write",
    id: "purgeQueue",
    summary: "Cancel all queued jobs",
    answer: purgeReplySchema,
    serve: purgeQueue,
  }),
];
