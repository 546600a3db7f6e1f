/** The queue API: `/v2/<endpointId>/<operation>`. */
import { Hono } from "hono";
import { ServiceError } from "../../contract/errors.ts";
import { serveBatches } from "./batches/routes.ts";
import { cancel } from "./jobs/cancel.ts";
import {
  limitedAs,
  requireQueue,
  requireWrite,
  withEndpoint,
  type QueueApi,
  type QueueHandler,
} from "./context.ts";
import { health, metrics, requestMetrics, workerMetrics } from "./health.ts";
import { logs, workerLogs } from "./streams/logs.ts";
import { openaiRoutes } from "./openai/routes.ts";
import { counted } from "./limits.ts";
import { limitOf, NEEDED_ACCESS, type Operation, type ServeJobs } from "./operations.ts";
import { purgeQueue } from "./jobs/purge-queue.ts";
import { requests } from "./jobs/requests.ts";
import { retry } from "./jobs/retry.ts";
import { run } from "./jobs/run.ts";
import { runsync } from "./jobs/runsync.ts";
import { status, statusSync } from "./jobs/status.ts";
import { stream } from "./streams/stream.ts";
import { redeliver, webhookLog } from "./jobs/webhooks.ts";

const MEASURES = [
  ["GET metrics/requests", requestMetrics],
  ["GET metrics/workers", workerMetrics],
] as const;

export function queueRoutes(): Hono<QueueApi> {
  const routes = new Hono<QueueApi>();
  /** Puts an operation at its route, behind what the table says it needs. */
  const serve = (operation: Operation, ...handlers: QueueHandler[]): void => {
    const [method = "", path = ""] = operation.split(" ");
    // To read is needed for every operation, so withEndpoint looks after that.
    const guards = NEEDED_ACCESS[operation] === "write" ? [requireWrite] : [];
    routes.on(method, [`/:endpointId/${path}`], ...guards, ...handlers);
  };
  const serveJobs: ServeJobs = (operation, handler) => {
    const limit = limitOf(operation);
    serve(operation, requireQueue, limit === undefined ? handler : counted(limit, handler));
  };

  // Before the others: no endpoint is called serverless.
  routes.get("/serverless/:endpointId/workers/:workerId/logs", withEndpoint, limitedAs("logs"), workerLogs);
  // It answers errors in a shape of its own, those of the key and the endpoint included.
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
