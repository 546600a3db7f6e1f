import { makeExecutableSchema } from "@graphql-tools/schema";
import type { GraphQLFieldResolver } from "graphql";
import type { RequestContext } from "../management/context.ts";
import { accountResolvers } from "./account/account-resolvers.ts";
import { accountSdl } from "./account/account-schema.graphql.ts";
import { catalogResolvers } from "./catalog/catalog-resolvers.ts";
import { catalogSdl } from "./catalog/catalog-schema.graphql.ts";
import { endpointResolvers } from "./endpoints/endpoint-resolvers.ts";
import { endpointSdl } from "./endpoints/endpoint-schema.graphql.ts";
import { flashResolvers } from "./flash/flash-resolvers.ts";
import { flashSdl } from "./flash/flash-schema.graphql.ts";
import { hostResolvers } from "./hosts/host-resolvers.ts";
import { hostSdl } from "./hosts/host-schema.graphql.ts";
import { podResolvers } from "./pods/pod-resolvers.ts";
import { podSdl } from "./pods/pod-schema.graphql.ts";
import { scalarResolvers, scalarSdl } from "./scalars.ts";
import { templateResolvers } from "./templates/template-resolvers.ts";
import { templateSdl } from "./templates/template-schema.graphql.ts";
import { volumeResolvers } from "./volumes/volume-resolvers.ts";
import { volumeSdl } from "./volumes/volume-schema.graphql.ts";
import { webhookResolvers } from "./webhooks/webhook-resolvers.ts";
import { webhookSdl } from "./webhooks/webhook-schema.graphql.ts";

/** The management API: one SDL and one set of resolvers per noun. */
export const managementSchema = makeExecutableSchema({
  typeDefs: [
    scalarSdl,
    accountSdl,
    catalogSdl,
    endpointSdl,
    flashSdl,
    hostSdl,
    podSdl,
    templateSdl,
    volumeSdl,
    webhookSdl,
  ],
  resolvers: [
    scalarResolvers,
    accountResolvers,
    catalogResolvers,
    endpointResolvers,
    flashResolvers,
    hostResolvers,
    podResolvers,
    templateResolvers,
    volumeResolvers,
    webhookResolvers,
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
