/** What operations of queues and of routes have in common. */
import type { ManifestParameter } from "../../../src/contract/flash/flash-manifest.ts";
import { type Schema, schemaOf } from "./annotation-schema.ts";

/** By address, then by method. */
export type Paths = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** An object with the parameters as its members. */
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

/** Those that a caller can name. */
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

export const INVALID_ARGUMENTS = { description: "The arguments do not fit.", content: jsonContent(DETAIL) };
export const UNAVAILABLE = { description: "Nothing can answer the call now; `detail` says why." };
