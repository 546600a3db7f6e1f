/** Writes console/app/api/operations.ts, or prints it with --print: the console's GraphQL operations, checked against our schema, with their types. */
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  parse,
  print,
  typeFromAST,
  validate,
  type GraphQLInputType,
  type GraphQLOutputType,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from "graphql";

const FOLDER = join(dirname(dirname(fileURLToPath(import.meta.url))), "console/app/api");
const OPERATIONS_FILE = join(FOLDER, "operations.ts");

/** Loaded by its address: its types are those of another runtime. */
const SCHEMA = new URL("../src/graphql/schema.ts", import.meta.url).href;
const { managementSchema } = (await import(SCHEMA)) as { readonly managementSchema: GraphQLSchema };

const SCALARS = new Map([
  ["Int", "number"],
  ["Float", "number"],
  ["Boolean", "boolean"],
  ["JSON", "unknown"],
  ["Void", "null"],
]);

/** The content of the file. */
function consoleOperations(): string {
  const document = parse(readFileSync(join(FOLDER, "operations.graphql"), "utf8"));
  const problems = validate(managementSchema, document);
  if (problems.length > 0) throw new Error(problems.map(String).join("\n"));
  const operations = document.definitions.filter(
    (definition) => definition.kind === Kind.OPERATION_DEFINITION,
  );
  return [
    "/** Generated from operations.graphql and our schema: node scripts/console-operations.ts */",
    "",
    "/** A document, and what goes in and comes out. */",
    "export type Operation<Data, Variables> = string & { readonly data?: Data; readonly variables?: Variables };",
    ...operations.map(declarationsOf),
    "",
  ].join("\n");
}

function declarationsOf(operation: OperationDefinitionNode): string {
  const name = operation.name?.value ?? "";
  const root = managementSchema.getRootType(operation.operation);
  if (!root) throw new Error(`${name} has no root type`);
  const variables = (operation.variableDefinitions ?? []).map(({ variable, type }) => {
    const input = typeFromAST(managementSchema, type as never) as GraphQLInputType | undefined;
    if (!input) throw new Error(`${name}: $${variable.name.value} has no type`);
    return `readonly ${variable.name.value}?: ${inputType(input)}`;
  });
  const constant = name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase();
  const text = print({ kind: Kind.DOCUMENT, definitions: [operation] }).replaceAll(/\s+/g, " ");
  return `
export type ${name} = ${objectType(root, operation.selectionSet)};
export const ${constant}: Operation<${name}, { ${variables.join("; ")} }> =
  ${JSON.stringify(text.trim())};`;
}

function objectType(type: GraphQLOutputType, { selections }: SelectionSetNode): string {
  if (!isObjectType(type)) throw new Error(`${String(type)} is no object`);
  const members = selections.map((selection) => {
    if (selection.kind !== Kind.FIELD) throw new Error("Fragments are not supported here.");
    const field = type.getFields()[selection.name.value];
    if (!field) throw new Error(`${type.name} has no ${selection.name.value}`);
    const alias = selection.alias?.value ?? selection.name.value;
    return `readonly ${alias}: ${outputType(field.type, selection.selectionSet)}`;
  });
  return `{ ${members.join("; ")} }`;
}

function outputType(type: GraphQLOutputType, selected: SelectionSetNode | undefined): string {
  const inner = getNullableType(type);
  const written = isListType(inner)
    ? listType(inner.ofType as GraphQLOutputType, selected)
    : selected
      ? objectType(inner as GraphQLOutputType, selected)
      : leafType(getNamedType(inner));
  return isNonNullType(type) || written === "null" || written === "unknown" ? written : `${written} | null`;
}

/** Only a union of types needs parentheses. */
function listType(element: GraphQLOutputType, selected: SelectionSetNode | undefined): string {
  const written = outputType(element, selected);
  const isUnion = !isNonNullType(element) || isEnumType(getNamedType(element));
  return `readonly ${isUnion ? `(${written})` : written}[]`;
}

function inputType(type: GraphQLInputType): string {
  const inner = getNullableType(type);
  if (isListType(inner)) return `readonly (${inputType(inner.ofType as GraphQLInputType)})[] | null`;
  if (!isInputObjectType(inner)) return `${leafType(inner)} | null`;
  const members = Object.values(inner.getFields()).map(
    (field) => `readonly ${field.name}?: ${inputType(field.type)}`,
  );
  return `{ ${members.join("; ")} } | null`;
}

function leafType(type: unknown): string {
  if (isEnumType(type))
    return type
      .getValues()
      .map(({ name }) => JSON.stringify(name))
      .join(" | ");
  return SCALARS.get(String(type)) ?? "string";
}

if (process.argv.includes("--print")) process.stdout.write(consoleOperations());
else writeFileSync(OPERATIONS_FILE, consoleOperations());
