import type { RequestContext } from "../../management/context.ts";
import {
  createSignInLink,
  endSignIn,
  listOwnSignIns,
  type SignInRecord,
} from "../../management/accounts/sign-ins.ts";
import { onlyIdSchema } from "../../management/input-schemas.ts";
import { withArguments, withoutArguments } from "../context.ts";

export const signInSdl = /* GraphQL */ `
  type Query {
    "Browsers that are signed in to the console of the account, and links to it that nobody has followed, the newest first."
    signIns: [SignIn!]
  }

  type Mutation {
    "Makes a link that signs one browser in to the console with the rights of the calling key, within 15 minutes."
    createSignInLink: SignInLink
    "Ends a sign-in or a link, everywhere within 30 seconds."
    endSignIn(id: ID): Void
  }

  type SignInLink {
    "To be opened in a browser; shown this once."
    url: String!
    expiresAt: DateTime!
  }

  type SignIn {
    id: ID!
    "The key whose rights it has; it ends with that key."
    apiKeyId: ID!
    "A link that nobody has followed yet."
    isLink: Boolean!
    "The browser, as it names itself; empty for a link."
    client: String!
    createdAt: DateTime!
    expiresAt: DateTime!
    "That of this call."
    isCurrent: Boolean!
  }
`;

export const signInResolvers = {
  Query: { signIns: withoutArguments(listOwnSignIns) },
  Mutation: {
    createSignInLink: withoutArguments(createSignInLink),
    endSignIn: withArguments(onlyIdSchema, endSignIn),
  },
  SignIn: {
    isCurrent: ({ id }: SignInRecord, _args: unknown, { principal }: RequestContext): boolean =>
      id === principal.signInId,
  },
};
