import { z } from "zod";
import { generateCredential } from "../../auth/credential.ts";
import { hashKey } from "../../auth/hash-key.ts";
import { JOIN_TOKEN_LIFE_MAX_MS, JOIN_TOKEN_LIFE_MIN_MS, JOIN_TOKEN_LIFE_MS } from "../../contract/limits.ts";
import { createJoinToken } from "../../db/join-tokens.ts";
import { authorOf, type RequestContext } from "../../management/context.ts";
import { keepable, keepableText, nameSchema, parseInput, wholeNumber } from "../../management/input.ts";

const SECOND_MS = 1_000;

const joinTokenSchema = z.object({
  name: keepableText(nameSchema),
  expiresInSeconds: keepable(
    wholeNumber(JOIN_TOKEN_LIFE_MIN_MS / SECOND_MS, JOIN_TOKEN_LIFE_MAX_MS / SECOND_MS),
  ),
});

type JoinToken = { readonly token: string; readonly expiresAt: number };

export const hostResolvers = {
  Mutation: {
    joinTokenCreate: async (
      _parent: unknown,
      { input }: { input?: unknown },
      context: RequestContext,
    ): Promise<JoinToken> => {
      const { name, expiresInSeconds } = parseInput(joinTokenSchema, input);
      const lifeMs = expiresInSeconds === undefined ? JOIN_TOKEN_LIFE_MS : expiresInSeconds * SECOND_MS;
      const token = generateCredential("join-token");
      const expiresAt = context.now + lifeMs;
      const values = { hash: await hashKey(token), name: name ?? null, expiresAt };
      await createJoinToken(context.db, authorOf(context), values);
      return { token, expiresAt };
    },
  },
};
