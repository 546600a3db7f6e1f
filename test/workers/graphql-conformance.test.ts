/** The schema that clients know against ours, and every operation of ours against the wire. */
import {
  buildSchema,
  findBreakingChanges,
  getNamedType,
  isInputObjectType,
  isObjectType,
  type GraphQLField,
  type GraphQLObjectType,
} from "graphql";
import { describe, test } from "vitest";
import { managementSchema } from "../../src/graphql/schema.ts";
import { ERRORS, type ErrorCode, graphqlErrorCode } from "../../src/contract/errors.ts";
import clientSdl from "../clients/client-schema.graphql?raw";
import { freshClient, savedEndpoint, savedVolume, type Client } from "./graphql-client.ts";

/** Operations of the operator alone: other keys are refused, whatever they select. */
const OPERATORS: readonly string[] = ["accounts", "accountCreate"];

const KNOWN_CODES: ReadonlySet<string> = new Set((Object.keys(ERRORS) as ErrorCode[]).map(graphqlErrorCode));

describe("the schema", () => {
  test("every document that fits what the clients know fits ours", ({ expect }) => {
    const changes = findBreakingChanges(buildSchema(clientSdl), managementSchema);
    expect(changes.map(({ type, description }) => `${type}: ${description}`)).toEqual([]);
  });

  test("arguments and input fields are nullable and have no defaults", ({ expect }) => {
    const inputs = Object.values(managementSchema.getTypeMap()).filter(
      (type) => isInputObjectType(type) && !type.name.startsWith("__"),
    );
    const fields = inputs.flatMap((type) =>
      isInputObjectType(type) ? Object.values(type.getFields()).map((field) => ({ type, field })) : [],
    );
    const strict = fields.filter(
      ({ field }) => String(field.type).endsWith("!") || field.defaultValue !== undefined,
    );
    expect(strict.map(({ type, field }) => `${type.name}.${field.name}`)).toEqual([]);
    const operations = rootFields().flatMap(({ field }) => field.args);
    expect(operations.filter((argument) => String(argument.type).endsWith("!"))).toEqual([]);
  });
});

type Root = { readonly kind: "query" | "mutation"; readonly field: GraphQLField<unknown, unknown> };

function rootFields(): Root[] {
  const of = (kind: Root["kind"], type: GraphQLObjectType | null | undefined): Root[] =>
    Object.values(type?.getFields() ?? {}).map((field) => ({ kind, field }));
  return [
    ...of("query", managementSchema.getQueryType()),
    ...of("mutation", managementSchema.getMutationType()),
  ];
}

const DEPTH = 4;

/** For each place below a field down to DEPTH, a selection of all leaves of that place. */
function selections(field: GraphQLField<unknown, unknown>, depth = 1): string[] {
  const type = getNamedType(field.type);
  if (!isObjectType(type)) return [""];
  const fields = Object.values(type.getFields());
  const leaves = fields.filter((inner) => !isObjectType(getNamedType(inner.type)));
  const own = leaves.length === 0 ? "__typename" : leaves.map(({ name }) => name).join(" ");
  const deeper =
    depth === DEPTH
      ? []
      : fields
          .filter((inner) => isObjectType(getNamedType(inner.type)))
          .flatMap((inner) => selections(inner, depth + 1).map((selected) => `${inner.name}${selected}`));
  return [own, ...deeper].map((selected) => ` { ${selected} }`);
}

/** Without arguments, with empty ones, and with an id that is nobody's. */
function calls({ args }: GraphQLField<unknown, unknown>): string[] {
  if (args.length === 0) return [""];
  const filled = (argument: (typeof args)[number]) => {
    const type = getNamedType(argument.type);
    if (!isInputObjectType(type)) return `${argument.name}: "none"`;
    const ids = Object.values(type.getFields()).filter(({ name, type: of }) => {
      const isText = ["String", "ID"].includes(String(of));
      return isText && /(^id|Id|^name)$/.test(name);
    });
    return `${argument.name}: { ${ids.map(({ name }) => `${name}: "none"`).join(", ")} }`;
  };
  const isInput = args.some(({ type }) => isInputObjectType(getNamedType(type)));
  const fillable = args.filter(({ type }) => String(type) !== "Boolean");
  return ["", ...(isInput ? [`(${args[0]?.name}: {})`] : []), `(${fillable.map(filled).join(", ")})`];
}

/** Gives the account one of everything, so that selections reach something. */
async function furnish(client: Client): Promise<void> {
  const id = await savedVolume(client);
  await savedEndpoint(client, `, networkVolumeId: "${id}", networkVolumeIds: [{ networkVolumeId: "${id}" }]`);
}

describe("every operation", () => {
  test.for(rootFields().map((root) => [`${root.kind} ${root.field.name}`, root] as const))(
    "%s answers well, whatever is selected",
    async ([, { kind, field }], { expect }) => {
      const client = await freshClient();
      if (kind === "query") await furnish(client);
      for (const selected of selections(field)) {
        for (const call of calls(field)) {
          const document = `${kind} { ${field.name}${call}${selected} }`;
          const answer = await client.send(document);
          expect([document, answer.status]).toEqual([document, OPERATORS.includes(field.name) ? 401 : 200]);
          expect(answer.body).toHaveProperty(["data"]);
          for (const error of answer.errors ?? []) {
            expect([document, error.extensions.code]).not.toEqual([document, "INTERNAL"]);
            expect(KNOWN_CODES).toContain(error.extensions.code);
            expect(error.path[0]).toBe(field.name);
          }
        }
      }
    },
  );
});
