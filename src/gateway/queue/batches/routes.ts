/** Batches: `/v2/<endpointId>/batch…`. */
import type { ServeJobs } from "../operations.ts";
import { appendToBatch, createBatch } from "./add-requests.ts";
import { cancelBatch, finalizeBatch, getBatch, removeBatchRequest, renameBatch } from "./batch-handlers.ts";
import { listBatches } from "./list.ts";
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
