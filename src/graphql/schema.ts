import { makeExecutableSchema } from "@graphql-tools/schema";
import type { GraphQLFieldResolver } from "graphql";
import { accountResolvers } from "./account/account-resolvers.ts";
import { accountSdl } from "./account/account-schema.graphql.ts";
import { auditResolvers } from "./audit/audit-resolvers.ts";
import { auditSdl } from "./audit/audit-schema.graphql.ts";
import type { GraphqlContext } from "./context.ts";
import { endpointResolvers } from "./endpoints/endpoint-resolvers.ts";
import { endpointSdl } from "./endpoints/endpoint-schema.graphql.ts";
import { encryptionResolvers } from "./encryption/encryption-resolvers.ts";
import { encryptionSdl } from "./encryption/encryption-schema.graphql.ts";
import { bindToEnvironment } from "./environment-access.ts";
import { hostResolvers } from "./hosts/host-resolvers.ts";
import { hostSdl } from "./hosts/host-schema.graphql.ts";
import { keyResolvers } from "./keys/key-resolvers.ts";
import { keySdl } from "./keys/key-schema.graphql.ts";
import { registryAuthResolvers } from "./registry/registry-auth-resolvers.ts";
import { registryAuthSdl } from "./registry/registry-auth-schema.graphql.ts";
import { catalogResolvers } from "./catalog/catalog-resolvers.ts";
import { catalogSdl } from "./catalog/catalog-schema.graphql.ts";
import { flashResolvers } from "./flash/flash-resolvers.ts";
import { flashSdl } from "./flash/flash-schema.graphql.ts";
import { podResolvers } from "./pods/pod-resolvers.ts";
import { podSdl } from "./pods/pod-schema.graphql.ts";
import { scalarResolvers, scalarSdl } from "./scalars.ts";
import { secretResolvers } from "./secrets/secret-resolvers.ts";
import { secretSdl } from "./secrets/secret-schema.graphql.ts";
import { templateResolvers } from "./templates/template-resolvers.ts";
import { templateSdl } from "./templates/template-schema.graphql.ts";
import { usageResolvers } from "./usage/usage-resolvers.ts";
import { usageSdl } from "./usage/usage-schema.graphql.ts";
import { volumeResolvers } from "./volumes/volume-resolvers.ts";
import { volumeSdl } from "./volumes/volume-schema.graphql.ts";
import { webhookResolvers } from "./webhooks/webhook-resolvers.ts";
import { webhookSdl } from "./webhooks/webhook-schema.graphql.ts";

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
