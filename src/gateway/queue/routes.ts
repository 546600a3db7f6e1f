/** The queue API: `/v2/<endpointId>/<operation>`. */
import { Hono } from "hono";
import { ServiceError } from "../../contract/errors.ts";
import { type MetricsWindow, metricsWindowSchema } from "../../contract/metrics.ts";
import { callEndpoint } from "../../management/endpoints/endpoint-directory.ts";
import { serveBatches } from "./batches/batch-handlers.ts";
import {
  limitedAs,
  type QueueApi,
  type QueueContext,
  type QueueHandler,
  readParameter,
  requireQueue,
  requireWrite,
  withEndpoint,
} from "./context.ts";
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
} from "./jobs/job-handlers.ts";
import { counted } from "./limits.ts";
import { openaiRoutes } from "./openai/routes.ts";
import { limitOf, NEEDED_ACCESS, type Operation, type ServeJobs } from "./operations.ts";
import { logs } from "./streams/logs.ts";
import { stream } from "./streams/stream.ts";

const MEASURES = [
  ["GET metrics/requests", requestMetrics],
  ["GET metrics/workers", workerMetrics],
] as const;

export function queueRoutes(): Hono<QueueApi> {
  const routes = new Hono<QueueApi>();
  /** Adds the route of an operation, guarded by the access that the table requires. */
  const serve = (operation: Operation, ...handlers: QueueHandler[]): void => {
    const [method = "", path = ""] = operation.split(" ");
    // Every operation needs read access, which withEndpoint checks.
    const guards = NEEDED_ACCESS[operation] === "write" ? [requireWrite] : [];
    routes.on(method, [`/:endpointId/${path}`], ...guards, ...handlers);
  };
  const serveJobs: ServeJobs = (operation, handler) => {
    const limit = limitOf(operation);
    serve(operation, requireQueue, limit === undefined ? handler : counted(limit, handler));
  };

  // Errors of the key and the endpoint have the form of OpenAI here, too.
  routes.route("/:endpointId/openai", openaiRoutes());
  routes.use("/:endpointId/*", withEndpoint);
  serve("GET logs", limitedAs("logs"), logs);
  serve("GET health", limitedAs("measures"), health);
  serve("GET metrics", limitedAs("measures"), metrics);
  for (const [operation, handler] of MEASURES) serve(operation, limitedAs("measures"), handler);
  serveJobs("POST run", run);
  serveJobs("POST runsync", runsync);
  serveJobs("GET status/:jobId", status);
  serveJobs("POST status/:jobId", status);
  serveJobs("GET status-sync/:jobId", statusSync);
  serveJobs("POST status-sync/:jobId", statusSync);
  serveJobs("GET stream/:jobId", stream);
  serveJobs("POST stream/:jobId", stream);
  serveJobs("POST cancel/:jobId", cancel);
  serveJobs("POST retry/:jobId", retry);
  serveJobs("POST purge-queue", purgeQueue);
  serveJobs("GET requests", requests);
  serveJobs("GET webhooks/:jobId", webhookLog);
  serveJobs("POST webhooks/:jobId/redeliver", redeliver);
  serveBatches(serveJobs);
  routes.all("/:endpointId/*", (context) => {
    const operation = `${context.req.method} ${context.req.path}`;
    throw new ServiceError(
      "not_found",
      `There is no operation ${operation}. There are POST run, POST runsync, GET status/<id>, GET stream/<id>, ` +
        "POST cancel/<id>, POST retry/<id>, POST purge-queue, GET requests, GET webhooks/<id>, " +
        "POST webhooks/<id>/redeliver, GET logs, GET health, GET metrics, GET metrics/requests, GET metrics/workers, " +
        "and for batches POST batch, GET batch, GET batch/<id>, PUT batch/<id>, POST batch/<id>/requests, " +
        "GET batch/<id>/requests, DELETE batch/<id>/requests/<id>, POST batch/<id>/finalize and POST batch/<id>/cancel.",
    );
  });
  return routes;
}

/** `GET /health`: job counters, workers by state, and the limits with their use. */
export async function health(context: QueueContext): Promise<Response> {
  const reply = await callEndpoint(context.env, context.get("endpoint"), (stub) => stub.health());
  return context.json(reply.health);
}

/** `GET /metrics`: workers by state, and how many can take a job now. */
export async function metrics(context: QueueContext): Promise<Response> {
  const reply = await callEndpoint(context.env, context.get("endpoint"), (stub) => stub.health());
  return context.json(reply.metrics);
}

/** `GET /metrics/requests`: counts and durations of jobs within a window. */
export async function requestMetrics(context: QueueContext): Promise<Response> {
  return context.json((await activityOf(context)).requests);
}

/** `GET /metrics/workers`: worker activity and queue depth within a window. */
export async function workerMetrics(context: QueueContext): Promise<Response> {
  return context.json((await activityOf(context)).workers);
}

async function activityOf(context: QueueContext) {
  const window: MetricsWindow = readParameter(context, "window", metricsWindowSchema) ?? "1h";
  return await callEndpoint(context.env, context.get("endpoint"), (stub) => stub.activity(window));
}
