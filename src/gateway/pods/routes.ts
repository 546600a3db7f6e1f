/** HTTP ports of pods: `/pods/<podId>/<port>/<path>`, and a host for each port: `<podId>-<port>.<suffix>`. */
import { Hono, type Context } from "hono";
import type { Env } from "../../env.ts";
import { requirePodPort } from "../../management/pods/pod-directory.ts";
import { renderLoadBalancingError } from "../errors.ts";
import { cachedSuffixes, endpointOfHost, placeBelow, targetOf } from "../load-balancing/endpoint-url.ts";
import { servePod } from "./serve.ts";

/** `/pods/<podId>/<port>` */
const SEGMENTS_BEFORE = 3;

const suffixesOf = cachedSuffixes(({ POD_HOSTS }: Partial<Env>) => POD_HOSTS);

/**
 * The path for routing on the host of a port of a pod, whatever the path of the URL; undefined on any other host. No id
 * of an endpoint has a hyphen, so both may have the same suffix.
 */
export function pathOfPodHost(url: string, env: Partial<Env>): string | undefined {
  const [podId, ...port] = endpointOfHost(url, suffixesOf(env))?.split("-") ?? [];
  return port.length === 0 ? undefined : `/pods/${podId}/${port.join("-")}/`;
}

type PodContext = Context<{ Bindings: Env }>;

/** No key is needed: who knows the address of a port that the owner has declared as HTTP reaches it. */
async function serve(context: PodContext): Promise<Response> {
  const { url } = context.req.raw;
  const { podId = "", port: digits = "" } = context.req.param();
  const asked = readPort(digits);
  const { port, ...pod } = await requirePodPort(context.env, context.req.raw, podId, asked);
  const hasOwnHost = pathOfPodHost(url, context.env) !== undefined;
  const place = hasOwnHost ? { target: targetOf(url), prefix: "" } : placeBelow(url, SEGMENTS_BEFORE);
  return await servePod(context, pod, port, place);
}

/** Undefined for what is no port. */
function readPort(digits: string): number | undefined {
  const port = /^\d{1,5}$/.test(digits) ? Number(digits) : 0;
  return port >= 1 && port <= 65_535 ? port : undefined;
}

export function podRoutes(): Hono<{ Bindings: Env }> {
  const routes = new Hono<{ Bindings: Env }>();
  routes.onError((error, context) => renderLoadBalancingError(error, context.req.raw));
  routes.all("/:podId/:port/*", serve);
  return routes;
}
