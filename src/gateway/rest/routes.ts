/** The REST side of the management API: `/v1/…`. */
import { Hono } from "hono";
import { ServiceError } from "../../contract/errors.ts";
import { restErrorSchema } from "../../contract/rest/rest.ts";
import { renderRestError } from "../errors.ts";
import { mount, type Api, type Route } from "../route.ts";
import { billingRoutes } from "./billing.ts";
import { withAccess, type RestApi } from "./context.ts";
import { endpointRoutes } from "./endpoints.ts";
import { hostRoutes } from "./hosts.ts";
import { podRoutes } from "./pods.ts";
import { registryAuthRoutes } from "./registry-auths.ts";
import { templateRoutes } from "./templates.ts";
import { volumeRoutes } from "./volumes.ts";

const ROUTES: readonly Route<RestApi>[] = [
  ...endpointRoutes,
  ...templateRoutes,
  ...volumeRoutes,
  ...registryAuthRoutes,
  ...hostRoutes,
  ...podRoutes,
  ...billingRoutes,
];

export const restApi: Api = {
  prefix: "/v1",
  operations: ROUTES,
  errorBody: restErrorSchema,
  errors: [401, 500],
};

export function restRoutes(): Hono<RestApi> {
  const routes = new Hono<RestApi>();
  routes.onError(renderRestError);
  routes.use(withAccess);
  mount(routes, ROUTES);
  routes.all("*", (context) => {
    const operation = `${context.req.method} ${context.req.path}`;
    throw new ServiceError(
      "not_found",
      `There is no operation ${operation}. See /docs for those that there are.`,
    );
  });
  return routes;
}
