/** Tunnels into containers: `/tunnels/<id of a pod or worker>/exec` and `…/ports/<port>`, as WebSockets. */
import { Hono, type Context } from "hono";
import * as z from "zod";
import { authenticateEnvironment, outsideEnvironment } from "../../auth/environment-principal.ts";
import { authenticatePod, outsidePod } from "../../auth/pod-principal.ts";
import { authenticate, callerName } from "../../auth/principal.ts";
import { countRequest, networkOf } from "../../auth/request-rates.ts";
import { ServiceError } from "../../contract/errors.ts";
import { formatIssues, invalidInput } from "../../contract/validation-issues.ts";
import type { Env } from "../../env.ts";
import { openContext, type RequestContext } from "../../management/context.ts";
import type { TunnelUse } from "../../management/tunnels/containers.ts";
import { PORT_MAX } from "../../net/port.ts";
import { tunnelIdSchema } from "../../tunnel/tunnel-messages.ts";
import { renderError } from "../errors.ts";
import { isUpgrade } from "../load-balancing/request-head.ts";
import { openTunnel } from "./open.ts";

type TunnelContext = Context<{ Bindings: Env }>;

const querySchema = z.object({
  tunnel: tunnelIdSchema,
  resume: z.enum(["true", "false"]).optional(),
});
const portSchema = z
  .string()
  .regex(/^[0-9]{1,5}$/, "must be a port number")
  .transform(Number)
  .pipe(z.int().min(1).max(PORT_MAX));

async function serve(context: TunnelContext, use: TunnelUse): Promise<Response> {
  const query = querySchema.safeParse(context.req.query());
  if (!query.success) throw invalidInput(query.error, "query");
  const request = await authorize(context, use);
  const { tunnel: tunnelId, resume } = query.data;
  const containerId = context.req.param("id") ?? "";
  return await openTunnel(context, request, { containerId, use, tunnelId, isResumed: resume === "true" });
}

/** The caller, whose key may not be one that was made for something else. */
async function authorize(context: TunnelContext, use: TunnelUse): Promise<RequestContext> {
  const { env } = context;
  const { raw } = context.req;
  if (!isUpgrade(raw)) {
    throw new ServiceError("invalid_input", "A tunnel is a WebSocket: send 'Upgrade: websocket'.");
  }
  const now = Date.now();
  const header = context.req.header("Authorization");
  const principal =
    (await authenticatePod(env, header, now)) ??
    (await authenticateEnvironment(env, header, now)) ??
    (await authenticate(env, header, now, networkOf(env, raw)));
  if (principal.kind === "unauthorized") throw new ServiceError("unauthorized", principal.message);
  await countRequest(env, "management", callerName(principal), now);
  if (principal.podId !== undefined) throw outsidePod("tunnels");
  if (principal.flashEnvironmentId !== undefined) throw outsideEnvironment("tunnels");
  const operation = use.kind === "exec" ? "GET /tunnels/{id}/exec" : "GET /tunnels/{id}/ports/{port}";
  return openContext(env, { principal, now, operation, origin: new URL(raw.url).origin });
}

function readPort(context: TunnelContext): number {
  const port = portSchema.safeParse(context.req.param("port"));
  if (port.success) return port.data;
  throw new ServiceError("invalid_input", formatIssues(port.error, "port"));
}

export function tunnelRoutes(): Hono<{ Bindings: Env }> {
  const routes = new Hono<{ Bindings: Env }>();
  routes.onError(renderError);
  routes.get("/:id/exec", (context) => serve(context, { kind: "exec" }));
  routes.get("/:id/ports/:port", (context) => serve(context, { kind: "tcp", port: readPort(context) }));
  return routes;
}
