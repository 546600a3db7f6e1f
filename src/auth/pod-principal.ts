/**
 * Callers with the key of one pod, which its container gets as RUNPOD_API_KEY: they may read, stop, restart and
 * terminate that pod. The key ends with the pod. Rules as in principal.ts.
 */
import { ServiceError } from "../contract/errors.ts";
import { CREDENTIAL_CACHE_MS } from "../domain/accounts/permissions.ts";
import { openDatabase } from "../db/database.ts";
import { findPodAccount } from "../db/pods.ts";
import type { Env } from "../env.ts";
import { CredentialCache, CREDENTIAL_REJECTION_CACHE_MS } from "./credential-cache.ts";
import { kindOfCredential, readCredential } from "./credential.ts";
import { podOfKey } from "./derived-keys.ts";
import { hashKey } from "./digest.ts";
import { ANONYMOUS, type Principal, type Unauthorized } from "./principal.ts";

export type PodPrincipal = Principal & { readonly podId: string };

const WRONG_KEY =
  "Unauthorized: this pod key is wrong, or its pod was terminated. A pod gets a right one when it starts.";

/** The error is the same whatever the other thing is. */
export function outsidePod(thing: string): ServiceError {
  return new ServiceError(
    "insufficient_permission",
    `The pod key does not open ${thing}. It reads, stops, restarts and terminates its own pod; for all else send an API key.`,
  );
}

const CACHED_KEYS = 10_000;

const cache = new CredentialCache<PodPrincipal>({
  acceptedTtlMs: CREDENTIAL_CACHE_MS,
  rejectedTtlMs: CREDENTIAL_REJECTION_CACHE_MS,
  size: CACHED_KEYS,
});

type AuthEnv = Pick<Env, "DB" | "ENCRYPTION_KEYS">;

/** Finds the pod behind its key; undefined for any other kind of credential. */
export async function authenticatePod(
  env: AuthEnv,
  headerOrKey: string | null | undefined,
  now: number,
): Promise<PodPrincipal | Unauthorized | undefined> {
  const key = readCredential(headerOrKey);
  if (key === undefined || kindOfCredential(key) !== "pod-key") return undefined;
  const principal = cache.recall(key, now) ?? (await resolve(env, key, now));
  return principal ?? { kind: "unauthorized", message: WRONG_KEY };
}

async function resolve(env: AuthEnv, key: string, now: number): Promise<PodPrincipal | undefined> {
  const hash = await hashKey(key);
  if (cache.isRejected(hash, now)) return undefined;
  const podId = await podOfKey(env, key);
  const accountId = podId && (await findPodAccount(openDatabase(env.DB), podId));
  if (!podId || !accountId) {
    cache.reject(hash, now);
    return undefined;
  }
  const principal = { ...ANONYMOUS, accountId, name: "pod key", podId };
  cache.accept(key, principal, now);
  return principal;
}
