import { z } from "zod";

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
  const parsed = requestSchema.safeParse(json);
  if (parsed.success) return { kind: "request", request: parsed.data };
  const faults = parsed.error.issues.map(
    (issue) => `${z.core.toDotPath(issue.path) || "body"}: ${issue.message}`,
  );
  return { kind: "unreadable", message: faults.join("; ") };
}
