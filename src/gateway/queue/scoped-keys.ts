/** Callers with the key of one endpoint, or of a flash environment whose workers call each other. */
import { kindOfCredential, readCredential } from "../../auth/credential.ts";
import { isEndpointKey } from "../../auth/derived-keys.ts";
import { authenticateEnvironment, outsideEnvironment } from "../../auth/environment-principal.ts";
import { ANONYMOUS, type Principal } from "../../auth/principal.ts";
import type { EndpointConfig } from "../../contract/endpoint.ts";
import { ServiceError } from "../../contract/errors.ts";
import type { Env } from "../../env.ts";
import { findAnyEndpoint, findEndpointOfEnvironment } from "../../management/endpoints/endpoint-directory.ts";

type Opened = { readonly endpoint: EndpointConfig; readonly caller: Principal };

/** Opens the endpoint to the holder of its key; undefined for any other kind of credential. */
export async function openByEndpointKey(
  env: Env,
  header: string | undefined,
  endpointId: string,
): Promise<Opened | undefined> {
  const key = readCredential(header);
  if (key === undefined || kindOfCredential(key) !== "endpoint-key") return undefined;

  const isRight = await isEndpointKey(env, endpointId, key);
  const endpoint = isRight ? await findAnyEndpoint(env, endpointId) : undefined;
  if (endpoint === undefined) throw new ServiceError("unauthorized", wrongKeyMessage(endpointId));
  const permissions = { graphql: "none", endpoints: { [endpointId]: "write" } } as const;
  return { endpoint, caller: { ...ANONYMOUS, accountId: endpoint.accountId, name: "aiKey", permissions } };
}

function wrongKeyMessage(endpointId: string): string {
  return (
    `Unauthorized: this endpoint key does not open endpoint ${endpointId.slice(0, 64)}. It opens only the ` +
    "endpoint that shows it (myself { endpoints { id aiKey } }), as long as that exists."
  );
}

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
