/** Batches: `/v2/{endpointId}/batch…`. */
import * as z from "zod";
import type { ZodOpenApiPathsObject } from "zod-openapi";
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
import { operation, type Description } from "./operation.ts";
import { endpointPath, idempotencyHeaders, rateLimitHeaders } from "./queue-paths.ts";

const batchPath = endpointPath.extend({ batchId: z.string().meta({ param: { id: "batchId" } }) });
const requestPath = batchPath.extend({ requestId: z.string() });
const requestsBody = z.union([
  batchBodySchema(jobRequestSchema, true),
  batchBodySchema(jobRequestSchema, false),
]);
const example = [{ input: { name: "a" } }, { input: { name: "b" } }];

function batchOperation(description: Omit<Description, "tag">, ...more: readonly 413[]) {
  const described = { tag: "Batches", answerHeaders: rateLimitHeaders, ...description };
  return operation(described, [400, 401, 404, 429, 500, ...more]);
}

export const batchPaths: ZodOpenApiPathsObject = {
  "/v2/{endpointId}/batch": {
    post: batchOperation(
      {
        id: "createBatch",
        summary: "Create a draft of many jobs",
        details: "No job runs before `finalize`. The list may be empty.",
        path: endpointPath,
        headers: idempotencyHeaders,
        body: requestsBody,
        example,
        answer: batchStartSchema,
      },
      413,
    ),
    get: batchOperation({
      id: "listBatches",
      summary: "List the batches of an endpoint, newest first",
      path: endpointPath,
      query: batchPageSchema,
      answer: batchListSchema,
    }),
  },
  "/v2/{endpointId}/batch/{batchId}": {
    get: batchOperation({
      id: "getBatch",
      summary: "Get a batch with its progress",
      path: batchPath,
      answer: batchSummarySchema,
    }),
    put: batchOperation({
      id: "renameBatch",
      summary: "Rename a batch",
      path: batchPath,
      body: batchChangeSchema,
      answer: batchSummarySchema,
    }),
  },
  "/v2/{endpointId}/batch/{batchId}/finalize": {
    post: batchOperation({
      id: "finalizeBatch",
      summary: "Start all requests of a draft",
      path: batchPath,
      answer: batchSummarySchema,
    }),
  },
  "/v2/{endpointId}/batch/{batchId}/cancel": {
    post: batchOperation({
      id: "cancelBatch",
      summary: "Cancel the queued requests of a batch; running ones may finish",
      path: batchPath,
      answer: batchSummarySchema,
    }),
  },
  "/v2/{endpointId}/batch/{batchId}/requests": {
    post: batchOperation(
      {
        id: "addBatchRequests",
        summary: "Add requests to a draft",
        path: batchPath,
        body: requestsBody,
        example,
        answer: batchSummarySchema,
      },
      413,
    ),
    get: batchOperation({
      id: "listBatchRequests",
      summary: "List the requests of a batch in their order, with outputs and errors",
      path: batchPath,
      query: batchPageSchema,
      answer: batchRequestsPageSchema,
    }),
  },
  "/v2/{endpointId}/batch/{batchId}/requests/{requestId}": {
    delete: batchOperation({
      id: "removeBatchRequest",
      summary: "Remove a request from a draft",
      path: requestPath,
      answer: batchSummarySchema,
    }),
  },
};
