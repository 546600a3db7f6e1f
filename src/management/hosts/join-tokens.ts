/** Tokens with which hosts join an account. */
import { quote } from "shlex";
import * as z from "zod";
import { generateCredential } from "../../auth/credential.ts";
import { hashKey } from "../../auth/digest.ts";
import { publicOrigin } from "../../net/public-host.ts";
import {
  idOfJoinToken,
  insertJoinTokenWithinQuota,
  listJoinTokens,
  removeJoinToken,
} from "../../db/credentials/join-tokens.ts";
import { requireQuota } from "../quota.ts";
import { authorOf, retryOnConflict, type RequestContext } from "../context.ts";
import { optional, optionalNonEmpty, nameSchema, wholeNumber } from "../input-schemas.ts";
import { requireOwnKey } from "../accounts/api-keys.ts";
import { ServiceError } from "../../contract/errors.ts";

const JOIN_TOKEN_TTL_MS = 3_600_000;
const JOIN_TOKEN_TTL_MAX_MS = 7 * 86_400_000;
const JOIN_TOKEN_TTL_MIN_MS = 60_000;

const SECOND_MS = 1_000;

export const joinTokenSchema = z.object({
  name: optionalNonEmpty(nameSchema),
  expiresInSeconds: optional(
    wholeNumber(JOIN_TOKEN_TTL_MIN_MS / SECOND_MS, JOIN_TOKEN_TTL_MAX_MS / SECOND_MS),
  ),
});

export type JoinToken = {
  readonly token: string;
  readonly expiresAt: number;
  readonly id: string;
  readonly name: string | null;
  readonly createdAt: number;
  /** To be pasted on the machine that shall join. */
  readonly installCommand: string;
};

/** A token ends with the key that makes it; one that is gone already, and only remembered, makes none. */
export async function createJoinToken(
  context: RequestContext,
  { name, expiresInSeconds }: z.output<typeof joinTokenSchema>,
): Promise<JoinToken> {
  const ttlMs = expiresInSeconds === undefined ? JOIN_TOKEN_TTL_MS : expiresInSeconds * SECOND_MS;
  const token = generateCredential("join-token");
  const hash = await hashKey(token);
  return await retryOnConflict(async () => {
    const own = await requireOwnKey(context);
    await requireQuota(context, "joinToken");
    const expiresAt = Math.min(context.now + ttlMs, own.expiresAt ?? Infinity);
    const values = { hash, name: name ?? null, expiresAt, apiKeyId: own.id };
    const isInserted = await insertJoinTokenWithinQuota(context.db, authorOf(context), values);
    if (!isInserted) return undefined;
    const installCommand = installCommandOf(context.origin, token);
    return {
      token,
      id: idOfJoinToken(values),
      name: values.name,
      createdAt: context.now,
      expiresAt,
      installCommand,
    };
  });
}

/**
 * The shell itself writes the token in front of the script, which reads it as a variable: it is an argument of no
 * program, where other users of the machine could read it. Options may follow.
 */
function installCommandOf(origin: string, token: string): string {
  const edgeUrl = publicOrigin(new URL(origin));
  const protocol = edgeUrl.startsWith("https:") ? "--proto '=https' --tlsv1.2 " : "";
  const script = `curl ${protocol}-fsSL ${quote(`${edgeUrl}/agent/install.sh`)}`;
  return `(echo EDGERUN_JOIN_TOKEN=${token}; ${script}) | sudo sh -s --`;
}

/** Tokens that no host has used and that have not expired. */
export async function listOpenJoinTokens({ db, principal, now }: RequestContext) {
  const tokens = await listJoinTokens(db, principal.accountId, now);
  return tokens.map((token) => ({ ...token, id: idOfJoinToken(token) }));
}

/** Revokes a token that no host has used. */
export async function revokeJoinToken(context: RequestContext, id: string): Promise<void> {
  const token = (await listOpenJoinTokens(context)).find((candidate) => candidate.id === id);
  if (!token || !(await removeJoinToken(context.db, authorOf(context), token))) {
    throw new ServiceError("join_token_not_found", `id: no unused join token '${id}' was found`);
  }
}
