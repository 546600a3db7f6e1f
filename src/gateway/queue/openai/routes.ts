/**
 * OpenAI's API on an endpoint: `/v2/<endpointId>/openai/v1/…`. A call is a job of a queue, or a request to a
 * load-balanced worker; the workers implement the routes.
 */
import { ignoreFailure } from "../../../std/errors.ts";
import { Hono } from "hono";
import * as z from "zod";
import { ServiceError } from "../../../contract/errors.ts";
import { IN_OBJECT_WAIT_MS } from "../../../durable/waiters.ts";
import { RUNSYNC_RETENTION_MAX_MS } from "../../../domain/jobs/job-machine.ts";
import type { JobView } from "../../../contract/job.ts";
import { noWorkerError } from "../../../domain/openai/openai-error-details.ts";
import { openaiFormat, OpenaiJobError, renderOpenaiError } from "../../errors.ts";
import { openaiErrorSchema, openaiReplySchema, openaiRequestSchema } from "../../../contract/openai.ts";
import { mount } from "../../route.ts";
import { idempotencyHeaders, queueApi, rateLimitHeaders } from "../route.ts";
import { placeBelow } from "../../load-balancing/endpoint-url.ts";
import { serveRequest } from "../../load-balancing/serve.ts";
import type { SlottedView } from "../../../endpoint/messages.ts";
import { type QueueApi, type QueueContext, requireWrite, withEndpoint } from "../context.ts";
import { queueJob, readIdempotencyKey } from "../jobs/submission.ts";
import { counted } from "../limits.ts";
import { OwnedJob } from "./owned-job.ts";
import { bareInput, type OpenaiInput, readInput } from "./request-body.ts";
import { answerStreamed } from "./streamed-answer.ts";
import { answerWhole } from "./whole-answer.ts";

/** Expiry of the job of an OpenAI request: its client waits, and may have left unnoticed. */
const OPENAI_TTL_MS = 60 * 60_000;

const operation = {
  /** A worker serves it, and each call is a job. */
  access: "write" as const,
  answer: openaiReplySchema,
  answerHeaders: rateLimitHeaders.extend({
    "X-Request-Id": z
      .string()
      .optional()
      .meta({ description: "Id of the job, where the endpoint has a queue." }),
  }),
  serve: counted("openai", serveOpenai),
};

const call = {
  ...operation,
  details:
    "On an endpoint with a queue the request is a job, whose worker gets the route and the body; answered when it has ended, or, with " +
    "`stream`, in server-sent events as the worker yields them. A client that hangs up cancels it. On a " +
    "load-balanced endpoint the worker answers itself.",
  headers: idempotencyHeaders,
  body: openaiRequestSchema,
  hasEvents: true as const,
  errors: [413] as const,
};

const listing = { ...operation, details: "Is a job as well." };

/** The routes of common engines; others are passed on as well. */
const ROUTES = [
  {
    ...call,
    on: "POST /v1/chat/completions",
    id: "createChatCompletion",
    summary: "Create a chat completion",
    example: { model: "m", messages: [{ role: "user", content: "Hello" }] },
  },
  {
    ...call,
    on: "POST /v1/completions",
    id: "createCompletion",
    summary: "Create a completion",
    example: { model: "m", prompt: "Hello" },
  },
  {
    ...call,
    on: "POST /v1/embeddings",
    id: "createEmbedding",
    summary: "Create embeddings",
    example: { model: "m", input: "Hello" },
  },
  {
    ...call,
    on: "POST /v1/responses",
    id: "createResponse",
    summary: "Create a response",
    example: { model: "m", input: "Hello" },
  },
  { ...listing, on: "GET /v1/models", id: "listModels", summary: "The models that the workers serve" },
  {
    ...listing,
    on: "GET /v1/models/{model}",
    id: "getModel",
    summary: "Get a model",
    params: { model: z.string().meta({ description: "Name of the model, escaped as part of a path." }) },
  },
] as const;

export const openaiApi = {
  ...queueApi("OpenAI", ROUTES),
  prefix: "/v2/{endpointId}/openai",
  errorBody: openaiErrorSchema,
  errors: [400, 401, 404, 409, 429, 500, 502, 503, 504, 524] as const,
};

export function openaiRoutes(): Hono<QueueApi> {
  const routes = new Hono<QueueApi>();
  routes.onError(renderOpenaiError);
  routes.use("/*", withEndpoint, requireWrite);
  mount(routes, ROUTES);
  routes.all("/*", operation.serve);
  return routes;
}

/** The segments `/v2/<endpointId>/openai`. */
const PREFIX_SEGMENTS = 3;

export async function serveOpenai(context: QueueContext): Promise<Response> {
  const endpoint = context.get("endpoint");
  const place = placeBelow(context.req.url, PREFIX_SEGMENTS);
  if (endpoint.type !== "QB") return serveRequest(context, endpoint, place, openaiFormat);
  const answer = askWorker(context, place.target);
  // Continues when the client hangs up, so that the job that is being queued is cancelled.
  context.executionCtx.waitUntil(answer.catch(ignoreFailure));
  return answer;
}

async function askWorker(context: QueueContext, route: string): Promise<Response> {
  const idempotencyKey = readIdempotencyKey(context);
  const { input, isStream } = await readCall(context, route);
  const submitted = await queueJob(
    context,
    {
      operation: "openai",
      isSync: true,
      waitMs: RUNSYNC_RETENTION_MAX_MS,
      holdMs: isStream ? 0 : IN_OBJECT_WAIT_MS,
      keepsSlot: isStream,
    },
    idempotencyKey,
    { options: { policy: { ttl: OPENAI_TTL_MS } }, input },
  );
  context.header("X-Request-Id", submitted.view.id);
  const isOwned = submitted.isNew && idempotencyKey === null;
  return answer(context, submitted, { isStream, isOwned });
}

async function answer(
  context: QueueContext,
  submitted: SlottedView,
  { isStream, isOwned }: { readonly isStream: boolean; readonly isOwned: boolean },
): Promise<Response> {
  const job = new OwnedJob(context, submitted.view.id, isOwned);
  try {
    requireRunnable(submitted.view);
    if (isStream) return await answerStreamed(context, submitted, job);
    const whole = await answerWhole(context, submitted);
    job.complete();
    return whole;
  } catch (error) {
    await job.abandon();
    throw error;
  }
}

function readCall(context: QueueContext, route: string): Promise<OpenaiInput> | OpenaiInput {
  const { method, raw } = context.req;
  if (method === "GET") return bareInput(route);
  if (method !== "POST") {
    throw new ServiceError("not_found", `There is no ${method} ${context.req.path}: send GET or POST.`);
  }
  const { endpointId } = context.get("endpoint");
  return readInput(raw, route, { bucket: context.env.PAYLOADS, endpointId });
}

/** With workersMax 0 no worker will start, so waiting is useless. */
function requireRunnable({ queue }: JobView): void {
  if (queue?.reason === "workers_max_is_zero") throw new OpenaiJobError(noWorkerError(queue.detail));
}
