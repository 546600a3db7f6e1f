/**
 * What the key of a flash environment opens here: what its workers query to find each other.
 *
 * E1  A document may select only the listed fields, so that fields added to the schema stay closed.
 * E2  The environment must be that of the key, and the build one that runs there.
 */
import {
  TypeInfo,
  visit,
  visitWithTypeInfo,
  type DocumentNode,
  type GraphQLFieldResolver,
  type GraphQLSchema,
} from "graphql";
import { outsideEnvironment } from "../auth/environment-principal.ts";
import { isBuildOf } from "../management/flash/environments.ts";
import type { ServiceError } from "../contract/errors.ts";
import type { GraphqlContext } from "./context.ts";

const FIELDS: ReadonlyMap<string, ReadonlySet<string>> = new Map<string, ReadonlySet<string>>(
  Object.entries({
    Query: new Set(["flashEnvironment", "flashBuild"]),
    FlashEnvironment: new Set(["id", "name", "state", "activeBuildId", "createdAt"]),
    FlashBuild: new Set(["id", "sha256", "sizeBytes", "manifest", "createdAt"]),
  }),
);

/** Why the key of an environment may not execute a document; undefined if it may (E1). */
export function environmentAccessError(
  schema: GraphQLSchema,
  document: DocumentNode,
): ServiceError | undefined {
  const types = new TypeInfo(schema);
  let forbidden: string | undefined;
  const visitor = {
    Field: ({ name: { value: field } }: { readonly name: { readonly value: string } }) => {
      const type = types.getParentType()?.name ?? "";
      if (field !== "__typename" && !FIELDS.get(type)?.has(field)) forbidden ??= field;
    },
  };
  visit(document, visitWithTypeInfo(types, visitor));
  return forbidden === undefined ? undefined : outsideEnvironment(`field '${forbidden}'`);
}

type Resolver = GraphQLFieldResolver<unknown, GraphqlContext>;
type Identified = { readonly id: string } | null | undefined;
type IsWithin = (context: GraphqlContext, environmentId: string, id: string) => boolean | Promise<boolean>;

/** Limits callers that are bound to an environment to what belongs to it (E2). */
export function bindToEnvironment(schema: GraphQLSchema): void {
  const fields = schema.getQueryType()?.getFields();
  bind(fields?.["flashEnvironment"], (_context, environmentId, id) => id === environmentId);
  bind(fields?.["flashBuild"], isBuildOf);
}

function bind(field: { name: string; resolve?: Resolver | undefined } | undefined, isWithin: IsWithin): void {
  if (field === undefined) return;
  const { resolve } = field;
  field.resolve = async (parent, args, context, info): Promise<unknown> => {
    const found: unknown = await resolve?.(parent, args, context, info);
    const bound = context.principal.flashEnvironmentId;
    if (bound === undefined) return found;
    const id = (found as Identified)?.id;
    // The same error whether it exists elsewhere or not.
    if (id === undefined || !(await isWithin(context, bound, id)))
      throw outsideEnvironment(`this ${field.name}`);
    return found;
  };
}
