/** What clients send and receive of batches. */
import * as z from "zod";
import type { Immutable } from "./immutable.ts";
import { pageMembers, requestsQuerySchema } from "./job.ts";
import { WIRE_STATUSES } from "./job-status.ts";
import { NAME_MAX_CHARACTERS } from "./limits.ts";
import { jsonValueSchema } from "../json/raw-json.ts";

/** Requests of one batch. */
export const BATCH_REQUESTS_MAX = 5_000;

/** Requests to begin a batch with or to add to one: an array, or an object that has them as `requests`. */
export function batchBodySchema<Request extends z.ZodType>(request: Request, isArray: boolean) {
  const requests = z
    .array(request, "must be an array of requests, each with an input")
    .max(BATCH_REQUESTS_MAX, `must hold at most ${BATCH_REQUESTS_MAX} requests`);
  return isArray ? requests.transform((list) => ({ requests: list })) : z.object({ requests });
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
const batchStatusSchema = z.enum(["DRAFT", "FINALIZED", "CANCELLED"]);
export type BatchStatus = z.infer<typeof batchStatusSchema>;

/** Body of `POST batch`. */
export const batchStartSchema = z
  .object({ id: z.string(), status: batchStatusSchema })
  .meta({ id: "BatchStart" });

/** A batch with its progress; what is neither completed nor failed nor in progress waits. */
export const batchSummarySchema = z
  .object({
    id: z.string(),
    endpointId: z.string(),
    name: z.string().optional(),
    status: batchStatusSchema,
    requestTotal: z.int(),
    requestInProgress: z.int(),
    requestCompleted: z.int(),
    requestFailed: z.int().meta({
      description: "All that ended in another way: failed, timed out, cancelled, purged, expired.",
    }),
    createdAt: z.int().meta({ description: "Epoch milliseconds." }),
  })
  .meta({ id: "Batch" });
export type BatchSummary = Immutable<z.infer<typeof batchSummarySchema>>;

export const batchListSchema = z
  .object({ batches: z.array(batchSummarySchema), ...pageMembers })
  .meta({ id: "BatchesPage" });
export type BatchPage = Immutable<z.infer<typeof batchListSchema>>;

const batchRequestRowSchema = z
  .object({
    id: z.string().meta({ description: "That of its job as soon as it has one." }),
    status: z.enum([...WIRE_STATUSES, "DRAFT"]),
    output: jsonValueSchema.optional(),
    error: z.string().optional(),
    startedAt: z.iso.datetime().optional(),
    completedAt: z.iso.datetime().optional(),
  })
  .meta({ id: "BatchRequestRow" });
/** A request of a batch, without its output. */
export type BatchRequestRow = Immutable<Omit<z.infer<typeof batchRequestRowSchema>, "output">>;

/** Body of `GET batch/<id>/requests`. */
export const batchRequestsPageSchema = z
  .object({ requests: z.array(batchRequestRowSchema), ...pageMembers })
  .meta({ id: "BatchRequestsPage" });
