/** The context of every queue operation: the caller, and the endpoint of the path. */
import type { Context, Handler, MiddlewareHandler } from "hono";
import type { z } from "zod";
import { formatIssues, invalidInput } from "../../contract/validation-issues.ts";
import { missingEndpointAccess } from "../../auth/access.ts";
import { authenticate, callerName, type Principal } from "../../auth/principal.ts";
import { countRequest, networkOf } from "../../auth/request-rates.ts";
import type { EndpointConfig } from "../../contract/endpoint.ts";
import { FLASH_ENDPOINT_ID } from "../../contract/flash/flash-names.ts";
import { WAIT_DEFAULT_MS } from "../../contract/limits.ts";
import { waitSchema } from "../../contract/job.ts";
import type { Env } from "../../env.ts";
import { ServiceError } from "../../contract/errors.ts";
import { resolveEndpoint } from "../../management/endpoints/endpoint-directory.ts";
import { openByEndpointKey, openByEnvironmentKey } from "./scoped-keys.ts";
import { serveByName } from "./qualified-name.ts";

export type QueueApi = {
  Bindings: Env;
  Variables: {
    endpoint: EndpointConfig;
    caller: Principal;
    /** The endpoint's object has counted the request. */
    isCounted?: boolean;
  };
};
export type QueueContext = Context<QueueApi>;
export type QueueHandler = Handler<QueueApi>;

/** Rejects requests without a valid key for an endpoint that it may read. */
export const withEndpoint: MiddlewareHandler<QueueApi> = async (context, next) => {
  const endpointId = context.req.param("endpointId") ?? "";
  if (endpointId === FLASH_ENDPOINT_ID) {
    await serveByName(context, async (found) => {
      await openEndpoint(context, found);
      await next();
    });
    return;
  }
  await openEndpoint(context, endpointId);
  await next();
};

async function openEndpoint(context: QueueContext, endpointId: string): Promise<void> {
  const { env } = context;
  const header = context.req.header("Authorization");
  const caller = await authenticate(env, header, Date.now(), networkOf(env, context.req.raw));
  if (caller.kind === "principal") {
    context.set("endpoint", await resolveEndpoint(env, caller.accountId, endpointId));
    requireGranted(missingEndpointAccess(caller, endpointId, "read"));
    context.set("caller", caller);
    return;
  }
  const opened =
    (await openByEndpointKey(env, header, endpointId)) ??
    (await openByEnvironmentKey(env, header, endpointId));
  if (opened === undefined) throw new ServiceError("unauthorized", caller.message);
  context.set("endpoint", opened.endpoint);
  context.set("caller", opened.caller);
}

/** For operations that change something. */
export const requireWrite: MiddlewareHandler<QueueApi> = async (context, next) => {
  requireWriteAccess(context);
  await next();
};

/** Throws insufficient_permission for a caller with read access only. */
export function requireWriteAccess(context: QueueContext): void {
  requireGranted(missingEndpointAccess(context.get("caller"), context.get("endpoint").endpointId, "write"));
}

function requireGranted(lack: string | undefined): void {
  if (lack !== undefined) throw new ServiceError("insufficient_permission", lack);
}

/** Limits operations that no object counts, by the caller's key. */
export function limitedAs(limited: "logs" | "measures"): MiddlewareHandler<QueueApi> {
  return async ({ env, get }, next) => {
    await countRequest(env, limited, callerName(get("caller")), Date.now());
    await next();
  };
}

/** Rejects operations on jobs of an endpoint without a queue. */
export const requireQueue: MiddlewareHandler<QueueApi> = async (context, next) => {
  const { endpointId, type } = context.get("endpoint");
  if (type !== "QB") {
    throw new ServiceError(
      "wrong_endpoint_type",
      `Endpoint ${endpointId} is load-balanced and has no queue: send requests to its own URL instead.`,
    );
  }
  await next();
};

/** The `wait` parameter in ms, `fallbackMs` when it is absent. */
export function readWait(context: QueueContext, fallbackMs: number = WAIT_DEFAULT_MS): number {
  return readParameter(context, "wait", waitSchema) ?? fallbackMs;
}

/** The parameters of the query; empty ones are absent. */
export function readQuery<Schema extends z.ZodType>(context: QueueContext, schema: Schema): z.output<Schema> {
  const given = Object.entries(context.req.query()).filter(([, value]) => value !== "");
  const query = schema.safeParse(Object.fromEntries(given));
  if (!query.success) throw invalidInput(query.error, "query");
  return query.data;
}

/** A parameter of the query; undefined when it is absent or empty. */
export function readParameter<T>(context: QueueContext, name: string, schema: z.ZodType<T>): T | undefined {
  const value = context.req.query(name);
  if (value === undefined || value === "") return undefined;
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new ServiceError("invalid_input", formatIssues(parsed.error, name));
}

export function jobNotFound(jobId: string): ServiceError {
  return new ServiceError(
    "job_not_found",
    `There is no job ${jobId.slice(0, 80)} on this endpoint. Results are stored for 30 minutes after a job ended ` +
      "(runsync: 1 minute, or as long as its wait, 5 minutes at most), and a job is deleted when its ttl is over.",
  );
}
