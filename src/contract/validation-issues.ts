/**
 * Validation issues as every API describes them. Importing this file sets, for every schema of the program, the
 * message of issues for which the schema defines no message: what would be valid, to follow the name of the field.
 */
import * as z from "zod";
import { toDotPath } from "zod/v4/core";
import { ServiceError } from "./errors.ts";

/** An error message has no room for more. */
const ISSUES_MAX = 50;

/**
 * The error that names all invalid fields: `requests[3].policy.ttl: must be at least 10000; name: must not be empty`.
 * `whole` as for `issueLines`.
 */
export function invalidInput(error: Invalid, whole?: string): ServiceError {
  const issues = issueLines(error, { whole });
  return new ServiceError("invalid_input", issues.join("; "), { issues });
}

type Invalid = { readonly issues: readonly Pick<z.core.$ZodIssue, "path" | "message">[] };

/** `within`: the path or name of the validated value; empty where it is the whole body. */
export function formatIssues(invalid: Invalid, within = ""): string {
  return issueLines(invalid, { within }).join("; ");
}

/** Each issue with its place. `whole`: what an issue of the validated value itself names where `within` is empty. */
export function issueLines(
  { issues }: Invalid,
  { within = "", whole = "body" }: { readonly within?: string; readonly whole?: string | undefined } = {},
): string[] {
  return issues.slice(0, ISSUES_MAX).map(({ path, message }) => {
    const place = within === "" ? toDotPath(path) : toDotPath([within, ...path]);
    return `${place === "" ? whole : place}: ${message}`;
  });
}

/** The issues of a value without fields, to be read after its name. */
export function formatReasons({ issues }: Invalid): string {
  return issues.map(({ message }) => message).join(", ");
}

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
    case "invalid_key":
      return formatReasons(issue);
    case "custom":
    case "invalid_element":
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
