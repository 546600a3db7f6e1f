/**
 * Routes of REST v2: each reads its query and its body by the schemas that describe it, calls a function of the
 * management layer, and answers with what that returns. Unknown members of a body and unknown parameters are refused.
 */
import type { Handler } from "hono";
import * as z from "zod";
import type { ErrorStatus } from "../../contract/errors.ts";
import { CONTROL_BODY_MAX_BYTES } from "../../contract/limits.ts";
import { invalidInput } from "../../contract/validation-issues.ts";
import { parseInput } from "../../management/input-schemas.ts";
import type { RequestContext } from "../../management/context.ts";
import { readJson, requireObject } from "../body.ts";
import type { RestApi, RestContext } from "../rest/context.ts";
import type { Call, OnRequest, Operation, Route } from "../route.ts";

type V2Operation<On extends OnRequest, Query, Body> = Omit<Operation, "on" | "query" | "body" | "status"> & {
  readonly on: On;
  /** By default 201 for POST, 200 for others, and 204 without a schema of the answer. */
  readonly status?: 200;
  readonly query?: Query;
  readonly body?: Body;
  /** Without a value the answer has no body. */
  readonly serve: (
    request: RequestContext,
    call: Call<On, Query, Body>,
  ) => object | Promise<object | undefined | void>;
};

/** Errors of an operation that finds an object, and of those that write. */
export const FIND: readonly ErrorStatus[] = [404];
export const WRITE: readonly ErrorStatus[] = [400, 404, 413, 422, 503];
export const REMOVE: readonly ErrorStatus[] = [400, 404, 503];

export function v2Route<
  const On extends OnRequest,
  Query extends z.ZodObject = z.ZodObject,
  Body extends z.ZodType = z.ZodObject,
>({ serve, ...operation }: V2Operation<On, Query, Body>): Route<RestApi> {
  const { query = z.strictObject({}), body, answer } = operation;
  const created = operation.on.startsWith("POST") ? 201 : 200;
  const success = operation.status ?? created;
  const handler: Handler<RestApi> = async (context: RestContext) => {
    const call = {
      params: context.req.param(),
      query: readQuery(query, context.req.query()),
      body: body && parseInput(body, requireObject(await readJson(context.req.raw, CONTROL_BODY_MAX_BYTES))),
    };
    const value = await serve(context.get("request"), call as Call<On, Query, Body>);
    return value === undefined ? context.body(null, 204) : context.json(value, success);
  };
  return { ...(operation as Operation), status: answer === undefined ? 204 : success, serve: handler };
}

/** An unknown parameter is an issue of the query. */
export function readQuery<Query extends z.ZodObject>(schema: Query, sent: unknown): z.output<Query> {
  const parsed = schema.safeParse(sent);
  if (parsed.success) return parsed.data;
  throw invalidInput(parsed.error, "query");
}
