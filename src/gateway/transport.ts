/**
 * Keys travel over HTTPS only.
 *
 * X1  A request that arrived over plain HTTP is not processed, except on loopback or where ALLOW_PLAIN_HTTP is set. A
 *     browser without a key is redirected; all other requests are rejected.
 * X2  Each answer over HTTPS instructs browsers to use only HTTPS for this host (HSTS).
 */
import { ERRORS, errorBody } from "../contract/errors.ts";
import { isInsecureUrl } from "../net/public-host.ts";
import type { Env } from "../env.ts";

const HSTS = "max-age=31536000";

type TransportEnv = Pick<Env, "ALLOW_PLAIN_HTTP">;

/** The answer to a request that must not be processed; null for all others. */
export function refusedTransport(request: Request, env: TransportEnv): Response | null {
  if (request.url.startsWith("https:") || env.ALLOW_PLAIN_HTTP === "true") return null;
  const secure = new URL(request.url);
  if (!isInsecureUrl(secure)) return null;
  secure.protocol = "https:";
  if (isReader(request, secure)) return Response.redirect(secure.href, 308);
  const message =
    "This service is used over https only. Use the same URL with https://. " +
    "A key that was sent without it may have been read on the way: replace it.";
  return Response.json(errorBody("https_required", message), { status: ERRORS.https_required.status });
}

/** A GET without a key, which a redirect would send over the network again. */
function isReader({ method, headers }: Request, { searchParams }: URL): boolean {
  const hasKey = headers.has("Authorization") || searchParams.has("api_key");
  return (method === "GET" || method === "HEAD") && !hasKey && !headers.has("Upgrade");
}

/** The answer, with HSTS where the request came over HTTPS. */
export function withHsts(request: Request, response: Response): Response {
  // The headers of an upgrade cannot be changed, and browsers ignore HSTS in it.
  if (response.status === 101 || !request.url.startsWith("https:")) return response;
  response.headers.set("Strict-Transport-Security", HSTS);
  return response;
}
