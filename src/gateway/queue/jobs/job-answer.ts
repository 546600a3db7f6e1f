/** The answers that show a job, and the wait for its end. */
import { awaitWakeUp, CHANNEL_WAIT_MAX_MS } from "../../wake-up.ts";
import { IN_OBJECT_WAIT_MS } from "../../../durable/waiters.ts";
import { shardOfJob, type JobView } from "../../../contract/job.ts";
import type { Payload } from "../../../domain/jobs/job-machine.ts";
import { openPayload } from "../../../durable/stored-payload.ts";
import type { SlotRef } from "../../../endpoint/messages.ts";
import { endpointObject } from "../../../management/objects.ts";
import { type JsonPart, jsonResponse, spliceParts } from "../../spliced-json.ts";
import { jobNotFound, type QueueContext } from "../context.ts";
import { callAboutJob, slotQuery } from "../limits.ts";

/**
 * The status body. The output is spliced in byte for byte; null is omitted, as clients expect it of handlers that
 * returned nothing.
 */
export async function jobBody(
  context: QueueContext,
  { output, ...view }: JobView<Payload | null>,
): Promise<JsonPart[]> {
  const part = output && (await outputPart(context, output));
  if (part) return part === "null" ? [JSON.stringify(view)] : spliceParts(view, "output", [part]);
  // The output was removed with its job, or with the attempt that a retry replaced.
  if (output && view.status === "COMPLETED") throw jobNotFound(view.id);
  return [JSON.stringify(view)];
}

export async function jobResponse(context: QueueContext, view: JobView<Payload | null>): Promise<Response> {
  return jsonResponse(context, await jobBody(context, view));
}

/** Opened before the answer begins, which can still become an error when the object is gone. */
async function outputPart({ env }: QueueContext, output: Payload): Promise<JsonPart | undefined> {
  if (output.kind === "inline") return output.json;
  const stream = await openPayload(env.PAYLOADS, output);
  return stream && { sizeBytes: output.sizeBytes, open: async () => stream };
}

/** The slot of an earlier call, and the job as that call has seen it if it has waited. */
type WaitState = { readonly slot: SlotRef | null; readonly view?: JobView<Payload | null> };

/**
 * The job when it has ended, or its state at `untilAt`. All calls of one wait count as one request: each passes on the
 * slot of the one before. A request that has waited inside the object continues on the wake-up channel.
 */
export async function waitForJob(
  context: QueueContext,
  jobId: string,
  untilAt: number,
  state: WaitState,
): Promise<JobView<Payload | null>> {
  const { signal } = context.req.raw;
  let { slot, view } = state;
  for (;;) {
    if (view && slot) {
      await awaitJob(context, jobId, slot, Math.min(untilAt, Date.now() + CHANNEL_WAIT_MAX_MS));
      // The slot of a client that has gone was freed with its channel; another call would take one again.
      if (signal.aborted) return view;
    }
    const leftMs = Math.max(0, untilAt - Date.now());
    const holdMs = Math.min(leftMs, IN_OBJECT_WAIT_MS);
    const previousSlot = slot;
    const reply = await callAboutJob(context, jobId, (stub) => stub.status(jobId, holdMs, previousSlot));
    if (reply.kind === "not_found") throw jobNotFound(jobId);
    ({ slot, view } = reply);
    if (reply.isFinal || !slot) return view;
  }
}

async function awaitJob(context: QueueContext, jobId: string, slot: SlotRef, untilAt: number): Promise<void> {
  const { endpointId } = context.get("endpoint");
  const query = { job: jobId, ...slotQuery(slot, untilAt) };
  await awaitWakeUp(
    endpointObject(context.env, endpointId, shardOfJob(jobId)),
    query,
    untilAt,
    context.req.raw.signal,
  );
}
