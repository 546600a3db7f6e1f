/** Jobs of one object as users see them in lists. */
import type { RequestRow } from "../../contract/job.ts";
import type { JobState } from "../../domain/jobs/job-machine.ts";
import { listJob } from "../../domain/jobs/job-view.ts";
import { publicId } from "./job-store.ts";
import type { QueueLedger } from "./queue-ledger.ts";
import type { Queue } from "./queue.ts";

export type ListQuery = {
  /** Null for all. */
  readonly state: JobState | null;
  readonly offset: number;
  readonly limit: number;
};
/** `total`: jobs of the state, expired ones that are not removed yet among them. */
export type ListedJobs = { readonly requests: readonly RequestRow[]; readonly total: number };

type Source = { readonly queue: Queue; readonly ledger: Pick<QueueLedger, "countIn"> };

/** The stored jobs, the newest first. */
export function listJobs(
  { queue, ledger }: Source,
  { state, offset, limit }: ListQuery,
  now: number,
): ListedJobs {
  const found = queue.newestFirst(state, now).drop(offset).take(limit);
  const requests = [...found.map((stored) => listJob(publicId(stored), stored.job, now))];
  return { requests, total: ledger.countIn(state) };
}
