/** Operations of a host on itself: it joins an account, drains itself and leaves. */
import { generateCredential, kindOfCredential, mayBeIssued } from "../../auth/credential.ts";
import { hashKey } from "../../auth/digest.ts";
import type { HostPrincipal } from "../../auth/host-principal.ts";
import { ServiceError } from "../../contract/errors.ts";
import { findJoinToken, redeemJoinToken, type JoinTokenRecord } from "../../db/credentials/join-tokens.ts";
import { openDatabase } from "../../db/database.ts";
import {
  auditHostChange,
  countHosts,
  createHost,
  findOwnHost,
  revokeHost,
  HOSTS_MAX,
} from "../../db/hosts.ts";
import type { Env } from "../../env.ts";
import { recordStock } from "../catalog/present-stock.ts";
import { fleetObject } from "../objects.ts";

/** Creates a host from a join token, which is valid once. Throws unauthorized, and invalid_input above the quota. */
export async function joinHost(
  env: Env,
  joinToken: string,
  name: string,
): Promise<{ readonly hostId: string; readonly hostToken: string }> {
  const now = Date.now();
  const database = openDatabase(env.DB);
  if (kindOfCredential(joinToken) !== "join-token" || !mayBeIssued(joinToken)) {
    throw new ServiceError("unauthorized", describeInvalidToken(undefined, now));
  }
  const tokenId = await hashKey(joinToken);
  const redeemed = await redeemJoinToken(database, tokenId, now);
  if (!redeemed) {
    throw new ServiceError("unauthorized", describeInvalidToken(await findJoinToken(database, tokenId), now));
  }
  const hostToken = generateCredential("host-token");
  const tokenHash = await hashKey(hostToken);
  const host = await createHost(database, { ...redeemed, name, tokenHash }, now);
  if (host) return { hostId: host.id, hostToken };
  if ((await countHosts(database, redeemed.accountId, now)) >= HOSTS_MAX) {
    throw new ServiceError("invalid_input", TOO_MANY_HOSTS);
  }
  throw new ServiceError("unauthorized", KEY_ENDED);
}

/** The caller knows the token, so it may know what happened to it. */
function describeInvalidToken(token: JoinTokenRecord | undefined, now: number): string {
  if (!token) return `The join token is unknown to this edge, or was revoked. ${RETRY}`;
  if (token.usedAt !== null) {
    return `The join token was used at ${toIsoTime(token.usedAt)}: each one is for one host. ${RETRY}`;
  }
  return token.expiresAt <= now
    ? `The join token expired at ${toIsoTime(token.expiresAt)}. ${RETRY}`
    : KEY_ENDED;
}

const RETRY = "Make a new one (joinTokenCreate) and join again.";
const KEY_ENDED = `The API key that made the join token was revoked, has expired, or may not change anything now. ${RETRY}`;
const TOO_MANY_HOSTS = `The account has ${HOSTS_MAX} hosts, which is its limit. Remove those that are no longer used (hostRemove), and join again with a new join token.`;

function toIsoTime(at: number): string {
  return new Date(at).toISOString();
}

/** Gives the host no new workers; its workers stop, busy ones after their job. */
export async function drainOwnHost(env: Env, self: HostPrincipal, operation: string): Promise<void> {
  const { hostId, accountId, name } = self;
  const database = openDatabase(env.DB);
  const host = await findOwnHost(database, accountId, hostId);
  if (host) await auditHostChange(database, authorOf(self, operation), host, ["drained"]);
  await fleetObject(env, accountId).changeHost({ hostId, accountId, name, drained: true });
}

/** Revokes the host's token; its workers are placed elsewhere. */
export async function removeOwnHost(env: Env, self: HostPrincipal, operation: string): Promise<void> {
  const { hostId, accountId, name } = self;
  const database = openDatabase(env.DB);
  const host = await findOwnHost(database, accountId, hostId);
  if (host) await revokeHost(database, authorOf(self, operation), host);
  const { stock } = await fleetObject(env, accountId).removeHost({ id: hostId, accountId, name });
  await recordStock(env, accountId, stock);
}

/** A host acts for its account, without an API key. */
function authorOf({ accountId }: HostPrincipal, operation: string) {
  return { accountId, apiKeyId: "", operation, now: Date.now() };
}
