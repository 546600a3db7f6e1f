/** How arguments are read: a schema per input, and errors that name the field at fault. */
import * as z from "zod";
import { invalidInput } from "../contract/validation-issues.ts";
import { ROW_MAX_BYTES } from "../contract/limits.ts";
import { nameSchema as restNameSchema, stringSchema } from "../contract/rest/rest.ts";
import { START_LIMIT_VARIABLE, startLimitIssue } from "../domain/scaling/start-limit.ts";
import { ServiceError } from "../contract/errors.ts";

/** Variables in one list of a template or an endpoint. */
const ENVIRONMENT_VARIABLES_MAX = 50;

export { oneOf, stringSchema, wholeNumber } from "../contract/rest/rest.ts";

/** The id of an object. */
export const idSchema = stringSchema.min(1, "must not be empty");

/** For operations that take nothing but an id. */
export const onlyIdSchema = z.object({ id: idSchema });

/** Reads an argument, or throws an error that names all invalid fields. */
export function parseInput<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const parsed = schema.safeParse(input ?? {});
  if (parsed.success) return parsed.data;
  throw invalidInput(parsed.error);
}

/** An omitted or null field of a patch: the stored value stays. */
export function optional<Schema extends z.ZodType>(schema: Schema) {
  return z.preprocess((value) => value ?? undefined, schema.optional());
}

/** Like optional, and an empty string stays out as well. */
export function optionalNonEmpty<Schema extends z.ZodType>(schema: Schema) {
  return z.preprocess((value) => value || undefined, schema.optional());
}

/** A field of a patch that null or an empty string clears; omitted, it stays. */
export function clearable<Schema extends z.ZodType>(schema: Schema) {
  return z.preprocess((value) => (value === "" ? null : value), schema.nullable().optional());
}

/** Lists may contain nulls, as their GraphQL types allow; they are ignored. */
export function listOf<Schema extends z.ZodType>(schema: Schema) {
  return z.preprocess(
    (list) => (Array.isArray(list) ? list.filter((element) => element !== null) : list),
    z.array(schema),
  );
}

export const nameSchema = restNameSchema.refine(
  (name) => !/\p{Cc}/u.test(name),
  "must have no control characters",
);

/** Text for a process: in its arguments and variables NUL would be the end. */
export const processString = stringSchema.refine((value) => !value.includes("\0"), "must not contain NUL");

/** Rejects values that would make a row larger than D1 can store; each field alone may be as large as a body. */
export function requireStorable(values: object): void {
  const sizes = Object.entries(values).map(([field, value]) => ({ field, bytes: storedBytes(value) }));
  const bytes = sizes.reduce((sum, size) => sum + size.bytes, 0);
  if (bytes <= ROW_MAX_BYTES) return;
  const largest = sizes.toSorted((a, b) => b.bytes - a.bytes)[0]?.field ?? "";
  throw new ServiceError(
    "invalid_input",
    `${largest}: brings the object to ${bytes} bytes; at most ${ROW_MAX_BYTES} can be stored`,
  );
}

function storedBytes(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value) ?? "").length;
}

const variableSchema = z.object({
  key: z
    .string("must be a string")
    .min(1, "must not be empty")
    .regex(/^[^=\s\0]+$/, "must not contain =, NUL or blanks, since no program could read it"),
  value: z.preprocess((value) => value ?? "", processString),
});

export const environmentSchema = z
  .array(
    variableSchema.superRefine(({ key, value }, check) => {
      const message = key === START_LIMIT_VARIABLE ? startLimitIssue(value) : undefined;
      if (message !== undefined) check.addIssue({ code: "custom", path: ["value"], message });
    }),
  )
  .max(ENVIRONMENT_VARIABLES_MAX, `must have at most ${ENVIRONMENT_VARIABLES_MAX} variables`);
