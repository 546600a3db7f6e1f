import type { AccountRecord } from "../../db/accounts.ts";
import {
  accountSettingsSchema,
  allAccounts,
  changeAccountSettings,
  createAccount,
} from "../../management/accounts/accounts.ts";
import type { RequestContext } from "../../management/context.ts";
import { parseInput } from "../../management/input-schemas.ts";
import type { GraphqlContext } from "../context.ts";

const never = (): boolean => false;

export const accountResolvers = {
  Query: {
    myself: async (
      _parent: unknown,
      _args: unknown,
      { loaders }: GraphqlContext,
    ): Promise<AccountRecord | null> => (await loaders.account.load()) ?? null,
    accounts: async (
      _parent: unknown,
      _args: unknown,
      context: RequestContext,
    ): Promise<readonly AccountRecord[]> => await allAccounts(context),
  },
  Mutation: {
    updateUserSettings: async (
      _parent: unknown,
      { input }: { input?: unknown },
      context: RequestContext,
    ): Promise<AccountRecord> =>
      await changeAccountSettings(context, parseInput(accountSettingsSchema, input)),
    accountCreate: async (
      _parent: unknown,
      { input }: { input?: unknown },
      context: RequestContext,
    ): Promise<{ readonly account: AccountRecord; readonly apiKey: string }> =>
      await createAccount(context, input),
  },
  User: {
    authId: ({ id }: AccountRecord): string => id,
    notifyPodsStale: never,
    notifyPodsGeneral: never,
    notifyLowBalance: never,
    serverlessDiscount: (): null => null,
  },
};
