/** Calls the endpoint's object about a batch, and turns its rejections into errors. */
import { BATCH_REQUESTS_MAX, type BatchSummary } from "../../../contract/batch.ts";
import type { BatchCall } from "../../../endpoint/batches/messages.ts";
import { ServiceError } from "../../../contract/errors.ts";
import type { QueueContext } from "../context.ts";
import { callWithinLimits } from "../limits.ts";

/** Performs one operation; throws not_found or invalid_input when the object rejects it. */
export async function callBatch(
  context: QueueContext,
  call: BatchCall,
): Promise<{ readonly batch: BatchSummary; readonly isNew: boolean }> {
  const reply = await callWithinLimits(context, (stub) => stub.batch(call));
  const batchId = batchIdOf(context);
  switch (reply.kind) {
    case "batch":
      return reply;
    case "batch_not_found":
      throw batchNotFound(batchId);
    case "request_not_found":
      throw new ServiceError(
        "not_found",
        `Batch ${batchId} has no request of this id; GET its requests lists them.`,
      );
    case "not_a_draft":
      throw new ServiceError(
        "invalid_input",
        `Batch ${batchId} is ${reply.status}; only a DRAFT can be changed or finalized. Make another batch.`,
      );
    case "too_many_requests":
      throw new ServiceError(
        "invalid_input",
        `requests would make ${reply.requestTotal} in this batch; at most ${BATCH_REQUESTS_MAX} are allowed. ` +
          "Make another batch for the rest.",
      );
  }
}

/** The id in the path. */
export function batchIdOf(context: QueueContext): string {
  return context.req.param("batchId") ?? "";
}

export function batchNotFound(batchId: string): ServiceError {
  return new ServiceError(
    "not_found",
    `There is no batch ${batchId.slice(0, 80)} on this endpoint. A batch is stored for 24 hours after its last job was removed.`,
  );
}
