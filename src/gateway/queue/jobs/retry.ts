import { ServiceError } from "../../../contract/errors.ts";
import { jobNotFound, type QueueContext } from "../context.ts";
import { callWithinLimits } from "../limits.ts";

/** `POST /retry/<id>`: queues a failed or timed-out job again, with the same id and input. */
export async function retry(context: QueueContext): Promise<Response> {
  const jobId = context.req.param("jobId") ?? "";
  const reply = await callWithinLimits(context, (stub) => stub.retry(jobId));
  switch (reply.kind) {
    case "not_found":
      throw jobNotFound(jobId);
    case "not_retryable":
      throw new ServiceError(
        "job_not_retryable",
        `Job ${jobId} is ${reply.status}; only a FAILED or TIMED_OUT job can be retried. Submit a new one instead.`,
      );
    case "done":
      return context.json({ id: reply.id, status: "IN_QUEUE" });
  }
}
