/** The context of every agent operation: the host behind the token. */
import type { Context, MiddlewareHandler } from "hono";
import { authenticateHost, type HostPrincipal } from "../../auth/host-principal.ts";
import { countRequest, networkOf } from "../../auth/request-rates.ts";
import type { Env } from "../../env.ts";
import { ServiceError } from "../../contract/errors.ts";

export type AgentApi = { Bindings: Env; Variables: { host: HostPrincipal } };
export type AgentContext = Context<AgentApi>;

/** The wait of a long poll, which ends when the host expires. */
export function holdWithin(context: AgentContext, holdMs: number): number {
  const { expiresAt } = context.get("host");
  return Math.max(0, Math.min(holdMs, (expiresAt ?? Number.POSITIVE_INFINITY) - Date.now()));
}

export const withHost = hostWithin("agent");
/** For the exchange, which busy hosts call most. */
export const withBusyHost = hostWithin("exchange");

function hostWithin(limited: "agent" | "exchange"): MiddlewareHandler<AgentApi> {
  return async (context, next) => {
    const { env, req } = context;
    const now = Date.now();
    const host = await authenticateHost(env, req.header("Authorization"), now, networkOf(env, req.raw));
    if (host.kind === "unauthorized") throw new ServiceError("unauthorized", host.message);
    await countRequest(env, limited, host.hostId, now);
    context.set("host", host);
    await next();
  };
}
