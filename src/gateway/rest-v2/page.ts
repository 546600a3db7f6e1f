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

/** One page of entries, the oldest first. The cursor is the place of the last one, which may have been deleted since. */
export function pageOf<Entry extends { readonly id: string; readonly createdAt: number }>(
  all: readonly Entry[],
  { limit = all.length, cursor }: PageQuery,
) {
  const place = cursor === undefined ? undefined : readCursor(cursor);
  const rest = place ? all.filter((entry) => isBehind(entry, place)) : all;
  const entries = rest.slice(0, limit);
  const last = rest.length > limit ? entries.at(-1) : undefined;
  const nextCursor = last ? `${last.createdAt}.${last.id}` : null;
  return { entries, pagination: { hasNextPage: nextCursor !== null, nextCursor } };
}

type Position = { readonly id: string; readonly createdAt: number };

function isBehind({ createdAt, id }: Position, place: Position): boolean {
  return createdAt > place.createdAt || (createdAt === place.createdAt && id > place.id);
}

function readCursor(cursor: string): Position {
  const [, createdAt = "", id = ""] = /^(\d{1,16})\.(.+)$/.exec(cursor) ?? [];
  if (id !== "") return { createdAt: Number(createdAt), id };
  throw new ServiceError("invalid_input", "cursor: must be one that a page returned");
}
