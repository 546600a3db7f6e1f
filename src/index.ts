/** The edge: one Worker script with its Durable Objects. */
import type { Env } from "./env.ts";
import { maintain } from "./maintenance/maintain.ts";
import { edgeRoutes } from "./routes.ts";

export { EndpointObject } from "./endpoint/endpoint-object.ts";
export { FleetObject } from "./fleet/fleet-object.ts";

export default {
  fetch: edgeRoutes().fetch,
  scheduled: async (_event: ScheduledController, env: Env): Promise<void> => await maintain(env, Date.now()),
};
