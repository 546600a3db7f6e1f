/** Answers that show a job. */
import type { Payload } from "../../../domain/jobs/job-machine.ts";
import type { JobView } from "../../../domain/jobs/job-view.ts";
import { openPayload } from "../../../durable/stored-payload.ts";
import { jsonResponse, spliceParts, type JsonPart } from "../../spliced-json.ts";
import { jobNotFound, type QueueContext } from "../context.ts";

/**
 * The status body. The output is spliced in as the text that the worker sent; null is left out, as clients
 * know it of handlers that returned nothing.
 */
export async function jobBody(context: QueueContext, { output, ...view }: JobView): Promise<JsonPart[]> {
  const part = output && (await outputPart(context, output));
  if (part) return part === "null" ? [JSON.stringify(view)] : spliceParts(view, "output", [part]);
  // The output went with its job, or with the attempt that a retry replaced.
  if (output && view.status === "COMPLETED") throw jobNotFound(view.id);
  return [JSON.stringify(view)];
}

export async function jobResponse(context: QueueContext, view: JobView): Promise<Response> {
  return jsonResponse(context, await jobBody(context, view));
}

/** Opened before the answer begins: it can still become another one when there is nothing. */
async function outputPart({ env }: QueueContext, output: Payload): Promise<JsonPart | undefined> {
  if (output.kind === "inline") return output.json;
  const stream = await openPayload(env.PAYLOADS, output);
  return stream && { sizeBytes: output.sizeBytes, open: async () => stream };
}
