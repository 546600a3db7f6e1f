import type { RequestContext } from "../../management/context.ts";
import { createJoinToken, joinTokenSchema, type JoinToken } from "../../management/hosts/join-tokens.ts";
import { parseInput } from "../../management/input.ts";

export const hostResolvers = {
  Mutation: {
    joinTokenCreate: async (
      _parent: unknown,
      { input }: { input?: unknown },
      context: RequestContext,
    ): Promise<JoinToken> => await createJoinToken(context, parseInput(joinTokenSchema, input)),
  },
};
