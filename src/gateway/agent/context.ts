/** What every operation of the agent API is given: the host behind the token. */
import type { Context, MiddlewareHandler } from "hono";
import { authenticateHost, type HostPrincipal } from "../../auth/host-principal.ts";
import type { Env } from "../../env.ts";
import { ApiError } from "../api-error.ts";

export type AgentApi = { Bindings: Env; Variables: { host: HostPrincipal } };
export type AgentContext = Context<AgentApi>;

export const withHost: MiddlewareHandler<AgentApi> = async (context, next) => {
  const host = await authenticateHost(context.env, context.req.header("Authorization"), Date.now());
  if (host.kind === "unauthorized") throw new ApiError("unauthorized", host.message);
  context.set("host", host);
  await next();
};
