/** What all of REST v1 has in common. Unknown members of what clients send are dropped. */
import * as z from "zod";
import { CPU_FLAVORS } from "../../catalog/cpu-flavors.ts";
import { GPU_CARDS, GPU_TIERS, GPU_TIER_NAMES } from "../../catalog/gpu-cards.ts";
import { NAME_MAX_CHARACTERS } from "../limits.ts";

/** Some clients send "" for what they do not set. */
export function blankIsAbsent<Schema extends z.ZodType>(schema: Schema) {
  return z.preprocess((value) => (value === "" ? undefined : value), schema.nullish());
}

/** Some clients send 0 for what they do not set. */
export function zeroIsAbsent<Schema extends z.ZodType>(schema: Schema) {
  return z.preprocess((value) => (value === 0 ? undefined : value), schema.nullish());
}

/** A whole number within a range; the message states the range. */
export function wholeNumber(min: number, max?: number) {
  const number = z.number().int();
  if (max === undefined) return number.min(min, `must be at least ${min}`);
  const range = `must be between ${min} and ${max}`;
  return number.min(min, range).max(max, range);
}

/** One value of a list; the message states the list. */
export function oneOf<const Value extends string>(values: readonly Value[]) {
  return z.enum(values, `must be one of ${values.join(", ")}`);
}

export const stringSchema = z.string();
export const stringsSchema = z.array(stringSchema);

/** Strings that are stored as one comma list: none of them is a list itself. */
export const entriesSchema = z.array(stringSchema.regex(/^[^,]*$/, "must be one entry, without a comma"));

const GPU_TYPE_IDS: readonly string[] = GPU_TIER_NAMES.flatMap((tier) => [...GPU_TIERS[tier].models, tier]);

/** Cards that endpoints can request, and the tiers of cards that the other APIs know. */
export const gpuTypeIdsSchema = z.array(oneOf(GPU_TYPE_IDS));
/** The same with all other cards of the catalog, which only pods can request. */
export const podGpuTypeIdsSchema = z.array(
  oneOf([...new Set([...GPU_TYPE_IDS, ...GPU_CARDS.map(({ id }) => id)])]),
);
export const cpuFlavorIdsSchema = z.array(oneOf(CPU_FLAVORS.map(({ id }) => id)));

export const nameSchema = stringSchema
  .trim()
  .min(1, "must not be empty")
  .max(NAME_MAX_CHARACTERS, `must have at most ${NAME_MAX_CHARACTERS} characters`);

/** Schemas of records skip this name without an issue. */
const SKIPPED_NAME = "__proto__";

const variablesSchema = z.record(stringSchema.regex(/^[^=\s]+$/), stringSchema, {
  error: ({ code }) =>
    code === "invalid_key"
      ? "a name must not be empty or contain = or blanks"
      : "must be an object of strings",
});

export const environmentSchema = z
  .preprocess((sent, context) => {
    if (typeof sent === "object" && sent !== null && Object.hasOwn(sent, SKIPPED_NAME)) {
      context.addIssue(`a name must not be ${SKIPPED_NAME}`);
    }
    return sent;
  }, variablesSchema)
  .meta({
    description: "Environment variables of the container, by name.",
    example: { MODEL_ID: "stabilityai/sdxl-turbo" },
  });

/** What the caller should know of something that was done nevertheless. */
export const warningsSchema = z
  .array(z.object({ code: z.string().meta({ example: "secret_not_found" }), message: z.string() }))
  .optional()
  .meta({
    description: "In the answer to a change: what was stored, but will not work as it is. Absent if nothing.",
  });

/** A parameter of the query that is on or off. Some clients write True. */
export const switchSchema = z
  .string()
  .toLowerCase()
  .refine((value) => ["true", "1", "false", "0", ""].includes(value), "must be true or false")
  .transform((value) => value === "true" || value === "1")
  .optional()
  .meta({ override: { type: "boolean" } });

/** One that is off when it is absent. */
export const includeSchema = switchSchema.meta({ override: { type: "boolean", default: false } });

/** Body of every answer of REST v1 that is an error; readers differ in which member they look at. */
export const restErrorSchema = z
  .object({
    error: z.string(),
    message: z.string().meta({ description: "The same sentence: what happened and what to do." }),
    status: z.int().meta({ description: "The HTTP status.", example: 404 }),
    code: z
      .string()
      .meta({ description: "What it was, in one word for programs.", example: "template_not_found" }),
  })
  .meta({ id: "RestError" });
export type RestError = z.infer<typeof restErrorSchema>;
