import { RUN_BODY_MAX_BYTES } from "../../../contract/limits.ts";
import type { QueueContext } from "../context.ts";
import { submitJob } from "./submit.ts";

/** `POST /run`: queues a job and answers at once with its id. */
export async function run(context: QueueContext): Promise<Response> {
  const { view, isNew } = await submitJob(context, {
    isSync: false,
    maxBytes: RUN_BODY_MAX_BYTES,
    waitMs: null,
    holdMs: 0,
  });
  return context.json({ id: view.id, status: isNew ? "IN_QUEUE" : view.status });
}
