/** Batches: `/v2/<endpointId>/batch…`. */
import { Hono } from "hono";
import type { QueueApi } from "../context.ts";
import { appendToBatch, createBatch } from "./add-requests.ts";
import { cancelBatch, finalizeBatch, lookAtBatch, removeBatchRequest, renameBatch } from "./control.ts";
import { listBatches } from "./list.ts";
import { batchRequests } from "./requests.ts";

export function batchRoutes(): Hono<QueueApi> {
  const routes = new Hono<QueueApi>();
  routes.post("/", createBatch);
  routes.get("/", listBatches);
  routes.get("/:batchId", lookAtBatch);
  routes.put("/:batchId", renameBatch);
  routes.post("/:batchId/finalize", finalizeBatch);
  routes.post("/:batchId/cancel", cancelBatch);
  routes.post("/:batchId/requests", appendToBatch);
  routes.get("/:batchId/requests", batchRequests);
  routes.delete("/:batchId/requests/:requestId", removeBatchRequest);
  return routes;
}
