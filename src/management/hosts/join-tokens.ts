/** Tokens with which hosts join an account. */
import * as z from "zod";
import { generateCredential } from "../../auth/credential.ts";
import { hashKey } from "../../auth/hash-key.ts";
import { JOIN_TOKEN_LIFE_MAX_MS, JOIN_TOKEN_LIFE_MIN_MS, JOIN_TOKEN_LIFE_MS } from "../../contract/limits.ts";
import {
  idOfJoinToken,
  insertJoinTokenIfRoom,
  listJoinTokens,
  removeJoinToken,
} from "../../db/join-tokens.ts";
import { shellWord } from "../../domain/shell-word.ts";
import { requireRoom } from "../account-room.ts";
import { authorOf, type RequestContext } from "../context.ts";
import { keepable, keepableText, nameSchema, wholeNumber } from "../input.ts";
import { requireOwnKey } from "../keys/api-keys.ts";
import { OperationError } from "../operation-error.ts";
import { untilUnchanged } from "../optimistic-write.ts";

const SECOND_MS = 1_000;

export const joinTokenSchema = z.object({
  name: keepableText(nameSchema),
  expiresInSeconds: keepable(
    wholeNumber(JOIN_TOKEN_LIFE_MIN_MS / SECOND_MS, JOIN_TOKEN_LIFE_MAX_MS / SECOND_MS),
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

function installCommandOf(origin: string, token: string): string {
  const address = shellWord(`${origin}/agent/install.sh`);
  return `curl -fsSL ${address} | sudo sh -s -- --token ${token}`;
}

/** Takes a token back that no host has used. */
export async function revokeJoinToken(context: RequestContext, id: string): Promise<void> {
  const open = await listJoinTokens(context.db, context.principal.accountId, context.now);
  const token = open.find((candidate) => idOfJoinToken(candidate) === id);
  if (!token || !(await removeJoinToken(context.db, authorOf(context), token))) {
    throw new OperationError("JOIN_TOKEN_NOT_FOUND", `id: no unused join token '${id}' was found`);
  }
}
