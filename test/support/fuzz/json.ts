/** Random JSON for a JSON schema, as text: mostly what fits, now and then what does not. */
import type { Chance } from "./chance.ts";
import { HOSTILE_JSON, numberFor, type World } from "./world.ts";

export type JsonSchema = {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: JsonSchema | boolean;
};

type Place = {
  readonly world: World;
  /** The path of the request. */
  readonly place: string;
  readonly name: string;
  readonly wrongness: number;
};

const ODD_NUMBERS = ["-1", "1.5", "2147483648"];

export function writeJson(chance: Chance, schema: JsonSchema, place: Place): string {
  if (chance.is(place.wrongness)) return chance.pick(HOSTILE_JSON);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return writeJson(chance, chance.pick(choices), place);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return JSON.stringify(chance.pick(schema.enum));
  return writeValue(chance, chance.pick([schema.type ?? "object"].flat()), schema, place);
}

function writeValue(chance: Chance, type: string, schema: JsonSchema, place: Place): string {
  switch (type) {
    case "string":
      return JSON.stringify(place.world.text(chance, place.name, place.wrongness, place.place));
    case "integer":
    case "number":
      return chance.is(0.05) ? chance.pick(ODD_NUMBERS) : numberFor(chance, place.name);
    case "boolean":
      return chance.pick(["true", "false"]);
    case "array": {
      const elements = Array.from({ length: chance.below(4) }, () =>
        writeJson(chance, schema.items ?? {}, place),
      );
      return `[${elements.join(",")}]`;
    }
    case "null":
      return "null";
    default:
      return writeObject(chance, schema, place);
  }
}

function writeObject(chance: Chance, schema: JsonSchema, place: Place): string {
  const { properties = {}, required = [], additionalProperties } = schema;
  const members = Object.entries(properties)
    .filter(([name]) => chance.is(required.includes(name) ? 0.95 : 0.2))
    .map(([name, member]) => `${JSON.stringify(name)}:${writeJson(chance, member, { ...place, name })}`);
  if (typeof additionalProperties === "object" && chance.is(0.5)) {
    members.push(`"KEY":${writeJson(chance, additionalProperties, place)}`);
  }
  return `{${members.join(",")}}`;
}
