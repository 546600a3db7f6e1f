/** The edge: one Worker script with its Durable Objects. */
import { Hono } from "hono";
import type { Env } from "./env.ts";
import { agentRoutes } from "./gateway/agent/routes.ts";
import { ApiError, renderError } from "./gateway/api-error.ts";
import { queueRoutes } from "./gateway/v2/routes.ts";
import { graphqlRoutes } from "./graphql/routes.ts";
import { maintain } from "./maintenance/maintain.ts";

export { EndpointObject } from "./endpoint/endpoint-object.ts";
export { FleetObject } from "./fleet/fleet-object.ts";

const app = new Hono<{ Bindings: Env }>();
app.get("/", (context) =>
  context.json({ name: "edgerun", queue: "/v2/<endpoint id>/run", graphql: "/graphql" }),
);
app.route("/v2", queueRoutes());
app.route("/agent", agentRoutes());
app.route("/graphql", graphqlRoutes());
app.notFound((context) => {
  throw new ApiError("not_found", `There is nothing at ${context.req.path}.`);
});
app.onError(renderError);

export default {
  fetch: app.fetch,
  scheduled: async (_event: ScheduledController, env: Env): Promise<void> => await maintain(env, Date.now()),
};
