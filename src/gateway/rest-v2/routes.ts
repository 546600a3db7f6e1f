/**
 * REST v2: `/v2/serverless`, `/v2/templates` and so on, beside the queue API at `/v2/<endpointId>`. No endpoint has
 * one of these first segments as its id: ids have 14 characters, letters and digits.
 */
import { Hono } from "hono";
import { problemSchema, ServiceError } from "../../contract/errors.ts";
import { renderProblem } from "../errors.ts";
import { limitedAs, withEndpoint, type QueueApi } from "../queue/context.ts";
import { workerLogs } from "../queue/streams/logs.ts";
import { withAccess, type RestApi } from "../rest/context.ts";
import { mount, type Api, type Route } from "../route.ts";
import { absentRoutes } from "./absent.ts";
import { accountRoutes } from "./account.ts";
import { billingRoutes } from "./billing.ts";
import { catalogRoutes } from "./catalog.ts";
import { endpointRoutes } from "./endpoints.ts";
import { registryRoutes, volumeRoutes } from "./storage.ts";
import { templateRoutes } from "./templates.ts";
import { workerRoutes } from "./workers.ts";

export const v2Operations: readonly Route<RestApi>[] = [
  ...accountRoutes,
  ...endpointRoutes,
  ...workerRoutes,
  ...templateRoutes,
  ...volumeRoutes,
  ...registryRoutes,
  ...catalogRoutes,
  ...billingRoutes,
  ...absentRoutes,
];

export const restV2Api: Api = {
  prefix: "/v2",
  operations: v2Operations,
  errorBody: problemSchema,
  errorType: "application/problem+json",
  errors: [401, 403, 500],
};

/** First segments of paths that are not the ids of endpoints. */
export const RESERVED_SEGMENTS: ReadonlySet<string> = new Set(
  v2Operations.map(({ path }) => path.split("/")[1] ?? ""),
);

/** The logs of a worker, for every key that may read its endpoint. */
function workerLogRoutes(): Hono<QueueApi> {
  const routes = new Hono<QueueApi>();
  routes.onError(renderProblem);
  routes.get("/serverless/:endpointId/workers/:workerId/logs", withEndpoint, limitedAs("logs"), workerLogs);
  return routes;
}

export function restV2Routes(): Hono<RestApi> {
  const routes = new Hono<RestApi>();
  routes.onError(renderProblem);
  routes.route("/", workerLogRoutes());
  mount(routes, v2Operations, () => [withAccess]);
  for (const path of new Set(v2Operations.map((operation) => operation.path))) {
    const allow = v2Operations.filter((operation) => operation.path === path).map(({ method }) => method);
    routes.all(path.replaceAll(/\{(\w+)\}/g, ":$1"), (context) => {
      throw new ServiceError(
        "method_not_allowed",
        `${context.req.path} has no operation ${context.req.method}. It has ${allow.join(", ")}.`,
        { allow },
      );
    });
  }
  for (const segment of RESERVED_SEGMENTS) {
    routes.all(`/${segment}/*`, (context) => {
      throw new ServiceError(
        "not_found",
        `There is no operation ${context.req.method} ${context.req.path}. See /docs for those that there are.`,
      );
    });
  }
  return routes;
}
