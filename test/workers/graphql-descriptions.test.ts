/** The schema is what people read: whatever its name does not say, a description does. */
import {
  isInputObjectType,
  isIntrospectionType,
  isObjectType,
  isScalarType,
  isSpecifiedScalarType,
  type GraphQLNamedType,
} from "graphql";
import { test } from "vitest";
import { managementSchema } from "../../src/graphql/schema.ts";

/** Inputs whose names say all, or which are ignored. */
const EXPLAINED_ELSEWHERE = /^SavingsPlan/;
/** `id`, `templateId`: the id of what the name says. */
const NAMES_AN_ID = /(?:^id|Id)$/;
/** A description that covers its neighbours as well. */
const SPEAKS_FOR_MORE = /as the (?:fields|operations) below/;

/** `Query.gpuTypes`, `EndpointInput.name`, `DateTime`: all that neither a name nor a description explains. */
function silentParts(type: GraphQLNamedType): string[] {
  if (isScalarType(type)) return isSpecifiedScalarType(type) || type.description ? [] : [type.name];
  const isRoot = isObjectType(type) && ["Query", "Mutation"].includes(type.name);
  const isInput = isInputObjectType(type) && !EXPLAINED_ELSEWHERE.test(type.name);
  if (!isRoot && !isInput) return [];
  let latest = "";
  return Object.values(type.getFields()).flatMap(({ name, description }) => {
    latest = description ?? latest;
    const isExplained = Boolean(description) || SPEAKS_FOR_MORE.test(latest) || NAMES_AN_ID.test(name);
    return isExplained ? [] : [`${type.name}.${name}`];
  });
}

test("every operation, input field and scalar of our own is described or named after what it is", ({
  expect,
}) => {
  const types = Object.values(managementSchema.getTypeMap()).filter((type) => !isIntrospectionType(type));
  expect(types.flatMap(silentParts)).toEqual([]);
});
