/** The queue API: `/v2/{endpointId}/…`. */
import * as z from "zod";
import type { ZodOpenApiPathsObject } from "zod-openapi";
import {
  flagSchema,
  healthSchema,
  jobViewSchema,
  jobRequestSchema,
  jobStateSchema,
  metricsSchema,
  purgeReplySchema,
  remainingTtlSchema,
  requestsPageSchema,
  requestsQuerySchema,
  streamReplySchema,
  waitSchema,
} from "../../../contract/job.ts";
import { IDEMPOTENCY_KEY_MAX_LENGTH, STREAM_HOLD_MS, WAIT_DEFAULT_MS } from "../../../contract/limits.ts";
import { logPageSchema, logQuerySchema, workerLogQuerySchema } from "../../../contract/agent/log.ts";
import { metricsWindowSchema, requestMetricsSchema, workerMetricsSchema } from "../../../contract/metrics.ts";
import { webhookLogSchema } from "../../../contract/webhook.ts";
import { operation, type Description } from "./operation.ts";

export const endpointPath = z.object({
  endpointId: z.string().meta({
    description:
      "Id of an endpoint, or `flash` for the endpoint that the headers X-Flash-App, X-Flash-Environment " +
      "and X-Flash-Endpoint name. The answer's header X-Flash-Endpoint-Id then holds its id.",
    param: { id: "endpointId" },
  }),
});
const jobPath = endpointPath.extend({
  jobId: z.string().meta({ description: "The `id` in the answer of `run`.", param: { id: "jobId" } }),
});

/** The limit that a request counted against; see the IETF draft on RateLimit fields. */
export const rateLimitHeaders = z.object({
  "RateLimit-Policy": z
    .string()
    .optional()
    .meta({ description: "The limit: requests per number of seconds.", example: '"run";q=1000;w=10' }),
  RateLimit: z.string().optional().meta({
    description: "Requests that remain, and seconds until the limit resets.",
    example: '"run";r=998;t=10',
  }),
});

export const idempotencyHeaders = z.object({
  "Idempotency-Key": z.string().max(IDEMPOTENCY_KEY_MAX_LENGTH).optional().meta({
    description: "A repeated call with the same key returns what the first call created.",
  }),
});

const wait = (details: string) =>
  z.object({ wait: waitSchema.optional().meta({ description: `Milliseconds to wait. ${details}` }) });

const metricsQuerySchema = z.object({
  window: metricsWindowSchema.optional().meta({ description: "`1h` by default." }),
});

const LIMITED = [400, 401, 404, 429, 500] as const;
const TAG = "Jobs";

/** An operation that counts against a limit. */
function limited(description: Omit<Description, "tag">, ...more: readonly (409 | 413)[]) {
  return operation({ tag: TAG, answerHeaders: rateLimitHeaders, ...description }, [...LIMITED, ...more]);
}

/** Some clients send POST to read. */
function withPost(description: Omit<Description, "tag">) {
  const asPost = {
    ...description,
    id: `${description.id}ByPost`,
    summary: `${description.summary} (the same)`,
  };
  return { get: limited(description), post: limited(asPost) };
}

const statusDescription = {
  id: "getJob",
  summary: "Get a job",
  details:
    "With `wait`, answers when the job has ended, or after that time with its current state. " +
    "`delayTime` and `executionTime` of a job that has not ended count up to now.",
  path: jobPath,
  query: wait("0 by default.").extend({
    ttl: remainingTtlSchema.optional().meta({
      description: "Sets the expiry of the job to this many milliseconds from now.",
    }),
    timeline: flagSchema.optional().meta({ description: "Adds the events of the job with their times." }),
  }),
  answer: jobViewSchema,
};

const streamDescription = {
  id: "streamJob",
  summary: "Read what the handler has yielded since the last call",
  details:
    "Waits until there is a chunk, the job has ended or `wait` is over; the first answer with a final status holds " +
    "all remaining chunks. With `Accept: text/event-stream`, sends server-sent events instead, from the start or after " +
    "`Last-Event-ID`.",
  path: jobPath,
  query: wait(`${STREAM_HOLD_MS} by default.`),
  headers: z.object({
    "Last-Event-ID": z
      .string()
      .optional()
      .meta({ description: "Id of the last event that the client has received." }),
  }),
  answer: streamReplySchema,
};

const submission = {
  path: endpointPath,
  headers: idempotencyHeaders,
  body: jobRequestSchema,
  example: { input: { name: "you" } },
};

const SUBMIT = {
  "/v2/{endpointId}/run": {
    post: limited(
      {
        id: "runJob",
        summary: "Queue a job",
        details:
          "Answers at once with its id. The result is stored for 30 minutes after the job has ended. `input` is an " +
          "object for workers that name their parameters, and may be any other JSON value, which reaches the handler " +
          "unchanged.",
        ...submission,
        answer: jobStateSchema,
      },
      413,
    ),
  },
  "/v2/{endpointId}/runsync": {
    post: limited(
      {
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
      },
      413,
    ),
  },
} satisfies ZodOpenApiPathsObject;

const JOBS = {
  "/v2/{endpointId}/status/{jobId}": withPost(statusDescription),
  "/v2/{endpointId}/status-sync/{jobId}": withPost({
    id: "waitForJob",
    summary: "Wait for the end of a job",
    path: jobPath,
    query: wait(`${WAIT_DEFAULT_MS} by default.`),
    answer: jobViewSchema,
  }),
  "/v2/{endpointId}/stream/{jobId}": withPost(streamDescription),
  "/v2/{endpointId}/cancel/{jobId}": {
    post: limited({
      id: "cancelJob",
      summary: "Cancel a job",
      details: "A queued or running job ends as CANCELLED; an ended job does not change.",
      path: jobPath,
      answer: jobStateSchema,
    }),
  },
  "/v2/{endpointId}/retry/{jobId}": {
    post: limited(
      {
        id: "retryJob",
        summary: "Queue a failed or timed-out job again",
        details: "With the same id and input.",
        path: jobPath,
        answer: jobStateSchema,
      },
      409,
    ),
  },
  "/v2/{endpointId}/webhooks/{jobId}": {
    get: limited({
      id: "getWebhookLog",
      summary: "List the deliveries of a job's webhook",
      path: jobPath,
      answer: webhookLogSchema,
    }),
  },
  "/v2/{endpointId}/webhooks/{jobId}/redeliver": {
    post: limited({
      id: "redeliverWebhook",
      summary: "Send the webhook of an ended job again",
      path: jobPath,
      answer: webhookLogSchema,
    }),
  },
} satisfies ZodOpenApiPathsObject;

const QUEUE = {
  "/v2/{endpointId}/requests": {
    get: limited({
      id: "listJobs",
      summary: "List stored jobs, newest first",
      path: endpointPath,
      query: requestsQuerySchema,
      answer: requestsPageSchema,
    }),
  },
  "/v2/{endpointId}/logs": {
    get: operation(
      {
        id: "getLogs",
        tag: TAG,
        summary: "Read the logs of workers",
        details:
          "The newest matching lines, ordered by time. With `Accept: text/event-stream`, sends them as " +
          "server-sent events and continues with new lines, or after `Last-Event-ID`.",
        path: endpointPath,
        query: logQuerySchema,
        answer: logPageSchema,
      },
      [400, 401, 404, 429, 500],
    ),
  },
  "/v2/serverless/{endpointId}/workers/{workerId}/logs": {
    get: operation(
      {
        id: "followWorkerLogs",
        tag: TAG,
        summary: "Follow the logs of one worker",
        details: "Server-sent events, each `{source, line, ts}`.",
        path: endpointPath.extend({ workerId: z.string() }),
        query: workerLogQuerySchema,
        answer: undefined,
      },
      [400, 401, 404, 429, 500],
    ),
  },
  "/v2/{endpointId}/purge-queue": {
    post: limited({
      id: "purgeQueue",
      summary: "Cancel all queued jobs",
      path: endpointPath,
      answer: purgeReplySchema,
    }),
  },
  "/v2/{endpointId}/health": {
    get: operation(
      {
        id: "getHealth",
        tag: TAG,
        summary: "Get job counters, workers, and limits with their use",
        path: endpointPath,
        answer: healthSchema,
      },
      [401, 404, 500],
    ),
  },
  "/v2/{endpointId}/metrics": {
    get: operation(
      {
        id: "getMetrics",
        tag: TAG,
        summary: "Count workers by state",
        path: endpointPath,
        answer: metricsSchema,
      },
      [401, 404, 500],
    ),
  },
  "/v2/{endpointId}/metrics/requests": {
    get: operation(
      {
        id: "getRequestMetrics",
        tag: TAG,
        summary: "Get counts, outcomes and durations of jobs within a window",
        path: endpointPath,
        query: metricsQuerySchema,
        answer: requestMetricsSchema,
      },
      [400, 401, 404, 500],
    ),
  },
  "/v2/{endpointId}/metrics/workers": {
    get: operation(
      {
        id: "getWorkerMetrics",
        tag: TAG,
        summary: "Get worker activity and queue depth within a window",
        path: endpointPath,
        query: metricsQuerySchema,
        answer: workerMetricsSchema,
      },
      [400, 401, 404, 500],
    ),
  },
} satisfies ZodOpenApiPathsObject;

export const queuePaths: ZodOpenApiPathsObject = { ...SUBMIT, ...JOBS, ...QUEUE };
