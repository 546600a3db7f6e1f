import type { AccountRecord } from "../../db/accounts.ts";
import { listRegistryAuths, type RegistryAuthRecord } from "../../db/credentials/registry-auths.ts";
import type { RequestContext } from "../../management/context.ts";
import { parseInput } from "../../management/input-schemas.ts";
import {
  changeRegistryAuth,
  createRegistryAuth,
  deleteRegistryAuth,
  registryAuthCreationSchema,
  registryAuthDeletionSchema,
  registryAuthUpdateSchema,
} from "../../management/secrets/registry-auths.ts";

type WithInput = { readonly input?: unknown };

export const registryAuthResolvers = {
  Mutation: {
    saveRegistryAuth: async (
      _parent: unknown,
      { input }: WithInput,
      context: RequestContext,
    ): Promise<RegistryAuthRecord> =>
      await createRegistryAuth(context, parseInput(registryAuthCreationSchema, input)),
    updateRegistryAuth: async (
      _parent: unknown,
      { input }: WithInput,
      context: RequestContext,
    ): Promise<RegistryAuthRecord> =>
      await changeRegistryAuth(context, parseInput(registryAuthUpdateSchema, input)),
    deleteRegistryAuth: async (_parent: unknown, args: unknown, context: RequestContext): Promise<null> => {
      await deleteRegistryAuth(context, parseInput(registryAuthDeletionSchema, args).registryAuthId);
      return null;
    },
  },
  User: {
    containerRegistryCreds: async (
      account: AccountRecord,
      _args: unknown,
      context: RequestContext,
    ): Promise<readonly RegistryAuthRecord[]> => await listRegistryAuths(context.db, account.id),
  },
};
