import { makeExecutableSchema } from "@graphql-tools/schema";
import { accountResolvers } from "./account/account-resolvers.ts";
import { accountSdl } from "./account/account-schema.graphql.ts";
import { endpointResolvers } from "./endpoints/endpoint-resolvers.ts";
import { endpointSdl } from "./endpoints/endpoint-schema.graphql.ts";
import { hostResolvers } from "./hosts/host-resolvers.ts";
import { hostSdl } from "./hosts/host-schema.graphql.ts";
import { scalarResolvers, scalarSdl } from "./scalars.ts";
import { templateResolvers } from "./templates/template-resolvers.ts";
import { templateSdl } from "./templates/template-schema.graphql.ts";
import { webhookResolvers } from "./webhooks/webhook-resolvers.ts";
import { webhookSdl } from "./webhooks/webhook-schema.graphql.ts";

/** The management API: one SDL and one set of resolvers per noun. */
export const managementSchema = makeExecutableSchema({
  typeDefs: [scalarSdl, accountSdl, templateSdl, endpointSdl, hostSdl, webhookSdl],
  resolvers: [
    scalarResolvers,
    accountResolvers,
    templateResolvers,
    endpointResolvers,
    hostResolvers,
    webhookResolvers,
  ],
});
