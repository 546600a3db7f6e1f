/** Batches: `/v2/{endpointId}/batch…`. */
import * as z from "zod";
import {
  batchBodySchema,
  batchChangeSchema,
  batchListSchema,
  batchPageSchema,
  batchRequestsPageSchema,
  batchStartSchema,
  batchSummarySchema,
} from "../../../contract/batch.ts";
import { jobRequestSchema } from "../../../contract/job.ts";
import { CONTROL_BODY_MAX_BYTES } from "../../../contract/limits.ts";
import type { BatchCall } from "../../../endpoint/batches/messages.ts";
import { readBody } from "../../body.ts";
import { type QueueContext, readQuery } from "../context.ts";
import { callWithinLimits } from "../limits.ts";
import { idempotencyHeaders, jobRoute, type QueueRoute } from "../route.ts";
import { appendToBatch, createBatch } from "./add-requests.ts";
import { batchIdOf, callBatch } from "./call.ts";
import { batchRequests } from "./requests.ts";

const requestsBody = {
  body: z.union([batchBodySchema(jobRequestSchema, true), batchBodySchema(jobRequestSchema, false)]),
  example: [{ input: { name: "a" } }, { input: { name: "b" } }],
  errors: [413] as const,
};

export const batchRoutes: readonly QueueRoute[] = [
  jobRoute("batch", {
    on: "POST /batch",
    access: "write",
    id: "createBatch",
    summary: "Create a draft of many jobs",
    details: "No job runs before `finalize`. The list may be empty.",
    headers: idempotencyHeaders,
    ...requestsBody,
    answer: batchStartSchema,
    serve: createBatch,
  }),
  jobRoute("batch", {
    on: "GET /batch",
    access: "read",
    id: "listBatches",
    summary: "List the batches of an endpoint, newest first",
    query: batchPageSchema,
    answer: batchListSchema,
    serve: listBatches,
  }),
  jobRoute("batch", {
    on: "GET /batch/{batchId}",
    access: "read",
    id: "getBatch",
    summary: "Get a batch with its progress",
    answer: batchSummarySchema,
    serve: answering((context) => ({ kind: "look", batchId: batchIdOf(context) })),
  }),
  jobRoute("batch", {
    on: "PUT /batch/{batchId}",
    access: "write",
    id: "renameBatch",
    summary: "Rename a batch",
    body: batchChangeSchema,
    answer: batchSummarySchema,
    serve: answering(async (context) => {
      const { name } = await readBody(context.req.raw, batchChangeSchema, CONTROL_BODY_MAX_BYTES);
      return { kind: "rename", batchId: batchIdOf(context), name: name === "" ? null : name };
    }),
  }),
  jobRoute("batch", {
    on: "POST /batch/{batchId}/finalize",
    access: "write",
    id: "finalizeBatch",
    summary: "Start all requests of a draft",
    answer: batchSummarySchema,
    serve: answering((context) => ({ kind: "finalize", batchId: batchIdOf(context) })),
  }),
  jobRoute("batch", {
    on: "POST /batch/{batchId}/cancel",
    access: "write",
    id: "cancelBatch",
    summary: "Cancel the queued requests of a batch; running ones may finish",
    answer: batchSummarySchema,
    serve: answering((context) => ({ kind: "cancel", batchId: batchIdOf(context) })),
  }),
  jobRoute("batch", {
    on: "POST /batch/{batchId}/requests",
    access: "write",
    id: "addBatchRequests",
    summary: "Add requests to a draft",
    ...requestsBody,
    answer: batchSummarySchema,
    serve: appendToBatch,
  }),
  jobRoute("batch", {
    on: "GET /batch/{batchId}/requests",
    access: "read",
    id: "listBatchRequests",
    summary: "List the requests of a batch in their order, with outputs and errors",
    query: batchPageSchema,
    answer: batchRequestsPageSchema,
    serve: batchRequests,
  }),
  jobRoute("batch", {
    on: "DELETE /batch/{batchId}/requests/{requestId}",
    access: "write",
    id: "removeBatchRequest",
    summary: "Remove a request from a draft",
    answer: batchSummarySchema,
    serve: answering((context) => {
      const requestId = context.req.param("requestId") ?? "";
      return { kind: "remove_request", batchId: batchIdOf(context), requestId };
    }),
  }),
];

async function listBatches(context: QueueContext): Promise<Response> {
  const { offset, limit } = readQuery(context, batchPageSchema);
  const reply = await callWithinLimits(context, (stub) => stub.batches({ offset, limit }));
  return context.json(reply.page);
}

/** Makes a call about a batch, and answers with the batch. */
function answering(toCall: (context: QueueContext) => BatchCall | Promise<BatchCall>) {
  return async (context: QueueContext): Promise<Response> =>
    context.json((await callBatch(context, await toCall(context))).batch);
}
