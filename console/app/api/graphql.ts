import { call, errorOf } from "./http.ts";
import type { Operation } from "./operations.ts";

type Answer<Data> = { readonly data?: Data | null; readonly errors?: readonly unknown[] };

/** Sends an operation of the management API. */
export async function query<Data, Variables>(
  operation: Operation<Data, Variables>,
  variables: Variables,
  signal?: AbortSignal,
): Promise<Data> {
  const answer = await call<Answer<Data>>("/graphql", {
    method: "POST",
    body: { query: operation, variables },
    signal,
  });
  if (answer.errors || !answer.data) throw errorOf(200, answer);
  return answer.data;
}
