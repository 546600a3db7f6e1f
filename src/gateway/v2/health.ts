import { askEndpoint } from "../endpoint-directory.ts";
import type { QueueContext } from "./context.ts";

/** `GET /health`: job counters, workers by state, and the limits with what is used of them. */
export async function health(context: QueueContext): Promise<Response> {
  const reply = await askEndpoint(context.env, context.get("endpoint"), (stub) => stub.health());
  return context.json(reply.health);
}

/** `GET /metrics`: workers by state, and which of them can take a job now. */
export async function metrics(context: QueueContext): Promise<Response> {
  const reply = await askEndpoint(context.env, context.get("endpoint"), (stub) => stub.health());
  return context.json(reply.metrics);
}
