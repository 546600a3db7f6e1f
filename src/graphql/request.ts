import * as z from "zod";
import { formatIssues } from "../contract/validation-issues.ts";

/** Lists and objects within each other in the variables. */
export const GRAPHQL_VARIABLES_DEPTH_MAX = 50;

const requestSchema = z.object({
  query: z.string("must be a string that holds a GraphQL document"),
  variables: z.record(z.string(), z.unknown(), "must be an object").nullish(),
  operationName: z.string("must be a string").nullish(),
});

/** Body of a POST; members that it does not know are ignored. */
export type GraphqlRequest = z.infer<typeof requestSchema>;

export type RequestReading =
  | { readonly kind: "request"; readonly request: GraphqlRequest }
  | { readonly kind: "unreadable"; readonly message: string };

export function readRequest(body: string): RequestReading {
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch {
    return { kind: "unreadable", message: "The body is not JSON. Send a JSON object with a string 'query'." };
  }
  if (Array.isArray(json)) {
    return { kind: "unreadable", message: "Batches are not supported: send one JSON object per request." };
  }
  if (isDeeperThan(json, GRAPHQL_VARIABLES_DEPTH_MAX)) {
    const message = `The body nests more than ${GRAPHQL_VARIABLES_DEPTH_MAX} lists and objects within each other.`;
    return { kind: "unreadable", message };
  }
  const parsed = requestSchema.safeParse(json);
  if (parsed.success) return { kind: "request", request: parsed.data };
  return { kind: "unreadable", message: formatIssues(parsed.error) };
}

/** Level by level, since a function that calls itself is what such a value is meant to exhaust. */
function isDeeperThan(value: unknown, max: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > max) return true;
    level = level.flatMap(membersOf).filter((member) => typeof member === "object" && member !== null);
  }
  return false;
}

function membersOf(value: unknown): unknown[] {
  return typeof value === "object" && value !== null ? Object.values(value) : [];
}
