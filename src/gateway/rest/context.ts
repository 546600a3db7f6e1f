/** The context of every REST operation. */
import type { Context, MiddlewareHandler } from "hono";
import { matchedRoutes } from "hono/route";
import { authenticatePod, outsidePod } from "../../auth/pod-principal.ts";
import { authenticate, callerName } from "../../auth/principal.ts";
import { countRequest, networkOf } from "../../auth/request-rates.ts";
import type { Env } from "../../env.ts";
import { openContext, requireManagementAccess, type RequestContext } from "../../management/context.ts";
import { ServiceError } from "../../contract/errors.ts";

export type RestApi = { Bindings: Env; Variables: { request: RequestContext } };
export type RestContext = Context<RestApi>;

/** What the key of a pod opens, for its own pod. */
const POD_OPERATIONS: ReadonlySet<string> = new Set([
  ...["GET /v1/pods/{podId}", "DELETE /v1/pods/{podId}"],
  ...["POST /v1/pods/{podId}/stop", "POST /v1/pods/{podId}/restart"],
  ...["GET /v2/pods/{id}", "DELETE /v2/pods/{id}", "POST /v2/pods/{id}/action"],
]);

const READING: ReadonlySet<string> = new Set(["GET", "HEAD"]);

/** Rejects requests without a key that allows the operation. */
export const withAccess: MiddlewareHandler<RestApi> = async (context, next) => {
  const { env } = context;
  const now = Date.now();
  const network = networkOf(env, context.req.raw);
  const header = context.req.header("Authorization");
  const principal =
    (await authenticatePod(env, header, now)) ?? (await authenticate(env, header, now, network));
  if (principal.kind === "unauthorized") throw new ServiceError("unauthorized", principal.message);
  await countRequest(env, "management", callerName(principal), now);

  const { origin } = new URL(context.req.url);
  const operation = operationOf(context);
  const request = openContext(env, { principal, now, operation, origin });
  if (principal.podId === undefined) {
    requireManagementAccess(request, READING.has(context.req.method) ? "read" : "write");
  } else if (!POD_OPERATIONS.has(operation)) {
    throw outsidePod("this operation");
  }
  context.set("request", request);
  await next();
};

/** The name of the operation in the audit log: `PATCH /v1/templates/{templateId}`. */
function operationOf(context: RestContext): string {
  const pattern = matchedRoutes(context).findLast(({ method }) => method !== "ALL")?.path;
  return `${context.req.method} ${(pattern ?? context.req.path).replace(/:(\w+)/g, "{$1}")}`;
}

/** The changed object, with the warnings of the change. */
export function changedJson(context: RestContext, changed: object, status: 200 | 201 = 200): Response {
  const { warnings } = context.get("request");
  const named = warnings.map(({ code, message }) => ({ code: code.toLowerCase(), message }));
  return context.json(warnings.length > 0 ? { ...changed, warnings: named } : changed, status);
}
