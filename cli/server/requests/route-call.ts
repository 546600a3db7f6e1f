/** Calls of the routes of load-balanced endpoints. */
import { DIRECT_BODY_MAX_BYTES } from "../../../src/contract/limits.ts";
import { RequestError, methodResponse } from "./responses.ts";
import { answerObserved } from "./observed-call.ts";
import type { Call } from "./queue-call.ts";
import { wholeRequest } from "./request-body.ts";
import { methodsOf, routesOf } from "./route-table.ts";
import type { ServedEndpoint } from "./served-app.ts";

/** Answered by every worker, also where no route says so. */
const HEALTH = { method: "GET", path: "/ping" };

export async function answerRouteCall({ endpoint, request, path, calls, log }: Call): Promise<Response> {
  const { pathname } = new URL(request.url);
  const routes = [...routesOf(endpoint.resource), HEALTH];
  const methods = methodsOf(routes, path);
  const method = request.method === "HEAD" && !methods.includes("HEAD") ? "GET" : request.method;
  if (declaresRoutes(endpoint) && methods.length > 0 && !methods.includes(method))
    return methodResponse(request.method, methods);
  const line = log.begin({ method: request.method, path: pathname, endpoint: endpoint.name });
  return await answerObserved(line, request, async () => {
    if (endpoint.problem !== undefined)
      throw new RequestError(503, `${endpoint.name} cannot be called now: ${endpoint.problem}`);
    if (declaresRoutes(endpoint) && methods.length === 0) throw unknownRoute(endpoint, request.method, path);
    return await calls.route(endpoint, await wholeRequest(request, DIRECT_BODY_MAX_BYTES), path, line);
  });
}

/** Of an image of one's own no routes are declared. */
function declaresRoutes({ resource }: ServedEndpoint): boolean {
  return resource.client_mode !== true && resource.functions.length > 0;
}

function unknownRoute({ name, resource }: ServedEndpoint, method: string, path: string): RequestError {
  const routes = routesOf(resource).map((route) => `${route.method} ${route.path}`);
  return new RequestError(404, `${name} has no route ${method} ${path}. Its routes: ${routes.join(", ")}.`);
}
