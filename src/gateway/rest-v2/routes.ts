/**
 * REST v2: `/v2/serverless`, `/v2/templates` and so on, beside the queue API at `/v2/<endpointId>`. No endpoint has
 * one of these first segments as its id: ids have 14 characters, letters and digits.
 */
import { Hono } from "hono";
import { problemSchema, ServiceError } from "../../contract/errors.ts";
import { renderProblem } from "../errors.ts";
import { withEndpoint, type QueueApi } from "../queue/context.ts";
import { workerLogRoutes } from "../queue/measures.ts";
import { guardsOf } from "../queue/route.ts";
import { withAccess, type RestApi } from "../rest/context.ts";
import { mount, splitRequest, type Api, type OnRequest, type Route } from "../route.ts";
import { buildRoutes, delegationRoutes, globalVolumeRoutes } from "./absent.ts";
import { accountRoutes } from "./account.ts";
import { billingRoutes } from "./billing.ts";
import { cpuRoutes } from "./catalog/cpus.ts";
import { dataCenterRoutes } from "./catalog/data-centers.ts";
import { gpuRoutes } from "./catalog/gpus.ts";
import { clusterRoutes } from "./clusters.ts";
import { endpointRoutes } from "./endpoints.ts";
import { podRoutes } from "./pods.ts";
import { registryRoutes, volumeRoutes } from "./storage.ts";
import { publicTemplateRoutes, templateRoutes } from "./templates.ts";
import { workerRoutes } from "./workers.ts";

type Subject = { readonly tag: string; readonly routes: readonly Route<RestApi>[] };

const SUBJECTS: readonly Subject[] = [
  { tag: "REST v2 account", routes: accountRoutes },
  { tag: "REST v2 endpoints", routes: [...endpointRoutes, ...workerRoutes, ...buildRoutes] },
  { tag: "REST v2 templates", routes: templateRoutes },
  { tag: "REST v2 network volumes", routes: [...volumeRoutes, ...globalVolumeRoutes] },
  { tag: "REST v2 registries", routes: [...delegationRoutes, ...registryRoutes] },
  {
    tag: "REST v2 catalog",
    routes: [...gpuRoutes, ...cpuRoutes, ...dataCenterRoutes, ...publicTemplateRoutes],
  },
  { tag: "REST v2 billing", routes: billingRoutes },
  { tag: "REST v2 pods", routes: podRoutes },
  { tag: "REST v2 clusters", routes: clusterRoutes },
];
const ROUTES = SUBJECTS.flatMap(({ routes }) => routes);

const PROBLEMS = { errorBody: problemSchema, errorType: "application/problem+json" };

export const restV2Apis: readonly Api[] = [
  ...SUBJECTS.map(({ tag, routes }) => ({
    ...{ tag, prefix: "/v2", operations: routes },
    ...PROBLEMS,
    errors: [401, 422, 500] as const,
  })),
  {
    ...{ tag: "REST v2 endpoints", prefix: "/v2", operations: workerLogRoutes },
    ...PROBLEMS,
    errors: [401, 404, 422, 500],
  },
];

export function restV2Routes(): Hono<RestApi> {
  const routes = new Hono<RestApi>();
  routes.onError(renderProblem);
  routes.route("/", logRoutes());
  mount(routes, ROUTES, () => [withAccess]);
  for (const [path, on] of Map.groupBy(requests(), (one) => splitRequest(one).path))
    refuseOthers(routes, path, on);
  for (const segment of new Set(requests().map((on) => on.split("/")[1]))) {
    routes.all(`/${segment}/*`, (context) => {
      throw new ServiceError(
        "not_found",
        `There is no operation ${context.req.method} ${context.req.path}. See /docs for those that there are.`,
      );
    });
  }
  return routes;
}

function requests(): readonly OnRequest[] {
  return [...ROUTES, ...workerLogRoutes].map(({ on }) => on);
}

/** The logs of a worker, for every key that may read its endpoint. */
function logRoutes(): Hono<QueueApi> {
  const routes = new Hono<QueueApi>();
  routes.onError(renderProblem);
  mount(routes, workerLogRoutes, (route) => [withEndpoint, ...guardsOf(route)]);
  return routes;
}

/** Refuses the methods that a path does not have. */
function refuseOthers(routes: Hono<RestApi>, path: string, on: readonly OnRequest[]): void {
  const allow = on.map((one) => splitRequest(one).method);
  routes.all(path.replaceAll(/\{(\w+)\}/g, ":$1"), ({ req }) => {
    throw new ServiceError(
      "method_not_allowed",
      `${req.path} has no operation ${req.method}. It has ${allow.join(", ")}.`,
      { allow },
    );
  });
}
