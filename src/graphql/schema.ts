import { makeExecutableSchema } from "@graphql-tools/schema";
import type { GraphQLFieldResolver } from "graphql";
import { accountResolvers } from "./account/account-resolvers.ts";
import { accountSdl } from "./account/account-schema.graphql.ts";
import { auditResolvers } from "./account/audit-resolvers.ts";
import { auditSdl } from "./account/audit-schema.graphql.ts";
import type { GraphqlContext } from "./context.ts";
import { endpointResolvers } from "./endpoints/endpoint-resolvers.ts";
import { endpointSdl } from "./endpoints/endpoint-schema.graphql.ts";
import { encryptionResolvers } from "./account/encryption-resolvers.ts";
import { encryptionSdl } from "./account/encryption-schema.graphql.ts";
import { bindToEnvironment } from "./environment-access.ts";
import { hostResolvers } from "./compute/host-resolvers.ts";
import { hostSdl } from "./compute/host-schema.graphql.ts";
import { keyResolvers } from "./account/key-resolvers.ts";
import { keySdl } from "./account/key-schema.graphql.ts";
import { registryAuthResolvers } from "./endpoints/registry-auth-resolvers.ts";
import { registryAuthSdl } from "./endpoints/registry-auth-schema.graphql.ts";
import { catalogResolvers } from "./compute/catalog-resolvers.ts";
import { catalogSdl } from "./compute/catalog-schema.graphql.ts";
import { loginResolvers } from "./flash/login-resolvers.ts";
import { loginSdl } from "./flash/login-schema.graphql.ts";
import { flashResolvers } from "./flash/flash-resolvers.ts";
import { flashSdl } from "./flash/flash-schema.graphql.ts";
import { podResolvers } from "./compute/pod-resolvers.ts";
import { podSdl } from "./compute/pod-schema.graphql.ts";
import { scalarResolvers, scalarSdl } from "./scalars.ts";
import { secretResolvers } from "./endpoints/secret-resolvers.ts";
import { secretSdl } from "./endpoints/secret-schema.graphql.ts";
import { templateResolvers } from "./endpoints/template-resolvers.ts";
import { templateSdl } from "./endpoints/template-schema.graphql.ts";
import { usageResolvers } from "./account/usage-resolvers.ts";
import { usageSdl } from "./account/usage-schema.graphql.ts";
import { volumeResolvers } from "./endpoints/volume-resolvers.ts";
import { volumeSdl } from "./endpoints/volume-schema.graphql.ts";
import { webhookResolvers } from "./endpoints/webhook-resolvers.ts";
import { webhookSdl } from "./endpoints/webhook-schema.graphql.ts";

/** The management API: one SDL and one set of resolvers per noun. */
export const managementSchema = makeExecutableSchema({
  typeDefs: [
    scalarSdl,
    accountSdl,
    keySdl,
    auditSdl,
    catalogSdl,
    endpointSdl,
    flashSdl,
    loginSdl,
    hostSdl,
    podSdl,
    templateSdl,
    volumeSdl,
    webhookSdl,
    secretSdl,
    registryAuthSdl,
    encryptionSdl,
    usageSdl,
  ],
  resolvers: [
    scalarResolvers,
    accountResolvers,
    keyResolvers,
    auditResolvers,
    catalogResolvers,
    endpointResolvers,
    flashResolvers,
    loginResolvers,
    hostResolvers,
    podResolvers,
    templateResolvers,
    volumeResolvers,
    webhookResolvers,
    secretResolvers,
    registryAuthResolvers,
    encryptionResolvers,
    usageResolvers,
  ],
});

bindToEnvironment(managementSchema);

// What a mutation changes is noted under the name of its field, and what was loaded before it is forgotten.
for (const [operation, field] of Object.entries(managementSchema.getMutationType()?.getFields() ?? {})) {
  field.resolve = asMutation(operation, field.resolve);
}

type Resolver = GraphQLFieldResolver<unknown, GraphqlContext>;

function asMutation(operation: string, resolve: Resolver | undefined): Resolver | undefined {
  if (resolve === undefined) return undefined;
  return async (parent, args, context, info) => {
    try {
      return await resolve(parent, args, { ...context, operation }, info);
    } finally {
      context.loaders.forget();
    }
  };
}
