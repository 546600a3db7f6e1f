import type * as z from "zod";
import { ServiceError } from "../contract/errors.ts";
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

/** The argument of mutations that create. */
export const dryRunSdl = `"Checks a creation and answers null, or the error that it would have; nothing is written. Not together with an id, nor for endpoints of a flash environment."
dryRun: Boolean`;

/** Resolves a mutation whose arguments are `input` and `dryRun`, with which `check` stands for `run`. */
export function withDryRun<Schema extends z.ZodType, Result>(
  schema: Schema,
  check: Operation<Schema, void>,
  run: Operation<Schema, Result>,
) {
  type Arguments = { readonly input?: { readonly id?: unknown } | null; readonly dryRun?: boolean | null };
  return async (_parent: unknown, { input, dryRun }: Arguments, context: GraphqlContext) => {
    const read = parseInput(schema, input);
    if (!dryRun) return await run(context, read);
    if (input?.id) throw new ServiceError("invalid_input", "dryRun: checks a creation; leave the id out");
    await check(context, read);
    return null;
  };
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
