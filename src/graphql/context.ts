import type * as z from "zod";
import type { RequestContext } from "../management/context.ts";
import { parseInput } from "../management/input-schemas.ts";
import type { Loaders } from "../management/loaders.ts";

/** What resolvers get. */
export type GraphqlContext = RequestContext & { readonly loaders: Loaders };

/** What a resolver of a root field does with what a schema has read of its arguments. */
type Operation<Schema extends z.ZodType, Result> = (
  context: GraphqlContext,
  input: z.output<Schema>,
) => Promise<Result>;

/** Resolves a field whose one argument is `input`. */
export function withInput<Schema extends z.ZodType, Result>(schema: Schema, run: Operation<Schema, Result>) {
  return async (_parent: unknown, { input }: { readonly input?: unknown }, context: GraphqlContext) =>
    await run(context, parseInput(schema, input));
}

/** Resolves a field by all of its arguments. */
export function withArguments<Schema extends z.ZodType, Result>(
  schema: Schema,
  run: Operation<Schema, Result>,
) {
  return async (_parent: unknown, args: unknown, context: GraphqlContext) =>
    await run(context, parseInput(schema, args));
}

/** Resolves a field that has no arguments and does not depend on its parent. */
export function withoutArguments<Result>(run: (context: GraphqlContext) => Result) {
  return (_parent: unknown, _args: unknown, context: GraphqlContext): Result => run(context);
}
