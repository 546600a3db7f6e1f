/** Operations of the queue API: what they need, what they count against, and what their descriptions have in common. */
import type { MiddlewareHandler } from "hono";
import * as z from "zod";
import { errorBodySchema, type ErrorStatus } from "../../contract/errors.ts";
import type { LimitedOperation } from "../../contract/rate-limits.ts";
import type { Access } from "../../domain/accounts/permissions.ts";
import type { Api, Route } from "../route.ts";
import { limitedAs, requireQueue, requireWrite, type QueueApi } from "./context.ts";
import { counted } from "./limits.ts";

export const IDEMPOTENCY_KEY_MAX_LENGTH = 255;

type Described = Route<QueueApi> & {
  /** Write access includes read access, which every operation needs. */
  readonly access: Exclude<Access, "none">;
};
export type QueueRoute = Described & { readonly guards: readonly MiddlewareHandler<QueueApi>[] };

/** An operation on jobs, which endpoints without a queue reject. It counts against a limit of its endpoint. */
export function jobRoute(limit: LimitedOperation, route: Described): QueueRoute {
  return {
    answerHeaders: rateLimitHeaders,
    ...route,
    errors: [400, 429, ...(route.errors ?? [])],
    guards: [requireQueue],
    serve: counted(limit, route.serve),
  };
}

/** An operation that no object counts; it has a limit for the caller's key. */
export function readingRoute(limit: "logs" | "measures", route: Described): QueueRoute {
  return { ...route, guards: [limitedAs(limit)] };
}

export function guardsOf({ access, guards }: QueueRoute): readonly MiddlewareHandler<QueueApi>[] {
  return access === "write" ? [requireWrite, ...guards] : guards;
}

// Descriptions

export const endpointParameter = {
  endpointId: z.string().meta({
    description:
      "Id of an endpoint, or `flash` for the endpoint that the headers X-Flash-App, X-Flash-Environment " +
      "and X-Flash-Endpoint name. The answer's header X-Flash-Endpoint-Id then holds its id.",
    param: { id: "endpointId" },
  }),
};

const QUEUE_ERRORS: readonly ErrorStatus[] = [401, 404, 500];

/** Operations of an endpoint with a queue, for the document. */
export function queueApi<Entry extends Described>(tag: string, operations: readonly Entry[]) {
  return {
    prefix: "/v2/{endpointId}",
    tag,
    operations,
    errorBody: errorBodySchema,
    errors: QUEUE_ERRORS,
    params: {
      ...endpointParameter,
      jobId: z.string().meta({ description: "The `id` in the answer of `run`.", param: { id: "jobId" } }),
      batchId: z.string().meta({ param: { id: "batchId" } }),
    },
  } satisfies Api;
}

/** The limit that a request counted against; see the IETF draft on RateLimit fields. */
export const rateLimitHeaders = z.object({
  "RateLimit-Policy": z
    .string()
    .optional()
    .meta({ description: "The limit: requests per number of seconds.", example: '"run";q=1000;w=10' }),
  RateLimit: z.string().optional().meta({
    description: "Requests that remain, and seconds until the limit resets.",
    example: '"run";r=998;t=10',
  }),
});

export const idempotencyHeaders = z.object({
  "Idempotency-Key": z.string().max(IDEMPOTENCY_KEY_MAX_LENGTH).optional().meta({
    description: "A repeated call with the same key returns what the first call created.",
  }),
});
