/** Batches: `/v2/<endpointId>/batch…`. */
import { batchChangeSchema, batchPageSchema } from "../../../contract/batch.ts";
import { CONTROL_BODY_MAX_BYTES } from "../../../contract/limits.ts";
import type { BatchCall } from "../../../endpoint/batches/messages.ts";
import { readBody } from "../../body.ts";
import { type QueueContext, readQuery } from "../context.ts";
import { callWithinLimits } from "../limits.ts";
import type { ServeJobs } from "../operations.ts";
import { appendToBatch, createBatch } from "./add-requests.ts";
import { batchIdOf, callBatch } from "./call.ts";
import { batchRequests } from "./requests.ts";

export function serveBatches(serve: ServeJobs): void {
  serve("POST batch", createBatch);
  serve("GET batch", listBatches);
  serve("GET batch/:batchId", getBatch);
  serve("PUT batch/:batchId", renameBatch);
  serve("POST batch/:batchId/finalize", finalizeBatch);
  serve("POST batch/:batchId/cancel", cancelBatch);
  serve("POST batch/:batchId/requests", appendToBatch);
  serve("GET batch/:batchId/requests", batchRequests);
  serve("DELETE batch/:batchId/requests/:requestId", removeBatchRequest);
}

/** `GET /batch?offset=&limit=`: the endpoint's batches, newest first. */
export async function listBatches(context: QueueContext): Promise<Response> {
  const { offset, limit } = readQuery(context, batchPageSchema);
  const reply = await callWithinLimits(context, (stub) => stub.batches({ offset, limit }));
  return context.json(reply.page);
}

/** `GET /batch/<id>`: the batch with its progress. */
export async function getBatch(context: QueueContext): Promise<Response> {
  return answer(context, { kind: "look", batchId: batchIdOf(context) });
}

/** `PUT /batch/<id>`: changes its name. */
export async function renameBatch(context: QueueContext): Promise<Response> {
  const { name } = await readBody(context.req.raw, batchChangeSchema, CONTROL_BODY_MAX_BYTES);
  return answer(context, { kind: "rename", batchId: batchIdOf(context), name: name === "" ? null : name });
}

/** `POST /batch/<id>/finalize`: a draft's requests become jobs. */
export async function finalizeBatch(context: QueueContext): Promise<Response> {
  return answer(context, { kind: "finalize", batchId: batchIdOf(context) });
}

/** `POST /batch/<id>/cancel`: cancels queued requests; running ones may finish. */
export async function cancelBatch(context: QueueContext): Promise<Response> {
  return answer(context, { kind: "cancel", batchId: batchIdOf(context) });
}

/** `DELETE /batch/<id>/requests/<request>`: removes a request from a draft. */
export async function removeBatchRequest(context: QueueContext): Promise<Response> {
  const requestId = context.req.param("requestId") ?? "";
  return answer(context, { kind: "remove_request", batchId: batchIdOf(context), requestId });
}

async function answer(context: QueueContext, call: BatchCall): Promise<Response> {
  return context.json((await callBatch(context, call)).batch);
}
