/** All routes of the edge. */
import { Hono } from "hono";
import type { Env } from "./env.ts";
import { agentRoutes } from "./gateway/agent/routes.ts";
import { artifactRoutes } from "./gateway/artifacts/routes.ts";
import { ServiceError } from "./contract/errors.ts";
import { renderError } from "./gateway/errors.ts";
import { openApi } from "./gateway/docs/openapi/document.ts";
import { addConsolePages } from "./gateway/console/pages.ts";
import { consoleRoutes } from "./gateway/console/routes.ts";
import { docsRoutes, homeRoutes, loginRoutes } from "./gateway/docs/routes.ts";
import { loadBalancingRoutes } from "./gateway/load-balancing/routes.ts";
import { podRoutes } from "./gateway/pods/routes.ts";
import { tunnelRoutes } from "./gateway/tunnels/routes.ts";
import { routingPath } from "./gateway/routing-path.ts";
import { packageRoutes } from "./gateway/packages/routes.ts";
import { scrape } from "./gateway/prometheus/scrape.ts";
import { restRoutes } from "./gateway/rest/routes.ts";
import { restV2Routes } from "./gateway/rest-v2/routes.ts";
import { queueRoutes } from "./gateway/queue/routes.ts";
import { graphqlRoutes } from "./graphql/routes.ts";
import { schemaPageRoutes } from "./graphql/schema-page.ts";

export function edgeRoutes(): Hono<{ Bindings: Env }> {
  const routes = new Hono<{ Bindings: Env }>({ getPath: routingPath });
  routes.route("/", homeRoutes());
  routes.get("/metrics", scrape);
  routes.get("/v2/openapi.json", openApi);
  routes.route("/v2", restV2Routes());
  routes.route("/v2", queueRoutes());
  routes.route("/lb", loadBalancingRoutes());
  routes.route("/pods", podRoutes());
  routes.route("/tunnels", tunnelRoutes());
  routes.get("/openapi.json", openApi);
  routes.get("/v1/openapi.json", openApi);
  routes.route("/v1", restRoutes());
  routes.route("/agent", agentRoutes());
  routes.route("/artifacts", artifactRoutes());
  routes.route("/packages", packageRoutes());
  routes.route("/docs/graphql", schemaPageRoutes());
  routes.route("/docs", docsRoutes());
  routes.route("/flash", loginRoutes());
  routes.route("/console", consoleRoutes());
  routes.route("/graphql", graphqlRoutes());
  addConsolePages(routes);
  routes.notFound((context) => {
    throw new ServiceError("not_found", `There is nothing at ${context.req.path}.`);
  });
  routes.onError(renderError);
  return routes;
}
