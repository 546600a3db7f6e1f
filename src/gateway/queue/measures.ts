/** Health, metrics and logs of an endpoint. */
import * as z from "zod";
import { logPageSchema, logQuerySchema, workerLogQuerySchema } from "../../contract/agent/log.ts";
import { healthSchema, type MetricsBody, metricsSchema } from "../../contract/job.ts";
import { metricsWindowSchema, requestMetricsSchema, workerMetricsSchema } from "../../contract/metrics.ts";
import { METRICS_WINDOWS, type MetricsWindow } from "../../contract/metrics-window.ts";
import { callEndpoint } from "../../management/endpoints/endpoint-directory.ts";
import { jsonResponse } from "../spliced-json.ts";
import { type QueueContext, readParameter } from "./context.ts";
import { type QueueRoute, readingRoute } from "./route.ts";
import { logs, workerLogs } from "./streams/logs.ts";

const metricsQuerySchema = z.object({
  window: z
    .enum([...METRICS_WINDOWS, ""])
    .optional()
    .meta({ description: "`1h` by default, and when it is empty." }),
});

export const measureRoutes: readonly QueueRoute[] = [
  readingRoute("logs", {
    on: "GET /logs",
    access: "read",
    id: "getLogs",
    summary: "Read the logs of workers",
    details:
      "The newest matching lines, ordered by time. With `Accept: text/event-stream`, sends them as " +
      "server-sent events and continues with new lines, or after `Last-Event-ID`. One that is no id of these events counts as absent.",
    query: logQuerySchema,
    answer: logPageSchema,
    hasEvents: true,
    errors: [400],
    serve: logs,
  }),
  readingRoute("measures", {
    on: "GET /health",
    access: "read",
    id: "getHealth",
    summary: "Get job counters, workers, and limits with their use",
    answer: healthSchema,
    serve: async (context) => jsonResponse(context, [await healthOf(context)]),
  }),
  readingRoute("measures", {
    on: "GET /metrics",
    access: "read",
    id: "getMetrics",
    summary: "Count workers by state",
    answer: metricsSchema,
    serve: async (context) => context.json(await workersOf(context)),
  }),
  readingRoute("measures", {
    on: "GET /metrics/requests",
    access: "read",
    id: "getRequestMetrics",
    summary: "Get counts, outcomes and durations of jobs within a window",
    query: metricsQuerySchema,
    answer: requestMetricsSchema,
    errors: [400],
    serve: async (context) => context.json((await activityOf(context)).requests),
  }),
  readingRoute("measures", {
    on: "GET /metrics/workers",
    access: "read",
    id: "getWorkerMetrics",
    summary: "Get worker activity and queue depth within a window",
    query: metricsQuerySchema,
    answer: workerMetricsSchema,
    errors: [400],
    serve: async (context) => context.json((await activityOf(context)).workers),
  }),
];

/** The logs of one worker, which are a part of REST v2: `/v2/serverless/{endpointId}/workers/{workerId}/logs`. */
export const workerLogRoutes: readonly QueueRoute[] = [
  readingRoute("logs", {
    on: "GET /serverless/{endpointId}/workers/{workerId}/logs",
    access: "read",
    id: "followWorkerLogs",
    summary: "Follow the logs of one worker",
    details:
      "Server-sent events, each `{source, line, ts}`. Their ids begin with `ts`; `Last-Event-ID` takes one of them, or a time; any other counts as absent.",
    query: workerLogQuerySchema.strict(),
    hasEvents: true,
    errors: [400, 422],
    serve: workerLogs,
  }),
];

async function healthOf(context: QueueContext): Promise<string> {
  const { json } = await callEndpoint(context.env, context.get("endpoint"), (stub) => stub.health());
  return json;
}

async function workersOf(context: QueueContext): Promise<MetricsBody> {
  const { metrics } = await callEndpoint(context.env, context.get("endpoint"), (stub) => stub.workers());
  return metrics;
}

async function activityOf(context: QueueContext) {
  const window: MetricsWindow = readParameter(context, "window", metricsWindowSchema) ?? "1h";
  return await callEndpoint(context.env, context.get("endpoint"), (stub) => stub.activity(window));
}
