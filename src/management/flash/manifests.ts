/** What is shown of the manifest of a build. */
import { listEndpointsOfEnvironment, type EndpointRecord } from "../../db/endpoints.ts";
import type { Json } from "../../db/schema.ts";
import type { RequestContext } from "../context.ts";

/**
 * A worker of an environment is told where the environment's endpoints are now, under the address by which it
 * has come here: a build may be deployed to several environments, and its deployer may call the edge otherwise.
 */
export async function withUrls(context: RequestContext, manifest: Json): Promise<Json> {
  const { db, principal, origin } = context;
  const { flashEnvironmentId, accountId } = principal;
  if (flashEnvironmentId === undefined || !isObject(manifest)) return manifest;
  const endpoints = await listEndpointsOfEnvironment(db, accountId, flashEnvironmentId);
  const urls = endpoints.map((endpoint) => [endpoint.name, urlOf(origin, endpoint)] as const);
  return { ...manifest, resources_endpoints: Object.fromEntries(urls) };
}

function urlOf(origin: string, { id, type }: EndpointRecord): string {
  return type === "LB" ? `${origin}/lb/${id}` : `${origin}/v2/${id}`;
}

function isObject(json: Json): json is { readonly [key: string]: Json } {
  return typeof json === "object" && json !== null && !Array.isArray(json);
}
