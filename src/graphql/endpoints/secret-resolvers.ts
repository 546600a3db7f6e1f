import type { AccountRecord } from "../../db/accounts.ts";
import { listSecrets, type SecretRecord } from "../../db/credentials/secrets.ts";
import type { RequestContext } from "../../management/context.ts";
import { parseInput } from "../../management/input-schemas.ts";
import {
  changeSecretDescription,
  changeSecretValue,
  createSecret,
  removeSecret,
  secretCreationSchema,
  secretDeletionSchema,
  secretDescriptionSchema,
  secretValueSchema,
} from "../../management/secrets/secrets.ts";

type WithInput = { readonly input?: unknown };

export const secretResolvers = {
  Mutation: {
    secretCreate: async (
      _parent: unknown,
      { input }: WithInput,
      context: RequestContext,
    ): Promise<SecretRecord> => await createSecret(context, parseInput(secretCreationSchema, input)),
    secretDelete: async (_parent: unknown, args: unknown, context: RequestContext): Promise<null> => {
      await removeSecret(context, parseInput(secretDeletionSchema, args).id);
      return null;
    },
    secretValueUpdate: async (
      _parent: unknown,
      { input }: WithInput,
      context: RequestContext,
    ): Promise<SecretRecord> => await changeSecretValue(context, parseInput(secretValueSchema, input)),
    secretDescriptionUpdate: async (
      _parent: unknown,
      { input }: WithInput,
      context: RequestContext,
    ): Promise<SecretRecord> =>
      await changeSecretDescription(context, parseInput(secretDescriptionSchema, input)),
  },
  User: {
    secrets: async (
      account: AccountRecord,
      _args: unknown,
      context: RequestContext,
    ): Promise<readonly SecretRecord[]> => await listSecrets(context.db, account.id),
  },
};
