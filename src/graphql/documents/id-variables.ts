/**
 * Variables for ids. Some clients declare them `ID`, others `String`, and both mean the same text: where one of the
 * two is expected, a variable of the other fits as well.
 */
import {
  GraphQLID,
  GraphQLNonNull,
  GraphQLString,
  isNonNullType,
  Kind,
  specifiedRules,
  VariablesInAllowedPositionRule,
  type OperationDefinitionNode,
  type TypeNode,
  type ValidationContext,
  type ValidationRule,
} from "graphql";

type Usage = ReturnType<ValidationContext["getRecursiveVariableUsages"]>[number];
type UsageType = Usage["type"];

/** The rules of the specification, but for this one difference. */
export const DOCUMENT_RULES: readonly ValidationRule[] = specifiedRules.map((rule) =>
  rule === VariablesInAllowedPositionRule ? VariablesInInterchangeablePositionRule : rule,
);

/** The rule of the specification, which sees the type that the document declares where the two meet. */
function VariablesInInterchangeablePositionRule(context: ValidationContext) {
  const seen: ValidationContext = Object.create(context, {
    getRecursiveVariableUsages: {
      value: (operation: OperationDefinitionNode): readonly Usage[] => {
        const declared = declaredTypes(operation);
        return context
          .getRecursiveVariableUsages(operation)
          .map((usage) => ({ ...usage, type: asDeclared(usage.type, declared.get(usage.node.name.value)) }));
      },
    },
  });
  return VariablesInAllowedPositionRule(seen);
}

function declaredTypes({ variableDefinitions = [] }: OperationDefinitionNode): ReadonlyMap<string, string> {
  return new Map(variableDefinitions.map(({ variable, type }) => [variable.name.value, nameOf(type)]));
}

function nameOf(type: TypeNode): string {
  if (type.kind === Kind.NON_NULL_TYPE) return nameOf(type.type);
  return type.kind === Kind.NAMED_TYPE ? type.name.value : "";
}

function asDeclared(expected: UsageType, declared: string | undefined): UsageType {
  if (isNonNullType(expected)) {
    const inner = asDeclared(expected.ofType, declared);
    return inner === expected.ofType ? expected : new GraphQLNonNull(inner as typeof GraphQLID);
  }
  if (expected === GraphQLID && declared === GraphQLString.name) return GraphQLString;
  return expected === GraphQLString && declared === GraphQLID.name ? GraphQLID : expected;
}
