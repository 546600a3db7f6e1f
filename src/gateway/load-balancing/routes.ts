/** Load-balanced endpoints: `/lb/<endpointId>/<path>`, and the endpoints' own hosts. */
import { Hono, type MiddlewareHandler } from "hono";
import { getPath } from "hono/utils/url";
import type { Env } from "../../env.ts";
import { ServiceError } from "../../contract/errors.ts";
import { renderLoadBalancingError } from "../errors.ts";
import { requireWrite, withEndpoint, type QueueApi, type QueueContext } from "../queue/context.ts";
import { endpointOfHost, placeBelow, readSuffixes, targetOf } from "./endpoint-url.ts";
import { serveRequest } from "./serve.ts";

/** `/lb/<endpointId>` */
const SEGMENTS_BEFORE = 2;

let cached = { setting: "", suffixes: readSuffixes("") };

function suffixesOf({ LB_HOSTS: setting = "" }: Partial<Env>): ReadonlySet<string> {
  if (cached.setting !== setting) cached = { setting, suffixes: readSuffixes(setting) };
  return cached.suffixes;
}

/**
 * The path for routing: on an endpoint's own host that of the endpoint, whatever the path. A slash at the end is
 * ignored, except below a load-balanced endpoint, whose paths are its own.
 */
export function routingPath(request: Request, options?: { readonly env?: Partial<Env> }): string {
  const endpointId = endpointOfHost(request.url, suffixesOf(options?.env ?? {}));
  if (endpointId !== undefined) return `/lb/${endpointId}/`;
  const path = getPath(request);
  return path.startsWith("/lb/") ? path : withoutLastSlash(path);
}

function withoutLastSlash(path: string): string {
  return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
}

const requireWorkers: MiddlewareHandler<QueueApi> = async (context, next) => {
  const { endpointId, type } = context.get("endpoint");
  if (type !== "LB") {
    throw new ServiceError(
      "wrong_endpoint_type",
      `Endpoint ${endpointId} has a queue: send jobs to /v2/${endpointId}/run or /v2/${endpointId}/runsync instead.`,
    );
  }
  await next();
};

async function serve(context: QueueContext): Promise<Response> {
  const { url } = context.req.raw;
  const hasOwnHost = endpointOfHost(url, suffixesOf(context.env)) !== undefined;
  const place = hasOwnHost ? { target: targetOf(url), prefix: "" } : placeBelow(url, SEGMENTS_BEFORE);
  return await serveRequest(context, context.get("endpoint"), place);
}

export function loadBalancingRoutes(): Hono<QueueApi> {
  const routes = new Hono<QueueApi>();
  routes.onError((error, context) => renderLoadBalancingError(error, context.req.raw));
  // The same access as for POST run.
  routes.all("/:endpointId/*", withEndpoint, requireWrite, requireWorkers, serve);
  return routes;
}
