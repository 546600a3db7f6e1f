/** The path by which a request finds its route: hosts of endpoints and of pods have routes of their own. */
import { getPath } from "hono/utils/url";
import type { Env } from "../env.ts";
import { pathOfEndpointHost } from "./load-balancing/routes.ts";
import { pathOfPodHost } from "./pods/routes.ts";

/** Paths below these belong to servers of users. */
const FOREIGN = ["/lb/", "/pods/"];

/** A slash at the end is ignored, except where paths belong to others. */
export function routingPath(request: Request, options?: { readonly env?: Partial<Env> }): string {
  const env = options?.env ?? {};
  const ofHost = pathOfPodHost(request.url, env) ?? pathOfEndpointHost(request.url, env);
  if (ofHost !== undefined) return ofHost;
  const path = getPath(request);
  return FOREIGN.some((prefix) => path.startsWith(prefix)) ? path : withoutLastSlash(path);
}

function withoutLastSlash(path: string): string {
  return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
}
