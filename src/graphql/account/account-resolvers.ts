import { findAccount, type AccountRecord } from "../../db/accounts.ts";
import type { RequestContext } from "../../management/context.ts";

export const accountResolvers = {
  Query: {
    myself: async (
      _parent: unknown,
      _args: unknown,
      context: RequestContext,
    ): Promise<AccountRecord | null> => (await findAccount(context.db, context.principal.accountId)) ?? null,
  },
  User: {
    serverlessDiscount: (): null => null,
  },
};
