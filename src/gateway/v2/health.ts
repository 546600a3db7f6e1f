import { askEndpoint } from "../endpoint-directory.ts";
import type { QueueContext } from "./context.ts";

/** `GET /health`: job counters and workers by state. */
export async function health(context: QueueContext): Promise<Response> {
  const reply = await askEndpoint(context.env, context.get("endpoint"), (stub) => stub.health());
  return context.json(reply.health);
}
