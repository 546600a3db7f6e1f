/** Load-balanced endpoints: `/lb/<endpointId>/<path>`, and the endpoints' own hosts. */
import { Hono, type MiddlewareHandler } from "hono";
import type { Env } from "../../env.ts";
import { ServiceError } from "../../contract/errors.ts";
import { renderLoadBalancingError } from "../errors.ts";
import { requireWrite, withEndpoint, type QueueApi, type QueueContext } from "../queue/context.ts";
import { cachedSuffixes, endpointOfHost, placeBelow, targetOf } from "./endpoint-url.ts";
import { serveRequest } from "./serve.ts";

/** `/lb/<endpointId>` */
const SEGMENTS_BEFORE = 2;

const suffixesOf = cachedSuffixes(({ LB_HOSTS }: Partial<Env>) => LB_HOSTS);

/** The path for routing on an endpoint's own host, whatever the path of the URL; undefined on any other host. */
export function pathOfEndpointHost(url: string, env: Partial<Env>): string | undefined {
  const endpointId = endpointOfHost(url, suffixesOf(env));
  return endpointId === undefined ? undefined : `/lb/${endpointId}/`;
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
