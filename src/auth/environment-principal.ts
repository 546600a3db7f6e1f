/**
 * Callers with the key of a flash environment. Rules as in principal.ts; the key ends with its environment.
 *
 * Such a caller has no permission at all: access to what the key opens is checked by the environment's id.
 */
import { ServiceError } from "../contract/errors.ts";
import { CREDENTIAL_CACHE_MS } from "../domain/accounts/permissions.ts";
import { openDatabase } from "../db/database.ts";
import { findEnvironmentAccount } from "../db/flash/deployments.ts";
import type { Env } from "../env.ts";
import { CredentialCache, CREDENTIAL_REJECTION_CACHE_MS } from "./credential-cache.ts";
import { kindOfCredential, readCredential } from "./credential.ts";
import { environmentOfKey } from "./derived-keys.ts";
import { hashKey } from "./digest.ts";
import { authenticatePod } from "./pod-principal.ts";
import type { RateEnv } from "./request-rates.ts";
import { ANONYMOUS, authenticate, type Principal, type Unauthorized } from "./principal.ts";

export type EnvironmentPrincipal = Principal & { readonly flashEnvironmentId: string };

const WRONG_KEY =
  "Unauthorized: this environment key is wrong, or its environment was deleted or has ended. Workers get a right one when they start.";

const ENVIRONMENT_KEY_USE =
  "This is the key of a flash environment. It opens the queue API and the requests of that environment's endpoints, " +
  "and in GraphQL flashEnvironment and flashBuild of it, without what belongs to them; for all else send an API key.";

/** The error is the same whether the thing exists elsewhere or nowhere. */
export function outsideEnvironment(thing: string): ServiceError {
  return new ServiceError(
    "insufficient_permission",
    `The environment key does not open ${thing}, which is outside its environment. ${ENVIRONMENT_KEY_USE}`,
  );
}

const CACHED_KEYS = 10_000;

const cache = new CredentialCache<EnvironmentPrincipal>({
  acceptedTtlMs: CREDENTIAL_CACHE_MS,
  rejectedTtlMs: CREDENTIAL_REJECTION_CACHE_MS,
  size: CACHED_KEYS,
});

type AuthEnv = Pick<Env, "DB" | "ROOT_API_KEY" | "ENCRYPTION_KEYS"> & RateEnv;

/** Authenticates an API key, the key of an environment or that of a pod. */
export async function authenticateAny(
  env: AuthEnv,
  headerOrKey: string | null | undefined,
  now: number,
  network?: string,
): Promise<Principal | Unauthorized> {
  return (
    (await authenticateEnvironment(env, headerOrKey, now)) ??
    (await authenticatePod(env, headerOrKey, now)) ??
    (await authenticate(env, headerOrKey, now, network))
  );
}

/** Finds the environment behind its key; undefined for any other kind of credential. */
export async function authenticateEnvironment(
  env: AuthEnv,
  headerOrKey: string | null | undefined,
  now: number,
): Promise<EnvironmentPrincipal | Unauthorized | undefined> {
  const key = readCredential(headerOrKey);
  if (key === undefined || kindOfCredential(key) !== "environment-key") return undefined;
  const principal = cache.recall(key, now) ?? (await resolve(env, key, now));
  return principal ?? { kind: "unauthorized", message: WRONG_KEY };
}

async function resolve(env: AuthEnv, key: string, now: number): Promise<EnvironmentPrincipal | undefined> {
  const hash = await hashKey(key);
  if (cache.isRejected(hash, now)) return undefined;
  const flashEnvironmentId = await environmentOfKey(env, key);
  const accountId =
    flashEnvironmentId && (await findEnvironmentAccount(openDatabase(env.DB), flashEnvironmentId, now));
  if (!flashEnvironmentId || !accountId) {
    cache.reject(hash, now);
    return undefined;
  }
  const principal = { ...ANONYMOUS, accountId, name: "environment key", flashEnvironmentId };
  cache.accept(key, principal, now);
  return principal;
}
