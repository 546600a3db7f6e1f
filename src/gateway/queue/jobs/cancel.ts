import { jobNotFound, type QueueContext } from "../context.ts";
import { callWithinLimits } from "../limits.ts";

/** `POST /cancel/<id>`: ends a queued or running job; a job that has ended stays as it is. */
export async function cancel(context: QueueContext): Promise<Response> {
  const jobId = context.req.param("jobId") ?? "";
  const reply = await callWithinLimits(context, (stub) => stub.cancel(jobId));
  if (reply.kind === "not_found") throw jobNotFound(jobId);
  return context.json({ id: reply.id, status: reply.status });
}
