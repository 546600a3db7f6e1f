/** Answers that show a job. */
import type { JobView } from "../../domain/job-view.ts";
import { loadPayload, spliceJson } from "../payloads.ts";
import type { QueueContext } from "./context.ts";

/**
 * The status body. The output is spliced in as the text that the worker sent; null is left out, as clients
 * know it of handlers that returned nothing.
 */
export async function jobBody(context: QueueContext, { output, ...view }: JobView): Promise<string> {
  const json = output && (await loadPayload(context.env.PAYLOADS, output));
  const hasOutput = json !== null && json !== undefined && json !== "null";
  return hasOutput ? spliceJson(view, "output", json) : JSON.stringify(view);
}

export async function jobResponse(context: QueueContext, view: JobView): Promise<Response> {
  return context.body(await jobBody(context, view), 200, { "Content-Type": "application/json" });
}
