/** Lists that are stored and sent as one text, with commas between the entries. */
import * as z from "zod";

/** Naming all GPUs or places that there are takes a third of it. */
const LIST_MAX_CHARACTERS = 4_096;

/** What objects keep in memory must not be as large as a body. */
export const commaListSchema = z
  .string()
  .max(LIST_MAX_CHARACTERS, `must have at most ${LIST_MAX_CHARACTERS} characters`);

/** A comma list, stored without blanks; an empty one means "not set". */
export function commaList(isAllowed: (entry: string) => boolean, allowed: string) {
  return commaListSchema.transform((list, context) => {
    const entries = list
      .split(",")
      .map((entry) => entry.trim())
      .filter((entry) => entry !== "");
    const wrong = entries.find((entry) => !isAllowed(entry));
    if (wrong !== undefined) context.addIssue(`'${wrong}' is not allowed. Allowed: ${allowed}`);
    return entries.length === 0 ? null : entries.join(",");
  });
}

/** A comma list of the entries; null stays null, which clears. */
export function joinList(values: readonly string[] | null | undefined): string | null | undefined {
  return values ? values.join(",") : values;
}
