/** Answers that show a job. */
import type { JobView } from "../../domain/job-view.ts";
import { loadPayload, spliceJson } from "../payloads.ts";
import type { QueueContext } from "./context.ts";

/**
 * The status body. The output is spliced in as the text that the worker sent; null is left out, as clients
 * know it of handlers that returned nothing.
 */
export async function jobResponse(context: QueueContext, { output, ...view }: JobView): Promise<Response> {
  const json = output && (await loadPayload(context.env.PAYLOADS, output));
  const hasOutput = json !== null && json !== undefined && json !== "null";
  const body = hasOutput ? spliceJson(view, "output", json) : JSON.stringify(view);
  return context.body(body, 200, { "Content-Type": "application/json" });
}
