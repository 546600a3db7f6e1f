/** Waiting for a job's end: inside the object while it is hot, on a doorbell when it is quiet. */
import { HOT_HOLD_MS } from "../../contract/limits.ts";
import type { JobView } from "../../domain/job-view.ts";
import { awaitRing } from "../doorbell.ts";
import { askEndpoint, endpointStub } from "../endpoint-directory.ts";
import { jobNotFound, type QueueContext } from "./context.ts";

/** The job once it has ended, or as it stands when `untilAt` has come. */
export async function waitForJob(context: QueueContext, jobId: string, untilAt: number): Promise<JobView> {
  const endpoint = context.get("endpoint");
  const { signal } = context.req.raw;
  for (;;) {
    const leftMs = Math.max(0, untilAt - Date.now());
    const holdMs = Math.min(leftMs, HOT_HOLD_MS);
    const reply = await askEndpoint(context.env, endpoint, (stub) => stub.status(jobId, holdMs));
    if (reply.kind === "not_found") throw jobNotFound(jobId);
    if (reply.isFinal || leftMs === 0 || signal.aborted) return reply.view;
    await awaitRing(endpointStub(context.env, endpoint.endpointId), { job: jobId }, untilAt, signal);
  }
}
