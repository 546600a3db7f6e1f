/** Documents that select all there is of an account, whatever the schema has grown by. */
import {
  getNamedType,
  isLeafType,
  isObjectType,
  isRequiredArgument,
  parse,
  validate,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLObjectType,
} from "graphql";
import { managementSchema } from "../../src/graphql/schema.ts";

type Field = GraphQLField<unknown, unknown>;

/** What is the same for everybody, what tells of time, and what is asked of a few endpoints at a time. */
const NOT_OF_ACCOUNT =
  /^(gpuTypes|cpuFlavors|dataCenters|countryCodes|serverlessGpuPools|lastUsedAt|lastSeenAt|metrics|releases|activeArtifact)$/;

/** All that stands below these in one document would be refused for its cost: of these types leaves are shown. */
const BRIEFLY: Readonly<Record<string, readonly string[]>> = { flashApps: ["Endpoint", "NetworkVolume"] };

/** One document for each field of the account, so that none is refused for its size. */
export function documentsOfAccount(): readonly string[] {
  const user = managementSchema.getType("User") as GraphQLObjectType;
  return listsOf(user).map((field) => checked(`{ myself ${selectionOf(field, ["User"])} }`));
}

/** All that the account can ask for without naming anything: its own things, and lists beside `myself`. */
export function documentsOfCaller(): readonly string[] {
  const query = managementSchema.getQueryType() as GraphQLObjectType;
  const beside = listsOf(query).filter((field) => field.name !== "myself");
  return [...documentsOfAccount(), ...beside.map((field) => checked(selectionOf(field, [])))];
}

function listsOf(type: GraphQLObjectType): readonly Field[] {
  return Object.values(type.getFields()).filter(
    (field) => isSelected(field) && !isLeafType(getNamedType(field.type)) && !isOfOneId(field),
  );
}

function isSelected(field: Field): boolean {
  return !NOT_OF_ACCOUNT.test(field.name) && !field.args.some(isRequiredArgument);
}

function isOfOneId(field: Field): boolean {
  return field.args.some(({ name }) => /id$/i.test(name));
}

function selectionOf(field: Field, around: readonly string[]): string {
  const brief = BRIEFLY[field.name] ?? [];
  return `{ ${field.name} ${everythingOf(getNamedType(field.type), around, brief)} }`;
}

/** Everything below a type, lists within lists too, but no type within itself. */
function everythingOf(type: GraphQLNamedType, around: readonly string[], brief: readonly string[]): string {
  if (!isObjectType(type)) return "";
  const selections = Object.values(type.getFields())
    .filter((field) => isSelected(field) && !around.includes(getNamedType(field.type).name))
    .filter((field) => isLeafType(getNamedType(field.type)) || !brief.includes(type.name))
    .map((field) => {
      const inner = getNamedType(field.type);
      if (isLeafType(inner)) return field.name;
      return `${field.name} ${everythingOf(inner, [...around, type.name], brief)}`;
    });
  return `{ ${["__typename", ...selections].join(" ")} }`;
}

function checked(document: string): string {
  const faults = validate(managementSchema, parse(document));
  if (faults.length > 0) throw new Error(`${document}: ${faults.join("; ")}`);
  return document;
}
