import { GraphQLScalarType, Kind, valueFromASTUntyped } from "graphql";

export const scalarSdl = /* GraphQL */ `
  scalar DateTime
  scalar JSON
  scalar Void
  scalar Compliance
`;

export const scalarResolvers = {
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
