/** For how long what has ended can be read. */
import type { KnownJob } from "./client.ts";

/** Of a run and of a runsync that names no wait, as docs/reference/queue-api.md says. */
const RUN_MS = 30 * 60_000;
const RUNSYNC_MS = 60_000;

/** From the end of the job on. */
export function retentionOf({ jobId }: Pick<KnownJob, "jobId">): number {
  return jobId.startsWith("sync-") ? RUNSYNC_MS : RUN_MS;
}
