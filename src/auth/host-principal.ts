/** Which host calls the agent API: the one behind a host token. Rules as in principal.ts. */
import { CREDENTIAL_CACHE_MS, CREDENTIAL_REFUSAL_CACHE_MS } from "../contract/limits.ts";
import { openDatabase } from "../db/database.ts";
import { findHostByTokenHash } from "../db/hosts.ts";
import type { Env } from "../env.ts";
import { AnswerCache } from "./answer-cache.ts";
import { kindOfCredential, readCredential } from "./credential.ts";
import { hashKey } from "./hash-key.ts";
import type { Unauthorized } from "./principal.ts";

export type HostPrincipal = {
  readonly kind: "host";
  readonly hostId: string;
  readonly accountId: string;
  /** As the host called itself when it joined. */
  readonly name: string;
};

const MISSING_TOKEN = "Unauthorized: no host token was sent. Send it as 'Authorization: Bearer <token>'.";
const WRONG_TOKEN =
  "Unauthorized: the host token is wrong or was revoked. Join the host again with a new join token.";

const CACHED_HOSTS = 10_000;

const cache = new AnswerCache<HostPrincipal>({
  acceptedLifeMs: CREDENTIAL_CACHE_MS,
  refusedLifeMs: CREDENTIAL_REFUSAL_CACHE_MS,
  size: CACHED_HOSTS,
});

/** Finds the host behind an Authorization header or a bare host token. */
export async function authenticateHost(
  env: Pick<Env, "DB">,
  headerOrToken: string | null | undefined,
  now: number,
): Promise<HostPrincipal | Unauthorized> {
  const token = readCredential(headerOrToken);
  if (token === undefined) return { kind: "unauthorized", message: MISSING_TOKEN };
  if (kindOfCredential(token) !== "host-token") return { kind: "unauthorized", message: WRONG_TOKEN };

  const host = cache.recall(token, now) ?? (await lookUp(env, token, now));
  return host ?? { kind: "unauthorized", message: WRONG_TOKEN };
}

async function lookUp(env: Pick<Env, "DB">, token: string, now: number): Promise<HostPrincipal | undefined> {
  const hash = await hashKey(token);
  if (cache.isRefused(hash, now)) return undefined;
  const found = await findHostByTokenHash(openDatabase(env.DB), hash);
  if (found === undefined) {
    cache.refuse(hash, now);
    return undefined;
  }
  const principal: HostPrincipal = { kind: "host", ...found };
  cache.accept(token, principal, now);
  return principal;
}
