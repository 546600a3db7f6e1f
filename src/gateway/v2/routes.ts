/** The queue API: `/v2/<endpointId>/<operation>`. */
import { Hono } from "hono";
import { ApiError } from "../api-error.ts";
import { batchRoutes } from "./batch/routes.ts";
import { cancel } from "./cancel.ts";
import { requireQueue, withEndpoint, type QueueApi } from "./context.ts";
import { health, metrics } from "./health.ts";
import { purgeQueue } from "./purge-queue.ts";
import { requests } from "./requests.ts";
import { retry } from "./retry.ts";
import { run } from "./run.ts";
import { runsync } from "./runsync.ts";
import { status, statusSync } from "./status.ts";
import { stream } from "./stream.ts";
import { redeliver, webhookLog } from "./webhooks.ts";

export function queueRoutes(): Hono<QueueApi> {
  const routes = new Hono<QueueApi>();
  routes.use("/:endpointId/*", withEndpoint);
  routes.get("/:endpointId/health", health);
  routes.get("/:endpointId/metrics", metrics);
  routes.post("/:endpointId/run", requireQueue, run);
  routes.post("/:endpointId/runsync", requireQueue, runsync);
  routes.on(["GET", "POST"], "/:endpointId/status/:jobId", requireQueue, status);
  routes.on(["GET", "POST"], "/:endpointId/status-sync/:jobId", requireQueue, statusSync);
  routes.on(["GET", "POST"], "/:endpointId/stream/:jobId", requireQueue, stream);
  routes.post("/:endpointId/cancel/:jobId", requireQueue, cancel);
  routes.post("/:endpointId/retry/:jobId", requireQueue, retry);
  routes.post("/:endpointId/purge-queue", requireQueue, purgeQueue);
  routes.get("/:endpointId/requests", requireQueue, requests);
  routes.get("/:endpointId/webhooks/:jobId", requireQueue, webhookLog);
  routes.post("/:endpointId/webhooks/:jobId/redeliver", requireQueue, redeliver);
  routes.use("/:endpointId/batch/*", requireQueue);
  routes.route("/:endpointId/batch", batchRoutes());
  routes.all("/:endpointId/*", (context) => {
    const operation = `${context.req.method} ${context.req.path}`;
    throw new ApiError(
      "not_found",
      `There is no operation ${operation}. There are POST run, POST runsync, GET status/<id>, GET stream/<id>, ` +
        "POST cancel/<id>, POST retry/<id>, POST purge-queue, GET requests, GET webhooks/<id>, " +
        "POST webhooks/<id>/redeliver, GET health, GET metrics, " +
        "and for batches POST batch, GET batch, GET batch/<id>, PUT batch/<id>, POST batch/<id>/requests, " +
        "GET batch/<id>/requests, DELETE batch/<id>/requests/<id>, POST batch/<id>/finalize and POST batch/<id>/cancel.",
    );
  });
  return routes;
}
