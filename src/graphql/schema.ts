import { makeExecutableSchema } from "@graphql-tools/schema";
import type { GraphQLFieldResolver } from "graphql";
import type { RequestContext } from "../management/context.ts";
import { accountResolvers } from "./account/account-resolvers.ts";
import { accountSdl } from "./account/account-schema.graphql.ts";
import { auditResolvers } from "./audit/audit-resolvers.ts";
import { auditSdl } from "./audit/audit-schema.graphql.ts";
import { endpointResolvers } from "./endpoints/endpoint-resolvers.ts";
import { endpointSdl } from "./endpoints/endpoint-schema.graphql.ts";
import { encryptionResolvers } from "./encryption/encryption-resolvers.ts";
import { encryptionSdl } from "./encryption/encryption-schema.graphql.ts";
import { hostResolvers } from "./hosts/host-resolvers.ts";
import { hostSdl } from "./hosts/host-schema.graphql.ts";
import { keyResolvers } from "./keys/key-resolvers.ts";
import { keySdl } from "./keys/key-schema.graphql.ts";
import { registryAuthResolvers } from "./registry/registry-auth-resolvers.ts";
import { registryAuthSdl } from "./registry/registry-auth-schema.graphql.ts";
import { scalarResolvers, scalarSdl } from "./scalars.ts";
import { secretResolvers } from "./secrets/secret-resolvers.ts";
import { secretSdl } from "./secrets/secret-schema.graphql.ts";
import { templateResolvers } from "./templates/template-resolvers.ts";
import { templateSdl } from "./templates/template-schema.graphql.ts";
import { webhookResolvers } from "./webhooks/webhook-resolvers.ts";
import { webhookSdl } from "./webhooks/webhook-schema.graphql.ts";

/** The management API: one SDL and one set of resolvers per noun. */
export const managementSchema = makeExecutableSchema({
  typeDefs: [
    scalarSdl,
    accountSdl,
    keySdl,
    auditSdl,
    templateSdl,
    endpointSdl,
    hostSdl,
    webhookSdl,
    secretSdl,
    registryAuthSdl,
    encryptionSdl,
  ],
  resolvers: [
    scalarResolvers,
    accountResolvers,
    keyResolvers,
    auditResolvers,
    templateResolvers,
    endpointResolvers,
    hostResolvers,
    webhookResolvers,
    secretResolvers,
    registryAuthResolvers,
    encryptionResolvers,
  ],
});

// What a mutation changes is noted under the name of its field.
for (const [operation, field] of Object.entries(managementSchema.getMutationType()?.getFields() ?? {})) {
  field.resolve = withOperation(operation, field.resolve);
}

type Resolver = GraphQLFieldResolver<unknown, RequestContext>;

function withOperation(operation: string, resolve: Resolver | undefined): Resolver | undefined {
  return resolve && ((parent, args, context, info) => resolve(parent, args, { ...context, operation }, info));
}
