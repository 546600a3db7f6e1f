import type { QueueContext } from "../context.ts";
import { callWithinLimits } from "../limits.ts";

/** `POST /purge-queue`: cancels every job that waits; those that run go on. */
export async function purgeQueue(context: QueueContext): Promise<Response> {
  const reply = await callWithinLimits(context, (stub) => stub.purge());
  return context.json({ removed: reply.removed, status: "completed" });
}
