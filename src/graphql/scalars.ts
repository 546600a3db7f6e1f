import { GraphQLScalarType, Kind, valueFromASTUntyped } from "graphql";

export const scalarSdl = /* GraphQL */ `
  "ISO 8601 text."
  scalar DateTime
  "Any JSON value."
  scalar JSON
  "Result of operations that answer null. A leaf, so clients select nothing."
  scalar Void
  "Compliance label; accepted as text or as an enum word."
  scalar Compliance
`;

export const scalarResolvers = {
  DateTime: new GraphQLScalarType({
    name: "DateTime",
    coerceOutputValue: (at) => new Date(Number(at)).toISOString(),
  }),

  JSON: new GraphQLScalarType({ name: "JSON" }),

  Void: new GraphQLScalarType({ name: "Void", coerceOutputValue: () => null }),

  Compliance: new GraphQLScalarType({
    name: "Compliance",
    coerceInputValue: requireWord,
    coerceInputLiteral: (node) =>
      requireWord(node.kind === Kind.ENUM ? node.value : valueFromASTUntyped(node)),
  }),
};

function requireWord(value: unknown): string {
  if (typeof value !== "string") throw new TypeError("Compliance must be a word.");
  return value;
}
