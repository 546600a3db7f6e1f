/** A validated body becomes a queued job. */
import { ignoreFailure } from "../../../std/errors.ts";
import { ServiceError } from "../../../contract/errors.ts";
import type { JobRequest } from "../../../contract/job.ts";
import { IDEMPOTENCY_KEY_MAX_LENGTH } from "../route.ts";
import { TTL_DEFAULT_MS } from "../../../contract/limits.ts";
import { webhookUrlIssue } from "../../../domain/webhooks/webhook-url.ts";
import type { SlottedView, SubmitCall } from "../../../endpoint/messages.ts";
import type { Env } from "../../../env.ts";
import { dropPayload, isRejection } from "../../payloads.ts";
import { spliceJson } from "../../spliced-json.ts";
import type { QueueContext } from "../context.ts";
import { submitToShard } from "./shard-choice.ts";
import { isSmall, type JobOptions, readRequest, type RunBody } from "./job-request.ts";

type QueueOptions = Pick<SubmitCall, "isSync" | "holdMs" | "operation" | "keepsSlot"> & {
  readonly waitMs: number | null;
};
type SubmitOptions = QueueOptions & { readonly maxBytes: number };

/** Queues the job that the body describes. */
export async function submitJob(
  context: QueueContext,
  { maxBytes, ...options }: SubmitOptions,
): Promise<SlottedView & { readonly isNew: boolean }> {
  const idempotencyKey = readIdempotencyKey(context);
  const request = context.req.raw;
  const place = { bucket: context.env.PAYLOADS, endpointId: context.get("endpoint").endpointId };
  const submitted = readRequest(request, maxBytes, place).then((received) =>
    queueJob(context, options, idempotencyKey, received),
  );
  // Continues when the client hangs up; otherwise a payload could be left in R2 without a job.
  if (!isSmall(request)) context.executionCtx.waitUntil(submitted.catch(ignoreFailure));
  return submitted;
}

/** Queues a validated job. Its input is removed from R2 when the endpoint rejects it. */
export async function queueJob(
  context: QueueContext,
  queueOptions: QueueOptions,
  idempotencyKey: string | null,
  { options, input }: RunBody,
): Promise<SlottedView & { readonly isNew: boolean }> {
  const call = (webhook: string | null): SubmitCall => ({
    ...queueOptions,
    isLowPriority: options.policy?.lowPriority ?? false,
    ttlMs: options.policy?.ttl ?? TTL_DEFAULT_MS,
    executionTimeoutMs: options.policy?.executionTimeout ?? null,
    input,
    optionsJson: workerOptions(options, webhook),
    hasWebhook: webhook !== null,
    idempotencyKey,
  });
  const bucket = context.env.PAYLOADS;
  try {
    const request = call(readWebhook(context.env, options));
    const submitted = await submitToShard(context, request);
    if (!submitted.isNew) context.executionCtx.waitUntil(dropPayload(bucket, input));
    return submitted;
  } catch (error) {
    if (isRejection(error)) context.executionCtx.waitUntil(dropPayload(bucket, input));
    throw error;
  }
}

/** The `Idempotency-Key` header; null when it is absent. */
export function readIdempotencyKey(context: QueueContext): string | null {
  const key = context.req.header("Idempotency-Key");
  if (key === undefined || key === "") return null;
  if (key.length <= IDEMPOTENCY_KEY_MAX_LENGTH) return key;
  throw new ServiceError(
    "invalid_input",
    `Idempotency-Key has ${key.length} characters; at most ${IDEMPOTENCY_KEY_MAX_LENGTH} are allowed.`,
  );
}

/** The members beside `input` that only the worker reads: a JSON object. */
export function workerOptions({ policy, s3Config }: JobOptions, webhook: string | null): string {
  const options = { ...(webhook && { webhook }), ...(policy && { policy }) };
  return s3Config ? spliceJson(options, "s3Config", s3Config.json) : JSON.stringify(options);
}

/** The webhook URL, null for none; throws invalid_input for a forbidden one. `path` leads to the request. */
export function readWebhook(
  env: Env,
  request: Pick<JobRequest, "webhook" | "webhookV2">,
  path = "",
): string | null {
  const name = request.webhook ? "webhook" : "webhookV2";
  const webhook = request[name];
  if (!webhook) return null;
  const issue = webhookUrlIssue(new URL(webhook), env.WEBHOOK_ALLOW_PRIVATE === "true");
  if (issue !== null) throw new ServiceError("invalid_input", `${path}${name} ${issue}.`);
  return webhook;
}
