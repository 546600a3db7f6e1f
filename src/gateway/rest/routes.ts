/** The REST side of the management API: `/v1/…`. */
import { Hono } from "hono";
import { ServiceError } from "../../contract/errors.ts";
import { restErrorSchema } from "../../contract/rest/rest.ts";
import { renderRestError } from "../errors.ts";
import { mount, type Api, type Route } from "../route.ts";
import { billingRoutes } from "./billing.ts";
import { budgetRoutes } from "./budgets.ts";
import { withAccess, type RestApi } from "./context.ts";
import { costRoutes } from "./costs.ts";
import { endpointRoutes } from "./endpoints.ts";
import { hostRoutes } from "./hosts.ts";
import { podRoutes } from "./pods.ts";
import { registryAuthRoutes } from "./registry-auths.ts";
import { templateRoutes } from "./templates.ts";
import { volumeRoutes } from "./volumes.ts";

/** The routes by tag. */
const ROUTES: readonly (readonly [tag: string, routes: readonly Route<RestApi>[]])[] = [
  ["Endpoints", endpointRoutes],
  ["Templates", templateRoutes],
  ["Network volumes", volumeRoutes],
  ["Registry credentials", registryAuthRoutes],
  ["Hosts", hostRoutes],
  ["Pods", podRoutes],
  ["Billing", billingRoutes],
  ["Costs", [...costRoutes, ...budgetRoutes]],
];

/** For the OpenAPI document. */
export const restApis: readonly Api[] = ROUTES.map(([tag, operations]) => ({
  prefix: "/v1",
  tag,
  operations,
  errorBody: restErrorSchema,
  errors: [401, 500],
}));

export function restRoutes(): Hono<RestApi> {
  const routes = new Hono<RestApi>();
  routes.onError(renderRestError);
  routes.use(withAccess);
  for (const [, operations] of ROUTES) mount(routes, operations);
  routes.all("*", (context) => {
    const operation = `${context.req.method} ${context.req.path}`;
    throw new ServiceError(
      "not_found",
      `There is no operation ${operation}. See /docs for those that there are.`,
    );
  });
  return routes;
}
