import { metricsWindowSchema, type MetricsWindow } from "../../contract/metrics.ts";
import { callEndpoint } from "../endpoint-directory.ts";
import { readParameter, type QueueContext } from "./context.ts";

/** `GET /health`: job counters, workers by state, and the limits with what is used of them. */
export async function health(context: QueueContext): Promise<Response> {
  const reply = await callEndpoint(context.env, context.get("endpoint"), (stub) => stub.health());
  return context.json(reply.health);
}

/** `GET /metrics`: workers by state, and which of them can take a job now. */
export async function metrics(context: QueueContext): Promise<Response> {
  const reply = await callEndpoint(context.env, context.get("endpoint"), (stub) => stub.health());
  return context.json(reply.metrics);
}

/** `GET /metrics/requests`: how many jobs there were and how long they took, within a window. */
export async function requestMetrics(context: QueueContext): Promise<Response> {
  return context.json((await activityOf(context)).requests);
}

/** `GET /metrics/workers`: what workers did and how many jobs waited, within a window. */
export async function workerMetrics(context: QueueContext): Promise<Response> {
  return context.json((await activityOf(context)).workers);
}

async function activityOf(context: QueueContext) {
  const window: MetricsWindow = readParameter(context, "window", metricsWindowSchema) ?? "1h";
  return await callEndpoint(context.env, context.get("endpoint"), (stub) => stub.activity(window));
}
