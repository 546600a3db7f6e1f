/**
 * OpenAI's API on an endpoint: `/v2/<endpointId>/openai/v1/…`. A call is a job of a queue, or a request to a
 * load-balanced worker; the workers implement the routes.
 */
import { ignoreFailure } from "../../../std/errors.ts";
import { Hono } from "hono";
import { ServiceError } from "../../../contract/errors.ts";
import { IN_OBJECT_WAIT_MS } from "../../../durable/waiters.ts";
import { RUNSYNC_RETENTION_MAX_MS } from "../../../domain/jobs/job-machine.ts";
import type { JobView } from "../../../domain/jobs/job-view.ts";
import { noWorkerError } from "../../../domain/openai/openai-error-details.ts";
import { openaiFormat, OpenaiJobError, renderOpenaiError } from "../../errors.ts";
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

/** Every route needs write access, since a worker serves it. Routes of common engines are listed; others are passed on as well. */
export function openaiRoutes(): Hono<QueueApi> {
  const routes = new Hono<QueueApi>();
  const serve = counted("openai", serveOpenai);
  routes.onError(renderOpenaiError);
  routes.use("/*", withEndpoint, requireWrite);
  routes.post("/v1/chat/completions", serve);
  routes.post("/v1/completions", serve);
  routes.post("/v1/embeddings", serve);
  routes.post("/v1/responses", serve);
  routes.get("/v1/models", serve);
  routes.get("/v1/models/:model", serve);
  routes.all("/*", serve);
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
