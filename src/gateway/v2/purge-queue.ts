import { askEndpoint } from "../endpoint-directory.ts";
import type { QueueContext } from "./context.ts";

/** `POST /purge-queue`: cancels every job that waits; those that run go on. */
export async function purgeQueue(context: QueueContext): Promise<Response> {
  const reply = await askEndpoint(context.env, context.get("endpoint"), (stub) => stub.purge());
  return context.json({ removed: reply.removed, status: "completed" });
}
