/** Lists that hold parts of several workers or jobs: what is wrong with one part is no reason to refuse the others. */
import * as z from "zod";

const DETAIL_MAX_CHARACTERS = 300;

/**
 * A list of the items that fit `schema`. For one that does not, `instead` gives what stands in its place, or undefined
 * to leave it out; `fault` says what is wrong with it, without repeating its content.
 */
export function eachFitting<Schema extends z.ZodType>(
  schema: Schema,
  instead: (item: unknown, fault: string) => z.output<Schema> | undefined,
  most = Number.MAX_SAFE_INTEGER,
) {
  const fitting = (item: unknown): unknown => {
    const { error } = schema.safeParse(item);
    return error ? instead(item, faultOf(error)) : item;
  };
  // Judged before, and read by a schema of its own, which is what documents show.
  return z.preprocess(
    (items) =>
      Array.isArray(items) && items.length <= most
        ? items.map(fitting).filter((item) => item !== undefined)
        : items,
    z.array(schema).max(most),
  );
}

/** For parts that nobody misses. */
export function leftOut(): undefined {
  return undefined;
}

/** The first thing that is wrong, and where. */
export function faultOf({ issues }: z.ZodError): string {
  const [issue] = issues;
  const place = issue?.path.join(".") || "value";
  return `${place}: ${issue?.message ?? "invalid"}`.slice(0, DETAIL_MAX_CHARACTERS);
}
