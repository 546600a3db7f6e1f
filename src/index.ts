/** The edge: one Worker script with its Durable Objects. */
import { ERRORS, errorBody } from "./contract/errors.ts";
import { problemOfRootKey } from "./contract/root-key.ts";
import type { Env } from "./env.ts";
import { withSignIn } from "./gateway/console/cookie.ts";
import { refusedTransport, withHsts } from "./gateway/transport.ts";
import { maintain } from "./maintenance/tasks.ts";
import { edgeRoutes } from "./routes.ts";

export { EndpointObject } from "./endpoint/endpoint-object.ts";
export { FleetObject } from "./fleet/fleet-object.ts";
export { HostObject } from "./host/host-object.ts";
export { PodObject } from "./pod/pod-object.ts";

const routes = edgeRoutes();

/** Nothing is served under settings that open the edge to guesses. */
function refusedConfiguration({ ROOT_API_KEY }: Env): Response | null {
  const problem = problemOfRootKey(ROOT_API_KEY);
  if (problem === undefined) return null;
  return Response.json(errorBody("not_configured", problem), { status: ERRORS.not_configured.status });
}

export default {
  fetch: async (request: Request, env: Env, context: ExecutionContext): Promise<Response> =>
    refusedTransport(request, env) ??
    refusedConfiguration(env) ??
    withHsts(request, await routes.fetch(withSignIn(request), env, context)),
  scheduled: async (_event: ScheduledController, env: Env): Promise<void> => await maintain(env, Date.now()),
};
