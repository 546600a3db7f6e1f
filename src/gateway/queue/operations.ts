/**
 * The access that each operation of the queue API needs, by method and path below the endpoint. Write access includes
 * read access.
 */
import { LIMITED_OPERATIONS, type LimitedOperation } from "../../contract/rate-limits.ts";
import type { QueueHandler } from "./context.ts";

export const NEEDED_ACCESS = {
  "GET health": "read",
  "GET metrics": "read",
  "GET metrics/requests": "read",
  "GET metrics/workers": "read",
  "POST run": "write",
  "POST runsync": "write",
  /** With `?ttl=`, which changes the job: "write". */
  "GET status/:jobId": "read",
  "POST status/:jobId": "read",
  "GET status-sync/:jobId": "read",
  "POST status-sync/:jobId": "read",
  "GET stream/:jobId": "read",
  "POST stream/:jobId": "read",
  "POST cancel/:jobId": "write",
  "POST retry/:jobId": "write",
  "POST purge-queue": "write",
  "GET requests": "read",
  "GET logs": "read",
  "POST openai/v1/chat/completions": "write",
  "POST openai/v1/completions": "write",
  "POST openai/v1/embeddings": "write",
  "POST openai/v1/responses": "write",
  /** Each is a job. */
  "GET openai/v1/models": "write",
  "GET openai/v1/models/:model": "write",
  "GET webhooks/:jobId": "read",
  "POST webhooks/:jobId/redeliver": "write",
  "POST batch": "write",
  "GET batch": "read",
  "GET batch/:batchId": "read",
  "PUT batch/:batchId": "write",
  "POST batch/:batchId/finalize": "write",
  "POST batch/:batchId/cancel": "write",
  "POST batch/:batchId/requests": "write",
  "GET batch/:batchId/requests": "read",
  "DELETE batch/:batchId/requests/:requestId": "write",
} as const;

/** The limit against which an operation on jobs counts, by the first segment of its path. */
export function limitOf(operation: Operation): LimitedOperation | undefined {
  const [, path = ""] = operation.split(" ");
  const [word = ""] = path.split("/");
  const name = word === "status-sync" ? "status" : word;
  return LIMITED_OPERATIONS.find((limited) => limited === name);
}

export type Operation = keyof typeof NEEDED_ACCESS;

/** Adds the route of an operation on jobs, which endpoints without a queue reject. */
export type ServeJobs = (operation: Operation, handler: QueueHandler) => void;
