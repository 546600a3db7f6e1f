/** Pages of lists: `?limit=&cursor=`. Without a limit a list is one page, since quotas bound what an account has. */
import * as z from "zod";
import { ServiceError } from "../../contract/errors.ts";

const LIMIT_MAX = 1_000;

export const pageShape = {
  limit: z
    .string()
    .regex(/^[1-9]\d{0,3}$/, `must be a whole number between 1 and ${LIMIT_MAX}`)
    .transform(Number)
    .pipe(z.int().max(LIMIT_MAX))
    .optional()
    .meta({ override: { type: "integer", minimum: 1, maximum: LIMIT_MAX } }),
  cursor: z.string().max(64).optional().meta({ description: "`pagination.nextCursor` of the page before." }),
};
export const pageQuerySchema = z.strictObject(pageShape);
export type PageQuery = z.output<typeof pageQuerySchema>;

/** The answer of a list: its entries below the name of the noun, and where the next page begins. */
export function pageSchema(name: string, entry: z.ZodType): z.ZodObject {
  return z.object({
    [name]: z.array(entry),
    pagination: z.object({ hasNextPage: z.boolean(), nextCursor: z.string().nullable() }),
  });
}

/** One page of entries in a lasting order; the cursor is the id of the last one. */
export function pageOf<Entry extends { readonly id: string }>(
  all: readonly Entry[],
  { limit = all.length, cursor }: PageQuery,
) {
  const start = cursor === undefined ? 0 : all.findIndex(({ id }) => id === cursor) + 1;
  if (cursor !== undefined && start === 0) {
    throw new ServiceError(
      "invalid_input",
      "cursor: names nothing that is there; read the list from its beginning",
    );
  }
  const entries = all.slice(start, start + limit);
  const hasNextPage = start + limit < all.length;
  return {
    entries,
    pagination: { hasNextPage, nextCursor: hasNextPage ? (entries.at(-1)?.id ?? null) : null },
  };
}
