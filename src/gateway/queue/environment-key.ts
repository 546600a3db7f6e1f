/** Callers who hold the key of a flash environment: workers of it, which call each other. */
import { authenticateEnvironment, ENVIRONMENT_KEY_USE } from "../../auth/environment-principal.ts";
import type { Principal } from "../../auth/principal.ts";
import type { EndpointConfig } from "../../contract/endpoint.ts";
import type { Env } from "../../env.ts";
import { ServiceError } from "../../contract/errors.ts";
import { findEndpointOfEnvironment } from "../endpoint-directory.ts";

type Opened = { readonly endpoint: EndpointConfig; readonly caller: Principal };

/** Opens an endpoint of the environment to the holder of its key; undefined for any other kind of credential. */
export async function openByEnvironmentKey(
  env: Env,
  header: string | undefined,
  endpointId: string,
): Promise<Opened | undefined> {
  const holder = await authenticateEnvironment(env, header, Date.now());
  if (holder === undefined) return undefined;
  if (holder.kind === "unauthorized") throw new ServiceError("unauthorized", holder.message);
  const endpoint = await findEndpointOfEnvironment(env, holder.flashEnvironmentId, endpointId);
  if (endpoint?.accountId !== holder.accountId)
    throw outsideEnvironment(`endpoint ${endpointId.slice(0, 64)}`);
  const permissions = { graphql: "none", endpoints: { [endpointId]: "write" } } as const;
  return { endpoint, caller: { ...holder, permissions } };
}

/** The same words whether the thing exists elsewhere or nowhere. */
export function outsideEnvironment(thing: string): ServiceError {
  return new ServiceError(
    "insufficient_permission",
    `The environment key does not open ${thing}, which is none of its environment. ${ENVIRONMENT_KEY_USE}`,
  );
}
