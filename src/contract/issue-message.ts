/**
 * What is said of a value that a schema refuses, where the schema has no message of its own: what would be right,
 * in words that follow the name of the field. Importing this file sets it for every schema of the program.
 */
import * as z from "zod";

const NAMES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    array: "a list",
    boolean: "true or false",
    int: "a whole number",
    number: "a number",
    object: "an object",
    record: "an object",
    string: "a string",
  }),
);

z.config({ customError: issueMessage });

/** Undefined leaves the message to the library. */
export function issueMessage(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      return `${requirement(issue.input)} ${NAMES.get(issue.expected) ?? issue.expected}`;
    case "invalid_value":
      return `${requirement(issue.input)} ${issue.values.length > 1 ? "one of " : ""}${issue.values.join(", ")}`;
    case "too_small":
      return `must ${bound("at least", issue.origin, issue.minimum, issue.inclusive)}`;
    case "too_big":
      return `must ${bound("at most", issue.origin, issue.maximum, issue.inclusive)}`;
    case "invalid_format":
      return `must have the form of ${issue.format}`;
    case "invalid_union":
      return `${requirement(issue.input)} in one of the forms that the documentation names`;
    case "unrecognized_keys":
      return `must not have ${issue.keys.join(", ")}`;
    case "custom":
    case "invalid_element":
    case "invalid_key":
    case "not_multiple_of":
      return undefined;
  }
}

function requirement(input: unknown): string {
  return input === undefined ? "is required and must be" : "must be";
}

function bound(side: string, origin: string, limit: number | bigint, isInclusive = true): string {
  const least = isInclusive ? side : side === "at least" ? "more than" : "less than";
  if (origin === "string") return `have ${least} ${limit} characters`;
  if (origin === "array" || origin === "set") return `have ${least} ${limit} entries`;
  return `be ${least} ${limit}`;
}
