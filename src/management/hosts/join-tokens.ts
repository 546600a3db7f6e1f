/** Tokens with which hosts join an account. */
import { z } from "zod";
import { generateCredential } from "../../auth/credential.ts";
import { hashKey } from "../../auth/hash-key.ts";
import { JOIN_TOKEN_LIFE_MAX_MS, JOIN_TOKEN_LIFE_MIN_MS, JOIN_TOKEN_LIFE_MS } from "../../contract/limits.ts";
import { insertJoinTokenIfRoom } from "../../db/join-tokens.ts";
import { requireRoom } from "../account-room.ts";
import { authorOf, type RequestContext } from "../context.ts";
import { keepable, keepableText, nameSchema, wholeNumber } from "../input.ts";
import { requireOwnKey } from "../keys/api-keys.ts";
import { untilUnchanged } from "../optimistic-write.ts";

const SECOND_MS = 1_000;

export const joinTokenSchema = z.object({
  name: keepableText(nameSchema),
  expiresInSeconds: keepable(
    wholeNumber(JOIN_TOKEN_LIFE_MIN_MS / SECOND_MS, JOIN_TOKEN_LIFE_MAX_MS / SECOND_MS),
  ),
});

export type JoinToken = { readonly token: string; readonly expiresAt: number };

/** A host stays when the key is gone, so a key that is gone already, and only remembered, brings none in. */
export async function createJoinToken(
  context: RequestContext,
  { name, expiresInSeconds }: z.output<typeof joinTokenSchema>,
): Promise<JoinToken> {
  const lifeMs = expiresInSeconds === undefined ? JOIN_TOKEN_LIFE_MS : expiresInSeconds * SECOND_MS;
  const token = generateCredential("join-token");
  const expiresAt = context.now + lifeMs;
  const values = { hash: await hashKey(token), name: name ?? null, expiresAt };
  return await untilUnchanged(async () => {
    await requireOwnKey(context);
    await requireRoom(context, "joinToken");
    const isInserted = await insertJoinTokenIfRoom(context.db, authorOf(context), values);
    return isInserted ? { token, expiresAt } : undefined;
  });
}
