/** What run and runsync have in common: a validated body becomes a queued job. */
import { jobRequestSchema, type JobRequest } from "../../contract/job.ts";
import { TTL_DEFAULT_MS } from "../../contract/limits.ts";
import type { JobView } from "../../domain/job-view.ts";
import type { SlotRef } from "../../endpoint/messages.ts";
import { readBody } from "../body.ts";
import { dropPayload, storePayload } from "../payloads.ts";
import type { QueueContext } from "./context.ts";
import { askWithinLimits } from "./limits.ts";

type SubmitOptions = { readonly isSync: boolean; readonly maxBytes: number; readonly holdMs: number };

export async function submitJob(
  context: QueueContext,
  options: SubmitOptions,
): Promise<{ view: JobView; isFinal: boolean; slot: SlotRef | null }> {
  const request = await readBody(context.req.raw, jobRequestSchema, options.maxBytes);
  const endpoint = context.get("endpoint");
  const bucket = context.env.PAYLOADS;
  const input = await storePayload(bucket, endpoint.endpointId, request.input);
  const call = {
    isSync: options.isSync,
    isLowPriority: request.policy?.lowPriority ?? false,
    ttlMs: request.policy?.ttl ?? TTL_DEFAULT_MS,
    executionTimeoutMs: request.policy?.executionTimeout ?? null,
    input,
    optionsJson: workerOptions(request),
    holdMs: options.holdMs,
  };
  try {
    return await askWithinLimits(context, (stub) => stub.submit(call));
  } catch (error) {
    context.executionCtx.waitUntil(dropPayload(bucket, input));
    throw error;
  }
}

/** The members beside `input` that reach the worker, and nobody else. */
function workerOptions({ webhook, policy, s3Config }: JobRequest): string {
  return JSON.stringify({
    ...(webhook && { webhook }),
    ...(policy && { policy }),
    ...(s3Config && { s3Config }),
  });
}
