/** The edge: one Worker script with its Durable Objects. */
import type { Env } from "./env.ts";
import { refusedTransport, withHsts } from "./gateway/transport.ts";
import { maintain } from "./maintenance/maintain.ts";
import { edgeRoutes } from "./routes.ts";

export { EndpointObject } from "./endpoint/endpoint-object.ts";
export { FleetObject } from "./fleet/fleet-object.ts";

const routes = edgeRoutes();

export default {
  fetch: async (request: Request, env: Env, context: ExecutionContext): Promise<Response> =>
    refusedTransport(request, env) ?? withHsts(request, await routes.fetch(request, env, context)),
  scheduled: async (_event: ScheduledController, env: Env): Promise<void> => await maintain(env, Date.now()),
};
