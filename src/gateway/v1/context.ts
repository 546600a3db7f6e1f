/** What every operation of REST v1 is given. */
import type { Context, MiddlewareHandler } from "hono";
import { matchedRoutes } from "hono/route";
import * as z from "zod";
import { authenticate } from "../../auth/principal.ts";
import { CONTROL_BODY_MAX_BYTES } from "../../contract/limits.ts";
import { openDatabase } from "../../db/database.ts";
import type { Env } from "../../env.ts";
import { requireManagementAccess } from "../../management/access.ts";
import type { RequestContext } from "../../management/context.ts";
import { parseInput } from "../../management/input.ts";
import { OperationError } from "../../management/operation-error.ts";
import { ApiError } from "../api-error.ts";
import { readJson } from "../body.ts";

export type RestApi = { Bindings: Env; Variables: { request: RequestContext } };
export type RestContext = Context<RestApi>;

const READING: ReadonlySet<string> = new Set(["GET", "HEAD"]);

/** Lets nobody pass without a key that allows what is asked. */
export const withAccess: MiddlewareHandler<RestApi> = async (context, next) => {
  const { env } = context;
  const now = Date.now();
  const principal = await authenticate(env, context.req.header("Authorization"), now);
  if (principal.kind === "unauthorized") throw new ApiError("unauthorized", principal.message);

  const { origin } = new URL(context.req.url);
  const operation = operationOf(context);
  const request = { env, db: openDatabase(env.DB), principal, now, operation, origin };
  requireManagementAccess(request, READING.has(context.req.method) ? "read" : "write");
  context.set("request", request);
  await next();
};

/** `PATCH /v1/templates/{templateId}`: what the audit log calls it. */
function operationOf(context: RestContext): string {
  const pattern = matchedRoutes(context).findLast(({ method }) => method !== "ALL")?.path;
  return `${context.req.method} ${(pattern ?? context.req.path).replace(/:(\w+)/g, "{$1}")}`;
}

/** Reads a JSON object; its faults are named by their fields. */
export async function readInput<Schema extends z.ZodType>(
  context: RestContext,
  schema: Schema,
): Promise<z.output<Schema>> {
  const body = (await readJson(context.req.raw, CONTROL_BODY_MAX_BYTES)) ?? {};
  if (!z.record(z.string(), z.unknown()).safeParse(body).success) {
    throw new OperationError("INVALID_INPUT", "body: must be a JSON object");
  }
  return parseInput(schema, body);
}

/** A part of the path. */
export function idOf(context: RestContext, name: string): string {
  return context.req.param(name) ?? "";
}
