/** Which host calls the agent API: the one behind a host token. Rules as in principal.ts. */
import { openDatabase } from "../db/database.ts";
import { findHostByTokenHash } from "../db/hosts.ts";
import type { Env } from "../env.ts";
import { CredentialCache, CREDENTIAL_REJECTION_CACHE_MS } from "./credential-cache.ts";
import { kindOfCredential, mayBeIssued, readCredential } from "./credential.ts";
import { hashKey } from "./digest.ts";
import type { Unauthorized } from "./principal.ts";
import { countFailure, refuseExhausted, type RateEnv } from "./request-rates.ts";
import { CREDENTIAL_CACHE_MS } from "../domain/accounts/permissions.ts";

export type HostPrincipal = {
  readonly kind: "host";
  readonly hostId: string;
  readonly accountId: string;
  /** As the host called itself when it joined. */
  readonly name: string;
  /** When the key ends that let it in, and the host with it; null for never. */
  readonly expiresAt: number | null;
};

const MISSING_TOKEN = "Unauthorized: no host token was sent. Send it as 'Authorization: Bearer <token>'.";
const WRONG_TOKEN =
  "Unauthorized: the host token is wrong or was revoked. Join the host again with a new join token.";

const KEY_ENDED =
  "Unauthorized: this host has ended with the API key that let it in. Join it again with a new join token.";

const CACHED_HOSTS = 10_000;

const cache = new CredentialCache<HostPrincipal>({
  acceptedTtlMs: CREDENTIAL_CACHE_MS,
  rejectedTtlMs: CREDENTIAL_REJECTION_CACHE_MS,
  size: CACHED_HOSTS,
});

type AuthEnv = Pick<Env, "DB"> & RateEnv;

/** Finds the host behind an Authorization header or a bare host token. */
export async function authenticateHost(
  env: AuthEnv,
  headerOrToken: string | null | undefined,
  now: number,
  network?: string,
): Promise<HostPrincipal | Unauthorized> {
  const token = readCredential(headerOrToken);
  if (token === undefined) return { kind: "unauthorized", message: MISSING_TOKEN };
  if (kindOfCredential(token) !== "host-token") return { kind: "unauthorized", message: WRONG_TOKEN };

  const host = cache.recall(token, now) ?? (await resolve(env, token, now, network));
  if (host === undefined) return { kind: "unauthorized", message: WRONG_TOKEN };
  const hasEnded = host.expiresAt !== null && host.expiresAt <= now; // on time, whatever is remembered
  return hasEnded ? { kind: "unauthorized", message: KEY_ENDED } : host;
}

/** Has this isolate look a host up again at its next call; others do within CREDENTIAL_CACHE_MS. */
export function forgetHost(hostId: string): void {
  cache.forget((host) => host.hostId === hostId);
}

async function resolve(
  env: AuthEnv,
  token: string,
  now: number,
  network: string | undefined,
): Promise<HostPrincipal | undefined> {
  if (!mayBeIssued(token)) return undefined;
  const hash = await hashKey(token);
  if (cache.isRejected(hash, now)) return undefined;
  if (network !== undefined) refuseExhausted("credentials", network, now);
  const found = await findHostByTokenHash(openDatabase(env.DB), hash);
  if (found === undefined) {
    cache.reject(hash, now);
    if (network !== undefined) await countFailure(env, "credentials", network, now);
    return undefined;
  }
  const principal: HostPrincipal = { kind: "host", ...found };
  cache.accept(token, principal, now);
  return principal;
}
