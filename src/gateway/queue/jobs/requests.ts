import { requestsQuerySchema } from "../../../contract/job.ts";
import { invalidInput } from "../../../contract/validation-issues.ts";
import type { QueueContext } from "../context.ts";
import { callWithinLimits } from "../limits.ts";

/** `GET /requests?status=&offset=&limit=`: the jobs that are still there, the newest first. */
export async function requests(context: QueueContext): Promise<Response> {
  const query = requestsQuerySchema.safeParse(context.req.query());
  if (!query.success) throw invalidInput(query.error);
  const { status = null, offset, limit } = query.data;
  const reply = await callWithinLimits(context, (stub) => stub.list({ status, offset, limit }));
  return context.json(reply.page);
}
