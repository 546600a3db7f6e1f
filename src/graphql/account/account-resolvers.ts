import type { AccountRecord } from "../../db/accounts.ts";
import type { GraphqlContext } from "../context.ts";

export const accountResolvers = {
  Query: {
    myself: async (
      _parent: unknown,
      _args: unknown,
      { loaders }: GraphqlContext,
    ): Promise<AccountRecord | null> => (await loaders.account.load()) ?? null,
  },
  User: {
    serverlessDiscount: (): null => null,
  },
};
