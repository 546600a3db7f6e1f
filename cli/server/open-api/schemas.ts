/** JSON Schema of parameters and of what their Python annotations take. */
import type { ManifestParameter } from "../../../src/contract/flash/flash-manifest.ts";

/** By path, then by method. */
export type Paths = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** Schema of an object with the parameters as members. */
export function argumentsSchema(parameters: readonly ManifestParameter[]): Schema {
  const named = namedParameters(parameters);
  const required = named.filter(({ isRequired }) => isRequired).map(({ name }) => name);
  return {
    type: "object",
    properties: Object.fromEntries(named.map((parameter) => [parameter.name, parameterSchema(parameter)])),
    ...(required.length > 0 && { required }),
    additionalProperties: parameters.some(({ kind }) => kind === "var_keyword"),
  };
}

/** Parameters that a caller can name. */
export function namedParameters(parameters: readonly ManifestParameter[]): readonly ManifestParameter[] {
  return parameters.filter(({ kind }) => kind === "positional" || kind === "keyword");
}

export function parameterSchema({ annotation, default: value }: ManifestParameter): Schema {
  return { ...schemaOf(annotation), ...(value !== undefined && { default: value }) };
}

/** Letters, digits, `-` and `_`. */
export function operationId(...parts: readonly string[]): string {
  return parts.join("_").replaceAll(/[^\w-]+/g, "_");
}

export function jsonContent(schema: Schema, more: object = {}): object {
  return { "application/json": { schema, ...more } };
}

const DETAIL: Schema = {
  type: "object",
  properties: {
    detail: {
      type: "array",
      items: {
        type: "object",
        properties: { loc: { type: "array" }, msg: { type: "string" }, type: { type: "string" } },
      },
    },
  },
};

export const INVALID_ARGUMENTS = { description: "The arguments are invalid.", content: jsonContent(DETAIL) };
export const UNAVAILABLE = { description: "The call cannot be answered now; `detail` says why." };

export type Schema = Readonly<Record<string, unknown>>;

const ANYTHING: Schema = {};
const PLAIN: ReadonlyMap<string, Schema> = new Map<string, Schema>(
  Object.entries({
    int: { type: "integer" },
    float: { type: "number" },
    bool: { type: "boolean" },
    str: { type: "string" },
    bytes: { type: "string", format: "binary" },
    none: { type: "null" },
  }),
);
const LISTS = ["list", "sequence", "tuple", "set", "frozenset", "iterable"];
const OBJECTS = ["dict", "mapping", "typeddict"];

/** Schema of a Python annotation as written by `ast.unparse`; allows anything where it is not a plain one. */
export function schemaOf(annotation: string | null): Schema {
  const written = (annotation ?? "").trim();
  const unquoted = isQuoted(written) ? written.slice(1, -1) : written;
  const choices = splitOutside(unquoted, "|");
  if (choices.length > 1) return anyOf(choices.map(schemaOf));
  const [, name = "", within = ""] =
    /^(?:(?:typing|t|typing_extensions|collections\.abc)\.)?(\w+)(?:\[(.*)\])?$/s.exec(unquoted) ?? [];
  return schemaOfNamed(name.toLowerCase(), splitOutside(within, ","));
}

export function isBinary(annotation: string | null): boolean {
  return JSON.stringify(schemaOf(annotation)).includes('"binary"');
}

function schemaOfNamed(name: string, within: readonly string[]): Schema {
  const [first, second] = within;
  if (LISTS.includes(name)) return { type: "array", items: first ? schemaOf(first) : ANYTHING };
  if (OBJECTS.includes(name))
    return { type: "object", ...(second && { additionalProperties: schemaOf(second) }) };
  if (name === "optional") return anyOf([schemaOf(first ?? null), { type: "null" }]);
  if (name === "union") return anyOf(within.map(schemaOf));
  if (name === "annotated") return schemaOf(first ?? null);
  if (name === "literal") return { enum: within.map(literalValue) };
  return PLAIN.get(name) ?? ANYTHING;
}

function anyOf(schemas: readonly Schema[]): Schema {
  return schemas.includes(ANYTHING) ? ANYTHING : { anyOf: schemas };
}

function literalValue(text: string): unknown {
  if (isQuoted(text)) return text.slice(1, -1);
  if (text === "None") return null;
  if (text === "True" || text === "False") return text === "True";
  return Number.isNaN(Number(text)) ? text : Number(text);
}

function isQuoted(text: string): boolean {
  const quote = text.charAt(0);
  return (quote === "'" || quote === '"') && text.length > 1 && text.endsWith(quote);
}

/** Splits at separators outside of brackets and quotes. */
function splitOutside(text: string, separator: string): readonly string[] {
  const parts = [""];
  let depth = 0;
  let quote = "";
  for (const character of text) {
    if (quote !== "") quote = character === quote ? "" : quote;
    else if (character === "'" || character === '"') quote = character;
    else if (character === "[") depth += 1;
    else if (character === "]") depth -= 1;
    else if (character === separator && depth === 0) {
      parts.push("");
      continue;
    }
    parts[parts.length - 1] += character;
  }
  return parts.map((part) => part.trim()).filter((part) => part !== "");
}
