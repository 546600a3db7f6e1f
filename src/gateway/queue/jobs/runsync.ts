import { waitSchema } from "../../../contract/job.ts";
import { RUNSYNC_BODY_MAX_BYTES, WAIT_DEFAULT_MS } from "../../../contract/limits.ts";
import { readParameter, type QueueContext } from "../context.ts";
import { jobResponse } from "./job-body.ts";
import { submitJob } from "./submit.ts";
import { waitForJob } from "./wait-for-job.ts";
import { IN_OBJECT_WAIT_MS } from "../../../durable/waiters.ts";

/** A strict client reads this reply as that of an ended job, whatever its status says. */
const NO_WORKER_YET = { workerId: "" };

/**
 * `POST /runsync?wait=ms`: queues a job and answers when it has ended, or after `wait` (90 s) with the job
 * as it stands then. A client that hangs up does not cancel its job.
 */
export async function runsync(context: QueueContext): Promise<Response> {
  const waitMs = readParameter(context, "wait", waitSchema) ?? null;
  const untilAt = Date.now() + (waitMs ?? WAIT_DEFAULT_MS);
  const submitted = await submitJob(context, {
    isSync: true,
    maxBytes: RUNSYNC_BODY_MAX_BYTES,
    waitMs,
    holdMs: IN_OBJECT_WAIT_MS,
  });
  const view = submitted.isFinal
    ? submitted.view
    : await waitForJob(context, submitted.view.id, untilAt, submitted);
  return jobResponse(context, { ...NO_WORKER_YET, ...view });
}
