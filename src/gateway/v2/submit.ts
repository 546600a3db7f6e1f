/** What run and runsync have in common: a validated body becomes a queued job. */
import { jobRequestSchema, type JobRequest } from "../../contract/job.ts";
import { IDEMPOTENCY_KEY_MAX_LENGTH, TTL_DEFAULT_MS } from "../../contract/limits.ts";
import type { JobView } from "../../domain/job-view.ts";
import { ApiError } from "../api-error.ts";
import type { SlotRef } from "../../endpoint/messages.ts";
import { readBody } from "../body.ts";
import { dropPayload, storePayload } from "../payloads.ts";
import type { QueueContext } from "./context.ts";
import { askWithinLimits } from "./limits.ts";

type SubmitOptions = {
  readonly isSync: boolean;
  readonly maxBytes: number;
  readonly waitMs: number | null;
  readonly holdMs: number;
};

export async function submitJob(
  context: QueueContext,
  options: SubmitOptions,
): Promise<{ view: JobView; isFinal: boolean; isNew: boolean; slot: SlotRef | null }> {
  const request = await readBody(context.req.raw, jobRequestSchema, options.maxBytes);
  const idempotencyKey = readIdempotencyKey(context);
  const endpoint = context.get("endpoint");
  const bucket = context.env.PAYLOADS;
  const input = await storePayload(bucket, endpoint.endpointId, request.input);
  const call = {
    isSync: options.isSync,
    isLowPriority: request.policy?.lowPriority ?? false,
    ttlMs: request.policy?.ttl ?? TTL_DEFAULT_MS,
    executionTimeoutMs: request.policy?.executionTimeout ?? null,
    waitMs: options.waitMs,
    input,
    optionsJson: workerOptions(request),
    idempotencyKey,
    holdMs: options.holdMs,
  };
  try {
    const submitted = await askWithinLimits(context, (stub) => stub.submit(call));
    if (!submitted.isNew) context.executionCtx.waitUntil(dropPayload(bucket, input));
    return submitted;
  } catch (error) {
    context.executionCtx.waitUntil(dropPayload(bucket, input));
    throw error;
  }
}

/** The `Idempotency-Key` header; null when there is none. */
export function readIdempotencyKey(context: QueueContext): string | null {
  const key = context.req.header("Idempotency-Key");
  if (key === undefined || key === "") return null;
  if (key.length <= IDEMPOTENCY_KEY_MAX_LENGTH) return key;
  throw new ApiError(
    "invalid_input",
    `Idempotency-Key has ${key.length} characters; at most ${IDEMPOTENCY_KEY_MAX_LENGTH} are allowed.`,
  );
}

/** The members beside `input` that reach the worker, and nobody else. */
export function workerOptions({ webhook, policy, s3Config }: JobRequest): string {
  return JSON.stringify({
    ...(webhook && { webhook }),
    ...(policy && { policy }),
    ...(s3Config && { s3Config }),
  });
}
