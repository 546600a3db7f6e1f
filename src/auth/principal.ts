/**
 * Callers of the public APIs: the account behind an API key.
 *
 * P1  Only an API key and the token of a sign-in are looked up; host and join tokens never are.
 * P2  A revoked or narrowed key has lost what it lost within CREDENTIAL_CACHE_MS.
 * P3  The key of the environment works only while it stands there.
 * P4  No message reveals more about a key than that it is missing or wrong.
 * P5  A key that expires does so on time, whatever is remembered of it.
 * P6  A text that was never given out is not looked up, and others only so often for one network.
 * P7  A sign-in has the rights of its key, and ends with it.
 */
import {
  ensureRootApiKey,
  findApiKeyByHash,
  recordApiKeyUse,
  type FoundApiKey,
} from "../db/credentials/api-keys.ts";
import { findSignInKey } from "../db/credentials/sign-ins.ts";
import { openDatabase } from "../db/database.ts";
import { NO_PERMISSIONS, CREDENTIAL_CACHE_MS, type Permissions } from "../domain/accounts/permissions.ts";
import type { Env } from "../env.ts";
import { CredentialCache, CREDENTIAL_REJECTION_CACHE_MS } from "./credential-cache.ts";
import { kindOfCredential, mayBeIssued, readCredential } from "./credential.ts";
import { hashKey } from "./digest.ts";
import { timingSafeEqual } from "./derived-keys.ts";
import { countFailure, refuseExhausted, type RateEnv } from "./request-rates.ts";

/** Least time between two notes of a key's last use: precise enough to read, and cheap in writes. */
const KEY_USE_RECORD_INTERVAL_MS = 3_600_000;

export type Principal = {
  readonly kind: "principal";
  readonly accountId: string;
  readonly apiKeyId: string;
  /** The name of the key, for messages. */
  readonly name: string;
  /** The key of the environment, which is the operator's. */
  readonly isRoot: boolean;
  readonly permissions: Permissions;
  readonly expiresAt: number | null;
  /** The browser's sign-in through which the key is used. */
  readonly signInId?: string;
  /** The environment to whose things alone the caller is let; see environment-principal.ts. */
  readonly flashEnvironmentId?: string;
  /** The pod to which alone the caller is let; see pod-principal.ts. */
  readonly podId?: string;
};
export type Unauthorized = { readonly kind: "unauthorized"; readonly message: string };

export const MISSING_KEY = "Unauthorized: no API key was sent. Send it as 'Authorization: Bearer <key>'.";
const WRONG_KEY =
  "Unauthorized: the API key is wrong, was revoked or has expired. Check the key that you send.";
const ENDPOINT_KEY =
  "Unauthorized: this is the key of a single endpoint, which opens the queue API of that endpoint only. Send an API key of the account.";
const POD_KEY =
  "Unauthorized: this is the key of a pod, which opens that pod in the management API only. Send an API key of the account.";
const ENDED_SIGN_IN = "Unauthorized: this sign-in has ended, or its API key has. Sign in again.";
const ENVIRONMENT_KEY =
  "Unauthorized: this is the key of a flash environment, which opens the endpoints of that environment only. Send an API key of the account.";

/** A caller without a key where none is needed: no account, and no permission. */
export const ANONYMOUS: Principal = {
  kind: "principal",
  accountId: "",
  apiKeyId: "",
  name: "",
  isRoot: false,
  permissions: NO_PERMISSIONS,
  expiresAt: null,
};

/** By what requests of a caller are counted together: the key, or what a key was derived from. */
export function callerName({ apiKeyId, flashEnvironmentId, podId, permissions }: Principal): string {
  return apiKeyId || flashEnvironmentId || podId || JSON.stringify(permissions.endpoints);
}

type FoundSignIn = FoundApiKey & { readonly signInId: string };

const CACHED_KEYS = 10_000;
/** As many endpoints that a key names take about as much memory as a key that names none. */
const NAMED_ENDPOINTS_OF_ORDINARY_SIZE = 4;

const cache = new CredentialCache<Principal>({
  acceptedTtlMs: CREDENTIAL_CACHE_MS,
  rejectedTtlMs: CREDENTIAL_REJECTION_CACHE_MS,
  size: CACHED_KEYS,
  weigh: ({ permissions: { endpoints } }) =>
    typeof endpoints === "string" ? 1 : 1 + Object.keys(endpoints).length / NAMED_ENDPOINTS_OF_ORDINARY_SIZE,
});

type AuthEnv = Pick<Env, "DB" | "ROOT_API_KEY"> & RateEnv;

/**
 * Finds the account behind an Authorization header or a bare API key. `network`: where the caller is; one with too
 * many wrong keys gets rate_limited for keys that are not remembered here.
 */
export async function authenticate(
  env: AuthEnv,
  headerOrKey: string | null | undefined,
  now: number,
  network?: string,
): Promise<Principal | Unauthorized> {
  const key = readCredential(headerOrKey);
  if (key === undefined) return { kind: "unauthorized", message: MISSING_KEY };
  const kind = kindOfCredential(key);
  if (kind === "endpoint-key") return { kind: "unauthorized", message: ENDPOINT_KEY };
  if (kind === "environment-key") return { kind: "unauthorized", message: ENVIRONMENT_KEY };
  if (kind === "pod-key") return { kind: "unauthorized", message: POD_KEY };
  if (kind !== "api-key" && kind !== "sign-in") return { kind: "unauthorized", message: WRONG_KEY }; // P1

  const principal = cache.recall(key, now) ?? (await resolve(env, key, now, network));
  const isUsable = principal !== undefined && !hasExpired(principal, now); // P5
  if (isUsable) return principal;
  return { kind: "unauthorized", message: kind === "sign-in" ? ENDED_SIGN_IN : WRONG_KEY };
}

/** Has this isolate look a changed key up again at its next use; others do within CREDENTIAL_CACHE_MS. */
export function forgetApiKey(apiKeyId: string): void {
  cache.forget((principal) => principal.apiKeyId === apiKeyId);
}

/** The same for a sign-in that was ended. */
export function forgetSignIn(signInId: string): void {
  cache.forget((principal) => principal.signInId === signInId);
}

async function resolve(
  env: AuthEnv,
  key: string,
  now: number,
  network: string | undefined,
): Promise<Principal | undefined> {
  const hash = await hashKey(key);
  if (cache.isRejected(hash, now)) return undefined;
  const isRootKey = env.ROOT_API_KEY ? timingSafeEqual(hash, await hashKey(env.ROOT_API_KEY)) : false;
  if (!isRootKey) {
    if (!mayBeIssued(key)) return undefined; // P6
    if (network !== undefined) refuseExhausted("credentials", network, now); // P6
  }
  const found =
    kindOfCredential(key) === "sign-in"
      ? await findUsableSignIn(env, hash)
      : await findUsableKey(env, hash, isRootKey, now);
  if (found === undefined || hasExpired(found, now)) {
    cache.reject(hash, now);
    if (network !== undefined) await countFailure(env, "credentials", network, now);
    return undefined;
  }
  const { lastUsedAt, ...known } = found;
  const principal: Principal = { kind: "principal", ...known };
  cache.accept(key, principal, now);
  if ((lastUsedAt ?? 0) + KEY_USE_RECORD_INTERVAL_MS <= now) await recordUse(env, found.apiKeyId, now);
  return principal;
}

/** Information for users: a failure to store it refuses no caller, and a later use stores it. */
async function recordUse(env: AuthEnv, apiKeyId: string, now: number): Promise<void> {
  await recordApiKeyUse(openDatabase(env.DB), apiKeyId, now).catch(() => undefined);
}

async function findUsableKey(
  env: AuthEnv,
  hash: string,
  isRootKey: boolean,
  now: number,
): Promise<FoundApiKey | undefined> {
  const db = openDatabase(env.DB);
  const found = await findApiKeyByHash(db, hash);
  if (found !== undefined) return found.isRoot && !isRootKey ? undefined : found; // P3
  if (!isRootKey) return undefined;

  await ensureRootApiKey(db, hash, now);
  return await findApiKeyByHash(db, hash);
}

/** What a sign-in stands for; one of the key of the environment stands only while that key does. */
async function findUsableSignIn(env: AuthEnv, hash: string): Promise<FoundSignIn | undefined> {
  const found = await findSignInKey(openDatabase(env.DB), hash);
  if (found === undefined) return undefined;
  const { keyHash, ...usable } = found;
  if (!usable.isRoot) return usable; // P7
  const isInForce = env.ROOT_API_KEY && timingSafeEqual(keyHash, await hashKey(env.ROOT_API_KEY)); // P3
  return isInForce ? usable : undefined;
}

function hasExpired({ expiresAt }: { readonly expiresAt: number | null }, now: number): boolean {
  return expiresAt !== null && expiresAt <= now;
}
