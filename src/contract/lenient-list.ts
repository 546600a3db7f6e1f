/** Lists that hold parts of several workers or jobs: an invalid part is no reason to reject the others. */
import * as z from "zod";
import { formatIssues } from "./validation-issues.ts";

const DETAIL_MAX_CHARACTERS = 300;

/**
 * A list of the items that fit `schema`. For one that does not, `fallback` gives what stands in its place, or undefined
 * to leave it out; `issue` states what is wrong with it, without repeating its content.
 */
export function lenientList<Schema extends z.ZodType>(
  schema: Schema,
  fallback: (item: unknown, issue: string) => z.output<Schema> | undefined,
  most = Number.MAX_SAFE_INTEGER,
) {
  const list = z.array(schema).max(most);
  const parseItem = (item: unknown): z.output<Schema>[] => {
    const { data, error } = schema.safeParse(item);
    const fit = error ? fallback(item, shortIssues(error)) : data;
    return fit === undefined ? [] : [fit];
  };
  const anyList = z.array(z.unknown()).max(most);
  return z.preprocess(
    (items, context) => {
      for (const { path, message } of anyList.safeParse(items).error?.issues ?? [])
        context.addIssue({ code: "custom", path, message });
      return items;
    },
    // Only a list with an item that does not fit is read item by item.
    list.catch(({ value }) => anyList.parse(value).flatMap(parseItem)),
  );
}

/** For parts that can be left out without harm. */
export function dropItem(): undefined {
  return undefined;
}

/** What is wrong with a part, and where; cut to the length of a reason. */
export function shortIssues(error: z.ZodError): string {
  return formatIssues(error).slice(0, DETAIL_MAX_CHARACTERS);
}
