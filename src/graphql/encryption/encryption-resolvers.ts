import type { RequestContext } from "../../management/context.ts";
import { describeEncryption } from "../../management/encryption/reseal.ts";

export const encryptionResolvers = {
  User: {
    encryption: async (_account: unknown, _args: unknown, context: RequestContext) =>
      await describeEncryption(context.env),
  },
};
