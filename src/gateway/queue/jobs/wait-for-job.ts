/** Waiting for a job's end: inside the object while it is hot, on a doorbell when it is quiet. */
import { CHANNEL_WAIT_MAX_MS } from "../../../contract/limits.ts";
import type { JobView } from "../../../domain/jobs/job-view.ts";
import type { SlotRef } from "../../../endpoint/messages.ts";
import { awaitWakeUp } from "../../wake-up.ts";
import { endpointStub } from "../../endpoint-directory.ts";
import { jobNotFound, type QueueContext } from "../context.ts";
import { callWithinLimits, slotQuery } from "../limits.ts";
import { IN_OBJECT_WAIT_MS } from "../../../durable/waiters.ts";

/** The slot that an earlier call gave, and the job as it stood then if that call has waited for it. */
type WaitState = { readonly slot: SlotRef | null; readonly view?: JobView };

/**
 * The job once it has ended, or as it stands when `untilAt` has come. All calls of one wait are one request
 * to the limits: each brings the slot that the last one gave. Who has waited inside the object already goes on at the doorbell.
 */
export async function waitForJob(
  context: QueueContext,
  jobId: string,
  untilAt: number,
  state: WaitState,
): Promise<JobView> {
  const { signal } = context.req.raw;
  let { slot, view } = state;
  for (;;) {
    if (view && slot) {
      await awaitJob(context, jobId, slot, Math.min(untilAt, Date.now() + CHANNEL_WAIT_MAX_MS));
      // Who hung up gave its slot back with the doorbell; another look would only take it again.
      if (signal.aborted) return view;
    }
    const leftMs = Math.max(0, untilAt - Date.now());
    const holdMs = Math.min(leftMs, IN_OBJECT_WAIT_MS);
    const previousSlot = slot;
    const reply = await callWithinLimits(context, (stub) => stub.status(jobId, holdMs, previousSlot));
    if (reply.kind === "not_found") throw jobNotFound(jobId);
    ({ slot, view } = reply);
    if (reply.isFinal || !slot) return view;
  }
}

async function awaitJob(context: QueueContext, jobId: string, slot: SlotRef, untilAt: number): Promise<void> {
  const { endpointId } = context.get("endpoint");
  const query = { job: jobId, ...slotQuery(slot, untilAt) };
  await awaitWakeUp(endpointStub(context.env, endpointId), query, untilAt, context.req.raw.signal);
}
