/** The queue API: `/v2/<endpointId>/<operation>`. */
import { Hono } from "hono";
import { ServiceError } from "../../contract/errors.ts";
import { mount } from "../route.ts";
import { batchRoutes } from "./batches/batch-routes.ts";
import { type QueueApi, withEndpoint } from "./context.ts";
import { jobRoutes } from "./jobs/job-routes.ts";
import { trialRoutes } from "./trials.ts";
import { measureRoutes } from "./measures.ts";
import { openaiApi, openaiRoutes } from "./openai/routes.ts";
import { guardsOf, queueApi } from "./route.ts";

/** For the OpenAPI document. */
export const queueApis = [
  queueApi("Jobs", [...jobRoutes, ...measureRoutes, ...trialRoutes]),
  openaiApi,
  queueApi("Batches", batchRoutes),
];

export function queueRoutes(): Hono<QueueApi> {
  const routes = new Hono<QueueApi>();
  // Errors of the key and the endpoint have the form of OpenAI here, too.
  routes.route("/:endpointId/openai", openaiRoutes());

  const operations = new Hono<QueueApi>();
  mount(operations, [...measureRoutes, ...trialRoutes, ...jobRoutes, ...batchRoutes], guardsOf);
  routes.use("/:endpointId/*", withEndpoint);
  routes.route("/:endpointId", operations);
  routes.all("/:endpointId/*", (context) => {
    const operation = `${context.req.method} ${context.req.path}`;
    throw new ServiceError(
      "not_found",
      `There is no operation ${operation}. There are POST run, POST runsync, GET status/<id>, GET stream/<id>, ` +
        "POST cancel/<id>, POST retry/<id>, POST purge-queue, GET requests, GET webhooks/<id>, " +
        "POST webhooks/<id>/redeliver, POST trial, DELETE trial, GET logs, GET health, GET metrics, GET metrics/requests, GET metrics/workers, " +
        "and for batches POST batch, GET batch, GET batch/<id>, PUT batch/<id>, POST batch/<id>/requests, " +
        "GET batch/<id>/requests, DELETE batch/<id>/requests/<id>, POST batch/<id>/finalize and POST batch/<id>/cancel.",
    );
  });
  return routes;
}
