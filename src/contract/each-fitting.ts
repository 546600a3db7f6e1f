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
  const list = z.array(schema).max(most);
  const fitting = (item: unknown): z.output<Schema>[] => {
    const { data, error } = schema.safeParse(item);
    const fit = error ? instead(item, faultOf(error)) : data;
    return fit === undefined ? [] : [fit];
  };
  return z.preprocess(
    (items, context): z.output<Schema>[] => {
      const { data, error } = list.safeParse(items);
      if (data !== undefined) return data;
      if (Array.isArray(items) && items.length <= most) return items.flatMap(fitting);
      for (const { path, message } of error.issues) context.addIssue({ code: "custom", path, message });
      return z.NEVER;
    },
    alreadyParsed(z.array(schema).max(most)),
  );
}

/** The schema that documents show of a value which has been parsed before: parsing it again costs each request time. */
function alreadyParsed<Schema extends z.ZodType>(schema: Schema): Schema {
  schema._zod.run = (payload) => payload;
  return schema;
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
