import type { RequestContext } from "../../management/context.ts";
import { describeEncryption } from "../../management/secrets/reseal.ts";

export const encryptionResolvers = {
  User: {
    /** Tells of all accounts, so of nothing that any one of them may know. */
    encryption: async (_account: unknown, _args: unknown, { env, principal }: RequestContext) =>
      principal.isRoot ? await describeEncryption(env) : null,
  },
};
