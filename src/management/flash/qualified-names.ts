/** Endpoints by the names that an app's code knows, without reading D1 for each call. */
import { outsideEnvironment } from "../../auth/environment-principal.ts";
import type { Principal } from "../../auth/principal.ts";
import { countFailure, refuseExhausted } from "../../auth/request-rates.ts";
import { ServiceError } from "../../contract/errors.ts";
import { openDatabase } from "../../db/database.ts";
import { findEndpointByQualifiedName, type QualifiedEndpointName } from "../../db/flash/deployments.ts";
import { BoundedMap } from "../../domain/limits/bounded-map.ts";
import type { Env } from "../../env.ts";

/** How long an edge location caches which endpoint an app calls by a name: each deployment may change it. */
export const FLASH_URL_CACHE_MS = 5_000;

type CachedEndpoint = {
  readonly environmentId: string;
  readonly endpointId: string;
  readonly until: number;
};

const CACHE_SIZE = 10_000;
const cache = new BoundedMap<CachedEndpoint>(CACHE_SIZE);

/** The id of the endpoint; throws endpoint_not_found, and insufficient_permission outside a key's environment. */
export async function resolveQualifiedName(
  env: Env,
  caller: Principal,
  name: QualifiedEndpointName,
): Promise<string> {
  const key = cacheKey(caller, name);
  const cached = cache.get(key);
  const now = Date.now();
  const isFresh = cached !== undefined && now < cached.until;
  if (!isFresh) refuseExhausted("unknown", caller.accountId, now);
  const found = isFresh
    ? cached
    : await findEndpointByQualifiedName(openDatabase(env.DB), caller.accountId, name);
  // A key of one environment reveals nothing of others.
  if (caller.flashEnvironmentId !== undefined && found?.environmentId !== caller.flashEnvironmentId) {
    throw outsideEnvironment(`app '${name.app}', environment '${name.environment}'`);
  }
  if (!found?.endpointId) {
    await countFailure(env, "unknown", caller.accountId, now);
    throw notFound(name);
  }
  const { environmentId, endpointId } = found;
  if (!isFresh) cache.set(key, { environmentId, endpointId, until: Date.now() + FLASH_URL_CACHE_MS });
  return endpointId;
}

/** For an endpoint that is gone: another one may have its name. */
export function forgetQualifiedName(caller: Principal, name: QualifiedEndpointName): void {
  cache.delete(cacheKey(caller, name));
}

function cacheKey({ accountId }: Principal, { app, environment, endpoint }: QualifiedEndpointName): string {
  return JSON.stringify([accountId, app, environment, endpoint]);
}

function notFound({ app, environment, endpoint }: QualifiedEndpointName): ServiceError {
  return new ServiceError(
    "endpoint_not_found",
    `Endpoint '${endpoint}' was not found in app '${app}', environment '${environment}'. Deploy it with flash deploy, or check the names.`,
  );
}
