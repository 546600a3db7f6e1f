/** What clients send and receive of batches. */
import { z } from "zod";
import { jobRequestSchema, requestsQuerySchema, type WireStatus } from "./job.ts";
import { BATCH_REQUESTS_MAX, NAME_MAX_CHARACTERS } from "./limits.ts";
import type { JsonValue } from "./json.ts";

const requestsSchema = z
  .array(jobRequestSchema, "must be an array of requests, each with an input")
  .max(BATCH_REQUESTS_MAX, `must hold at most ${BATCH_REQUESTS_MAX} requests`);

/** Requests to begin a batch with or to add to one: an array, or an object that has them as `requests`. */
export function batchBodySchema(isArray: boolean) {
  return isArray
    ? requestsSchema.transform((requests) => ({ requests }))
    : z.object({ requests: requestsSchema });
}

/** Attributes of a batch that can be changed at any time. */
export const batchChangeSchema = z.object({
  name: z
    .string("must be text, or null for no name")
    .max(NAME_MAX_CHARACTERS, `must have at most ${NAME_MAX_CHARACTERS} characters`)
    .nullable(),
});

/** Query of the lists of batches and of their requests. */
export const batchPageSchema = requestsQuerySchema.pick({ offset: true, limit: true });

/** CANCELLED once nothing of it runs any more. A batch has no other end: it has ended when all requests have. */
export type BatchStatus = "DRAFT" | "FINALIZED" | "CANCELLED";

/** A batch with its progress; what is neither completed nor failed nor in progress waits. */
export type BatchSummary = {
  readonly id: string;
  readonly endpointId: string;
  readonly name?: string;
  readonly status: BatchStatus;
  readonly requestTotal: number;
  readonly requestInProgress: number;
  readonly requestCompleted: number;
  /** All that ended in another way: failed, timed out, cancelled, purged, expired. */
  readonly requestFailed: number;
  /** Epoch milliseconds. */
  readonly createdAt: number;
};

export type BatchPage = {
  readonly batches: readonly BatchSummary[];
  readonly total: number;
  readonly offset: number;
  readonly limit: number;
  readonly hasMore: boolean;
};

/** A request of a batch. Its id is that of its job as soon as it has one. Times are ISO 8601. */
export type BatchRequestRow = {
  readonly id: string;
  readonly status: WireStatus | "DRAFT";
  readonly output?: JsonValue;
  readonly error?: string;
  readonly startedAt?: string;
  readonly completedAt?: string;
};
