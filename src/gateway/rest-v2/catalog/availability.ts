/** How the catalog is asked what is in stock, and how it says so. */
import * as z from "zod";
import { ServiceError } from "../../../contract/errors.ts";
import type { StockStatus } from "../../../domain/placement/stock.ts";
import { oneOf } from "../../../management/input-schemas.ts";

const LEVELS = ["NONE", "LOW", "MEDIUM", "HIGH"] as const;
type Level = (typeof LEVELS)[number];

const LEVEL_OF: Readonly<Record<NonNullable<StockStatus>, Level>> = {
  Low: "LOW",
  Medium: "MEDIUM",
  High: "HIGH",
};

/** The level of a stock. */
export function levelOf(status: StockStatus): Level {
  return status === null ? "NONE" : LEVEL_OF[status];
}

export const levelSchema = z.enum(LEVELS);
/** Where something is in stock. */
export const placesSchema = z
  .array(z.object({ id: z.string(), name: z.string(), availability: levelSchema }))
  .optional();

/** `A,B`, each one of a list. */
export function commaList<Value>(entry: z.ZodType<Value, string>) {
  return z
    .string()
    .max(1_000)
    .transform((list) => list.split(",").map((text) => text.trim()))
    .pipe(z.array(entry))
    .optional()
    .meta({ override: { type: "string" } });
}

/** A whole number between bounds. */
export const wholeText = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,6}$/, "must be a whole number")
    .transform(Number)
    .pipe(z.int().min(min).max(max))
    .optional()
    .meta({ override: { type: "integer", minimum: min, maximum: max } });

export const includeSchema = commaList(oneOf(["AVAILABILITY"]));

type Query = {
  readonly include?: readonly string[] | undefined;
  readonly product?: readonly string[] | undefined;
};

/** Availability depends on the product, and the other parameters narrow it: none of them has a meaning alone. */
export function requireProduct({ include, product, ...rest }: Query): void {
  const isIncluded = include?.includes("AVAILABILITY") ?? false;
  if (isIncluded && !product?.length) {
    throw new ServiceError("invalid_input", "product: must be sent together with include=AVAILABILITY");
  }
  const [lone] = isIncluded
    ? []
    : Object.entries({ product, ...rest }).filter(([, value]) => value !== undefined);
  if (lone)
    throw new ServiceError("invalid_input", `${lone[0]}: must be sent together with include=AVAILABILITY`);
}

/** What a path names; throws not_found where the catalog does not have it. */
export function requireFound<Value>(kind: string, id: string, found: Value | undefined): Value {
  if (found !== undefined) return found;
  throw new ServiceError(
    "not_found",
    `id: there is no ${kind} '${id}'; the list of the catalog has all that there are`,
  );
}
