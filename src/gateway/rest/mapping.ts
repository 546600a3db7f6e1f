/** REST spells some things in its own way; here they meet the patches of the management API. */
import type * as z from "zod";
import { toDotPath } from "zod/v4/core";
import { ServiceError } from "../../contract/errors.ts";

/**
 * Reads a patch that was made of a REST body. What it refuses is told under the name that the field has in
 * REST, which is `restNames[field]` where it has another one.
 */
export function parsePatch<Schema extends z.ZodType>(
  schema: Schema,
  patch: unknown,
  restNames: Readonly<Record<string, string>> = {},
): z.output<Schema> {
  const parsed = schema.safeParse(patch);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(({ path: [field, ...rest], message }) => {
    const name = restNames[String(field)] ?? String(field);
    return `${toDotPath([name, ...rest])}: ${message}`;
  });
  throw new ServiceError("invalid_input", issues.join("; "));
}
