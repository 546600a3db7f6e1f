/** Reads the bodies of REST requests and names their invalid fields. */
import type * as z from "zod";
import { ServiceError } from "../../contract/errors.ts";
import { CONTROL_BODY_MAX_BYTES } from "../../contract/limits.ts";
import { parseInput } from "../../management/input-schemas.ts";
import { readJson, requireObject } from "../body.ts";
import type { RestContext } from "./context.ts";
import { nearestWord } from "./nearest-word.ts";

/**
 * Reads a JSON object. Rejects fields that are neither in the schema nor in the answer of the operation, so that
 * clients may send back what they received.
 */
export async function readInput<Schema extends z.ZodObject>(
  context: RestContext,
  schema: Schema,
  returned: z.ZodObject,
): Promise<z.output<Schema>> {
  const body = await readObject(context);
  rejectUnknown(Object.keys(body), Object.keys(schema.shape), Object.keys(returned.shape));
  return parseInput(schema, body);
}

function rejectUnknown(
  fields: readonly string[],
  accepted: readonly string[],
  returned: readonly string[],
): void {
  const unknown = fields.filter((field) => !accepted.includes(field) && !returned.includes(field));
  if (unknown.length === 0) return;
  const issues = unknown.map((field) => {
    const nearest = nearestWord(field, accepted);
    return `${field}: there is no such field${nearest === undefined ? "." : `; did you mean ${nearest}?`}`;
  });
  throw new ServiceError("invalid_input", `${issues.join(" ")} Fields: ${accepted.join(", ")}`);
}

/** Reads a JSON object and ignores unknown fields. */
export async function readLooseInput<Schema extends z.ZodType>(
  context: RestContext,
  schema: Schema,
): Promise<z.output<Schema>> {
  return parseInput(schema, await readObject(context));
}

/** An empty body has no fields. */
async function readObject(context: RestContext): Promise<Readonly<Record<string, unknown>>> {
  return requireObject((await readJson(context.req.raw, CONTROL_BODY_MAX_BYTES)) ?? {});
}
