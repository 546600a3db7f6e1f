import { makeExecutableSchema } from "@graphql-tools/schema";
import { GraphQLScalarType, Kind, valueFromASTUntyped, type GraphQLFieldResolver } from "graphql";
import { accountResolvers, accountSdl } from "./account/account.ts";
import { keyResolvers, keySdl } from "./account/api-keys.ts";
import { auditResolvers, auditSdl } from "./account/audit-log.ts";
import { budgetResolvers, budgetSdl } from "./account/budgets.ts";
import { signInResolvers, signInSdl } from "./account/sign-ins.ts";
import { usageResolvers, usageSdl } from "./account/usage.ts";
import { catalogResolvers } from "./compute/catalog-resolvers.ts";
import { catalogSdl } from "./compute/catalog-schema.graphql.ts";
import { hostResolvers, hostSdl } from "./compute/hosts.ts";
import { hostedContentResolvers, hostedContentSdl } from "./compute/hosted-content.ts";
import { clusterResolvers } from "./compute/cluster-resolvers.ts";
import { podResolvers } from "./compute/pod-resolvers.ts";
import { podSdl } from "./compute/pod-schema.graphql.ts";
import type { GraphqlContext } from "./context.ts";
import { endpointResolvers, endpointSdl } from "./endpoints/endpoints.ts";
import { volumeResolvers, volumeSdl } from "./endpoints/network-volumes.ts";
import { registryAuthResolvers, registryAuthSdl } from "./endpoints/registry-auths.ts";
import { secretResolvers, secretSdl } from "./endpoints/secrets.ts";
import { templateResolvers, templateSdl } from "./endpoints/templates.ts";
import { webhookResolvers, webhookSdl } from "./endpoints/webhooks.ts";
import { bindToEnvironment } from "./environment-access.ts";
import { flashResolvers } from "./flash/flash-resolvers.ts";
import { flashSdl } from "./flash/flash-schema.graphql.ts";
import { loginResolvers, loginSdl } from "./flash/login.ts";

const scalarSdl = /* GraphQL */ `
  scalar DateTime
  scalar JSON
  scalar Void
  scalar Compliance
`;

const scalarResolvers = {
  DateTime: new GraphQLScalarType({
    name: "DateTime",
    description: "A time in ISO 8601.",
    coerceOutputValue: (at) => new Date(Number(at)).toISOString(),
  }),

  JSON: new GraphQLScalarType({ name: "JSON", description: "Any JSON value." }),

  Void: new GraphQLScalarType({
    name: "Void",
    description: "Result of operations that answer null. A leaf, so clients select nothing.",
    coerceOutputValue: () => null,
  }),

  Compliance: new GraphQLScalarType({
    name: "Compliance",
    description: "Compliance label; accepted as a string or as an enum value.",
    coerceInputValue: requireLabel,
    coerceInputLiteral: (node) =>
      requireLabel(node.kind === Kind.ENUM ? node.value : valueFromASTUntyped(node)),
  }),
};

function requireLabel(value: unknown): string {
  if (typeof value !== "string") throw new TypeError("Compliance must be a string or an enum value.");
  return value;
}

/** The management API: one SDL and one set of resolvers per noun. */
export const managementSchema = makeExecutableSchema({
  typeDefs: [
    scalarSdl,
    accountSdl,
    keySdl,
    signInSdl,
    auditSdl,
    catalogSdl,
    endpointSdl,
    flashSdl,
    loginSdl,
    hostSdl,
    podSdl,
    hostedContentSdl,
    templateSdl,
    volumeSdl,
    webhookSdl,
    secretSdl,
    registryAuthSdl,
    usageSdl,
    budgetSdl,
  ],
  resolvers: [
    scalarResolvers,
    accountResolvers,
    keyResolvers,
    signInResolvers,
    auditResolvers,
    catalogResolvers,
    endpointResolvers,
    flashResolvers,
    loginResolvers,
    hostResolvers,
    podResolvers,
    clusterResolvers,
    hostedContentResolvers,
    templateResolvers,
    volumeResolvers,
    webhookResolvers,
    secretResolvers,
    registryAuthResolvers,
    usageResolvers,
    budgetResolvers,
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
