import { readWait, type QueueContext } from "./context.ts";
import { jobResponse } from "./job-body.ts";
import { waitForJob } from "./wait-for-job.ts";

/** `GET|POST /status/<id>`: the job as it stands; with `?wait=ms` once it has ended, or after that time. */
export async function status(context: QueueContext): Promise<Response> {
  return answerAfter(context, readWait(context, 0));
}

/** `GET|POST /status-sync/<id>?wait=ms`: the same, waiting 90 s when `wait` is absent. */
export async function statusSync(context: QueueContext): Promise<Response> {
  return answerAfter(context, readWait(context));
}

async function answerAfter(context: QueueContext, waitMs: number): Promise<Response> {
  const jobId = context.req.param("jobId") ?? "";
  return jobResponse(context, await waitForJob(context, jobId, Date.now() + waitMs));
}
