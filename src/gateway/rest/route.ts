/**
 * Routes of REST v1: each reads its query and its body by the schemas that describe it, calls a function of the
 * management layer, and answers with what that returns.
 */
import type { Handler } from "hono";
import * as z from "zod";
import type { ErrorStatus } from "../../contract/errors.ts";
import { parseInput } from "../../management/input-schemas.ts";
import type { RequestContext } from "../../management/context.ts";
import type { Call, OnRequest, Operation, Route } from "../route.ts";
import { changedJson, type RestApi, type RestContext } from "./context.ts";
import { readInput } from "./input.ts";

type Awaitable<Value> = Value | Promise<Value>;
/** An answer without a schema has no body. */
type AnswerOf<Answer> = Answer extends z.ZodType<object> ? z.input<Answer> & object : void;

type RestOperation<On extends OnRequest, Query, Body, Answer> = Omit<
  Operation,
  "on" | "query" | "body" | "answer"
> & {
  readonly on: On;
  readonly query?: Query;
  readonly body?: Body;
  readonly answer?: Answer;
  readonly serve: (request: RequestContext, call: Call<On, Query, Body>) => Awaitable<AnswerOf<Answer>>;
};

/** Errors of operations that find, write or delete an object. */
export const FIND: readonly ErrorStatus[] = [404];
export const WRITE: readonly ErrorStatus[] = [400, 404, 413, 503];
export const REMOVE: readonly ErrorStatus[] = [400, 404, 503];

export const UPDATE_DETAILS = "Omitted fields are left unchanged.";

/**
 * A route of REST v1. A body may hold the members that the answer has, which are ignored, so that clients may send back
 * what they received; any other unknown one is rejected.
 */
export function restRoute<
  const On extends OnRequest,
  Answer extends z.ZodType<object> | undefined = undefined,
  Query extends z.ZodObject = z.ZodObject,
  Body extends z.ZodObject = z.ZodObject,
>({ serve, ...operation }: RestOperation<On, Query, Body, Answer>): Route<RestApi> {
  const { query = z.object({}), body, answer } = operation;
  const returned = answer instanceof z.ZodObject ? answer : z.object({});
  const handler: Handler<RestApi> = async (context: RestContext) => {
    const call = {
      params: context.req.param(),
      query: parseInput(query, context.req.query()),
      body: body && (await readInput(context, body, returned)),
    };
    const value = await serve(context.get("request"), call as Call<On, Query, Body>);
    return value ? changedJson(context, value) : context.body(null, 204);
  };
  const errors: readonly ErrorStatus[] = [
    ...(operation.query ? [400 as const] : []),
    ...(operation.errors ?? []),
  ];
  return {
    ...(operation as Operation),
    errors,
    ...(answer === undefined && { status: 204 }),
    serve: handler,
  };
}
