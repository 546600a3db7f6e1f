import { batchPageSchema } from "../../../contract/batch.ts";
import { invalidInput } from "../../../contract/validation-issues.ts";
import type { QueueContext } from "../context.ts";
import { callWithinLimits } from "../limits.ts";

/** `GET /batch?offset=&limit=`: the endpoint's batches, the newest first. */
export async function listBatches(context: QueueContext): Promise<Response> {
  const query = batchPageSchema.safeParse(context.req.query());
  if (!query.success) throw invalidInput(query.error);
  const { offset, limit } = query.data;
  const reply = await callWithinLimits(context, (stub) => stub.batches({ offset, limit }));
  return context.json(reply.page);
}
