import {
  accountSettingsSchema,
  allAccounts,
  changeAccountSettings,
  createAccount,
  type AccountRecord,
} from "../../management/accounts/accounts.ts";
import type { RequestContext } from "../../management/context.ts";
import { withInput, withoutArguments } from "../context.ts";

export const accountSdl = /* GraphQL */ `
  type Query {
    "The account of the calling key."
    myself: User
    "Every account of this Edgerun, the oldest first; for ROOT_API_KEY only."
    accounts: [Account!]
  }

  type Mutation {
    "Changes settings of the calling key's account."
    updateUserSettings(input: UpdateUserSettingsInput): User
    "Makes an account with a first key that may do everything in it; for ROOT_API_KEY only."
    accountCreate(input: AccountCreateInput): CreatedAccount
  }

  input UpdateUserSettingsInput {
    "All public keys in one string, joined by a blank line; omitted it stays, empty it is cleared."
    pubKey: String
  }
  input AccountCreateInput {
    "For users; up to 191 characters."
    name: String
    "Contact for the account; may be omitted."
    email: String
  }

  type Account {
    id: ID!
    name: String!
    email: String
    createdAt: DateTime!
  }
  type CreatedAccount {
    account: Account
    "Opens the account; shown this once."
    apiKey: String
  }

  type User {
    id: ID
    "The same as id."
    authId: String
    email: String
    "All public keys in one string, joined by a blank line."
    pubKey: String
    "Always null: Edgerun has no billing, as the fields below."
    clientBalance: Float
    currentSpendPerHr: Float
    spendLimit: Float
    "Always false: Edgerun sends no such mails, as the fields below."
    notifyPodsStale: Boolean
    notifyPodsGeneral: Boolean
    notifyLowBalance: Boolean
    "Always null: there are no discounts."
    serverlessDiscount: ServerlessDiscount
  }

  type ServerlessDiscount {
    userId: String
    discountFactor: Float
    type: String
    expirationDate: DateTime
  }
`;

const never = (): boolean => false;

export const accountResolvers = {
  Query: {
    myself: withoutArguments(({ loaders }) => loaders.account.load()),
    accounts: withoutArguments(allAccounts),
  },
  Mutation: {
    updateUserSettings: withInput(accountSettingsSchema, changeAccountSettings),
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
