/** What every operation of REST v1 is given. */
import type { Context, MiddlewareHandler } from "hono";
import { matchedRoutes } from "hono/route";
import * as z from "zod";
import { authenticate, callerName } from "../../auth/principal.ts";
import { countRequest, networkOf } from "../../auth/request-rates.ts";
import { CONTROL_BODY_MAX_BYTES } from "../../contract/limits.ts";
import { openDatabase } from "../../db/database.ts";
import { nearestWord } from "./nearest-word.ts";
import type { Env } from "../../env.ts";
import { requireManagementAccess, type RequestContext } from "../../management/context.ts";
import { parseInput } from "../../management/input-schemas.ts";
import { ServiceError } from "../../contract/errors.ts";
import { readJson } from "../body.ts";
import { toDotPath } from "zod/v4/core";

export type RestApi = { Bindings: Env; Variables: { request: RequestContext } };
export type RestContext = Context<RestApi>;

const READING: ReadonlySet<string> = new Set(["GET", "HEAD"]);

/** Lets nobody pass without a key that allows what is asked. */
export const withAccess: MiddlewareHandler<RestApi> = async (context, next) => {
  const { env } = context;
  const now = Date.now();
  const network = networkOf(env, context.req.raw);
  const principal = await authenticate(env, context.req.header("Authorization"), now, network);
  if (principal.kind === "unauthorized") throw new ServiceError("unauthorized", principal.message);
  await countRequest(env, "management", callerName(principal), now);

  const { origin } = new URL(context.req.url);
  const operation = operationOf(context);
  const request = { env, db: openDatabase(env.DB), principal, now, operation, origin, warnings: [] };
  requireManagementAccess(request, READING.has(context.req.method) ? "read" : "write");
  context.set("request", request);
  await next();
};

/** `PATCH /v1/templates/{templateId}`: what the audit log calls it. */
function operationOf(context: RestContext): string {
  const pattern = matchedRoutes(context).findLast(({ method }) => method !== "ALL")?.path;
  return `${context.req.method} ${(pattern ?? context.req.path).replace(/:(\w+)/g, "{$1}")}`;
}

/**
 * Reads a JSON object; its errors are named by their fields. A field that is neither of the schema nor of what the
 * operation answers is refused: clients may send back all that they were shown.
 */
export async function readInput<Schema extends z.ZodObject>(
  context: RestContext,
  schema: Schema,
  returned: z.ZodObject,
): Promise<z.output<Schema>> {
  const body = await readObject(context);
  rejectUnknown(Object.keys(body), Object.keys(schema.shape), Object.keys(returned.shape));
  return parseInput(schema, body);
}

function rejectUnknown(
  fields: readonly string[],
  accepted: readonly string[],
  returned: readonly string[],
): void {
  const unknown = fields.filter((field) => !accepted.includes(field) && !returned.includes(field));
  if (unknown.length === 0) return;
  const errors = unknown.map((field) => {
    const nearest = nearestWord(field, accepted);
    return `${field}: there is no such field${nearest === undefined ? "." : `; did you mean ${nearest}?`}`;
  });
  throw new ServiceError("invalid_input", `${errors.join(" ")} Fields: ${accepted.join(", ")}`);
}

/** The same, where fields that nobody knows are passed over. */
export async function readLooseInput<Schema extends z.ZodType>(
  context: RestContext,
  schema: Schema,
): Promise<z.output<Schema>> {
  return parseInput(schema, await readObject(context));
}

async function readObject(context: RestContext): Promise<Readonly<Record<string, unknown>>> {
  const body = (await readJson(context.req.raw, CONTROL_BODY_MAX_BYTES)) ?? {};
  const read = z.record(z.string(), z.unknown()).safeParse(body);
  if (read.success) return read.data;
  throw new ServiceError("invalid_input", "body: must be a JSON object");
}

/** What was changed, as it is now, with the warnings that the change has led to. */
export function changedJson(context: RestContext, changed: object): Response {
  const { warnings } = context.get("request");
  const named = warnings.map(({ code, message }) => ({ code: code.toLowerCase(), message }));
  return context.json(warnings.length > 0 ? { ...changed, warnings: named } : changed);
}

/** A part of the path. */
export function idOf(context: RestContext, name: string): string {
  return context.req.param(name) ?? "";
}

/**
 * Reads a patch that was made of a REST body. What it refuses is told under the name that the field has in
 * REST, which is `restNames[field]` where it has another one.
 */
export function parsePatch<Schema extends z.ZodType>(
  schema: Schema,
  patch: unknown,
  restNames: Readonly<Record<string, string>> = {},
): z.output<Schema> {
  const parsed = schema.safeParse(patch);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(({ path: [field, ...rest], message }) => {
    const name = restNames[String(field)] ?? String(field);
    return `${toDotPath([name, ...rest])}: ${message}`;
  });
  throw new ServiceError("invalid_input", issues.join("; "));
}
