/**
 * Limits as clients see them: 429 with Retry-After, and the header fields RateLimit and RateLimit-Policy
 * of the IETF draft (structured fields; a policy is named after its operation).
 */
import { INLINE_PAYLOAD_MAX_BYTES } from "../../contract/limits.ts";
import { RATE_WINDOW_MS, type LimitedOperation } from "../../contract/rate-limits.ts";
import { inGigabytes } from "../../domain/limits/gigabytes.ts";
import type { NotFound, Quota, RateLimited, SlotRef, Unconfigured } from "../../endpoint/messages.ts";
import { hasErrorCode, ServiceError } from "../../contract/errors.ts";
import { callEndpoint, callShardOfJob } from "../../management/endpoints/endpoint-directory.ts";
import type { EndpointStub } from "../../management/objects.ts";
import type { QueueContext, QueueHandler } from "./context.ts";

type LimitedReply = { readonly kind: string; readonly quota?: Quota | null };

/** Calls the endpoint's object; throws rate_limited above a limit, and sets the RateLimit headers. */
export async function callWithinLimits<Reply extends LimitedReply>(
  context: QueueContext,
  call: (stub: EndpointStub) => Promise<Reply>,
): Promise<Exclude<Reply, Unconfigured | RateLimited>> {
  return withinLimits<Reply>(
    context,
    await callEndpoint<LimitedReply>(context.env, context.get("endpoint"), call),
  );
}

/** The same for a call about a job, which only its shard knows. */
export async function callAboutJob<Reply extends LimitedReply>(
  context: QueueContext,
  jobId: string,
  call: (stub: EndpointStub) => Promise<Reply>,
): Promise<Exclude<Reply, Unconfigured | RateLimited> | (NotFound & { readonly quota: null })> {
  const endpoint = context.get("endpoint");
  return withinLimits<Reply>(context, await callShardOfJob<LimitedReply>(context.env, endpoint, jobId, call));
}

/** Throws rate_limited above a limit, and sets the RateLimit headers. */
export function withinLimits<Reply extends LimitedReply>(
  context: QueueContext,
  reply: LimitedReply,
): Exclude<Reply, Unconfigured | RateLimited> {
  context.set("isCounted", true);
  if (isRateLimited(reply)) throw toError(context, reply);
  if (reply.quota) showQuota(context, reply.quota);
  return reply as Exclude<Reply, Unconfigured | RateLimited>;
}

/**
 * Counts requests with an invalid body as well, which the object does not see, so that clients that send only those are
 * limited too.
 */
export function counted(operation: LimitedOperation, handler: QueueHandler): QueueHandler {
  return async (context, next) => {
    try {
      return await handler(context, next);
    } catch (error) {
      if (hasErrorCode(error, "invalid_input", "payload_too_large") && context.get("isCounted") !== true) {
        await callWithinLimits(context, (stub) => stub.countRefused(operation));
      }
      throw error;
    }
  };
}

/** The query parameters with which a wake-up channel holds a slot. */
export function slotQuery({ operation, id }: SlotRef, untilAt: number): Record<string, string> {
  return { operation, slot: id, wait: String(Math.max(0, untilAt - Date.now())) };
}

function showQuota(context: QueueContext, { operation, limit, remaining, freesInMs }: Quota): void {
  context.header("RateLimit-Policy", `"${operation}";q=${limit};w=${RATE_WINDOW_MS / 1_000}`);
  context.header("RateLimit", `"${operation}";r=${remaining};t=${inSeconds(freesInMs)}`);
}

function toError(context: QueueContext, refused: RateLimited): ServiceError {
  const { operation, measure, limit, remaining, retryAfterMs, used = limit } = refused;
  const retryAfterSeconds = inSeconds(retryAfterMs);
  const rateLimited = (message: string) => new ServiceError("rate_limited", message, { retryAfterSeconds });
  switch (measure) {
    case "requests":
      showQuota(context, { operation, limit, remaining, freesInMs: retryAfterMs });
      return rateLimited(
        `There were ${limit} calls of '${operation}' on this endpoint within ${RATE_WINDOW_MS / 1_000} seconds, ` +
          `which is its limit. Try again in ${retryAfterSeconds} s.`,
      );
    case "concurrent":
      context.header("RateLimit-Policy", `"${operation}-concurrent";q=${limit};qu="concurrent-requests"`);
      context.header("RateLimit", `"${operation}-concurrent";r=${remaining}`);
      return rateLimited(
        `${limit} calls of '${operation}' on this endpoint are in progress, which is its limit. ` +
          "Try again when one of them has ended.",
      );
    case "queued":
      context.header("RateLimit-Policy", `"queue";q=${limit};qu="queued-jobs"`);
      context.header("RateLimit", `"queue";r=${remaining}`);
      return rateLimited(
        `The queue is full: ${limit} jobs wait. Try again when workers have taken some of them, or add workers.`,
      );
    case "batches":
      context.header("RateLimit-Policy", `"batches";q=${limit};qu="active-batches"`);
      context.header("RateLimit", `"batches";r=${remaining}`);
      return rateLimited(
        `${limit} batches of this endpoint are drafts or still have requests to run, which is its limit. ` +
          "Wait until one of them has ended, or cancel one.",
      );
    case "storage":
      showStorage(context, limit, remaining);
      return rateLimited(
        `Jobs of this endpoint take ${inGigabytes(used)} GB (inputs, results, streams, batches), and with this ` +
          `request it would be more than ${inGigabytes(limit)} GB, which is its limit. ${STORAGE_ADVICE} ` +
          "The operator can raise the limit: ENDPOINT_STORAGE_GB.",
      );
    case "database":
      showStorage(context, limit, remaining);
      return rateLimited(
        `The database of this endpoint's jobs has ${inGigabytes(used)} GB; above ${inGigabytes(limit)} GB it takes ` +
          `no more. Streams and whatever has up to ${INLINE_PAYLOAD_MAX_BYTES} bytes are kept there. ${STORAGE_ADVICE}`,
      );
  }
}

const STORAGE_ADVICE =
  "Results are removed 30 minutes after their jobs ended, and a day in batches: try again then, send and return less, " +
  "or store the data elsewhere and send its URL.";

function showStorage(context: QueueContext, limit: number, remaining: number): void {
  context.header("RateLimit-Policy", `"storage";q=${limit};qu="stored-bytes"`);
  context.header("RateLimit", `"storage";r=${remaining}`);
}

/** Whole seconds, at least 1 and at most a window, which counting in buckets may exceed by milliseconds. */
function inSeconds(ms: number): number {
  return Math.min(Math.max(1, Math.ceil(ms / 1_000)), RATE_WINDOW_MS / 1_000);
}

function isRateLimited(reply: LimitedReply): reply is RateLimited {
  return reply.kind === "rate_limited";
}
