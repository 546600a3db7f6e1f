/**
 * Who calls the public APIs: the account behind an API key.
 *
 * P1  Only a credential of the kind "API key" is looked up; host and join tokens never are.
 * P2  A revoked key stops working within CREDENTIAL_CACHE_MS.
 * P3  The key of the environment works only while it stands there.
 * P4  No message says more about a key than that it is missing or wrong.
 */
import { CREDENTIAL_CACHE_MS, CREDENTIAL_REFUSAL_CACHE_MS } from "../contract/limits.ts";
import { ensureRootApiKey, findApiKeyByHash, recordApiKeyUse, type FoundApiKey } from "../db/api-keys.ts";
import { openDatabase } from "../db/database.ts";
import type { Permissions } from "../domain/permissions.ts";
import type { Env } from "../env.ts";
import { AnswerCache } from "./answer-cache.ts";
import { kindOfCredential, readCredential } from "./credential.ts";
import { hashKey } from "./hash-key.ts";

export type Principal = {
  readonly kind: "principal";
  readonly accountId: string;
  readonly apiKeyId: string;
  readonly permissions: Permissions;
};
export type Unauthorized = { readonly kind: "unauthorized"; readonly message: string };

const MISSING_KEY = "Unauthorized: no API key was sent. Send it as 'Authorization: Bearer <key>'.";
const WRONG_KEY = "Unauthorized: the API key is wrong or was revoked. Check the key that you send.";

/** Good enough for people who ask when a key was last used, and cheap in writes. */
const USE_RECORD_INTERVAL_MS = 3_600_000;
const CACHED_KEYS = 10_000;

const cache = new AnswerCache<Principal>({
  acceptedLifeMs: CREDENTIAL_CACHE_MS,
  refusedLifeMs: CREDENTIAL_REFUSAL_CACHE_MS,
  size: CACHED_KEYS,
});

type AuthEnv = Pick<Env, "DB" | "ROOT_API_KEY">;

/** Finds the account behind an Authorization header or a bare API key. */
export async function authenticate(
  env: AuthEnv,
  headerOrKey: string | null | undefined,
  now: number,
): Promise<Principal | Unauthorized> {
  const key = readCredential(headerOrKey);
  if (key === undefined) return { kind: "unauthorized", message: MISSING_KEY };
  if (kindOfCredential(key) !== "api-key") return { kind: "unauthorized", message: WRONG_KEY }; // P1

  const principal = cache.recall(key, now) ?? (await lookUp(env, key, now));
  return principal ?? { kind: "unauthorized", message: WRONG_KEY };
}

async function lookUp(env: AuthEnv, key: string, now: number): Promise<Principal | undefined> {
  const hash = await hashKey(key);
  if (cache.isRefused(hash, now)) return undefined;
  const found = await findUsableKey(env, hash, now);
  if (found === undefined) {
    cache.refuse(hash, now);
    return undefined;
  }
  const principal: Principal = {
    kind: "principal",
    accountId: found.accountId,
    apiKeyId: found.apiKeyId,
    permissions: found.permissions,
  };
  cache.accept(key, principal, now);
  if ((found.lastUsedAt ?? 0) + USE_RECORD_INTERVAL_MS <= now) {
    await recordApiKeyUse(openDatabase(env.DB), found.apiKeyId, now);
  }
  return principal;
}

async function findUsableKey(env: AuthEnv, hash: string, now: number): Promise<FoundApiKey | undefined> {
  const db = openDatabase(env.DB);
  const isRootKey = env.ROOT_API_KEY ? hash === (await hashKey(env.ROOT_API_KEY)) : false;

  const found = await findApiKeyByHash(db, hash);
  if (found !== undefined) return found.isRoot && !isRootKey ? undefined : found; // P3
  if (!isRootKey) return undefined;

  await ensureRootApiKey(db, hash, now);
  return await findApiKeyByHash(db, hash);
}
