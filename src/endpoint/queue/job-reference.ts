/** Public ids of jobs, and the jobs behind them. */
import { decodeJobId, encodeJobId, NONCE_BYTES } from "../../domain/jobs/job-id.ts";
import { isFinal } from "../../domain/jobs/job-machine.ts";
import type { StoredJob } from "./job-store.ts";
import type { Queue } from "./queue.ts";

const SHARD = 0;

export function publicId({ seq, nonce, job }: StoredJob): string {
  return encodeJobId({ seq, nonce, isSync: job.isSync, shard: SHARD });
}

/** The job of a public id, unless there is none or it has expired. */
export function findJob(queue: Queue, jobId: string, now: number): StoredJob | undefined {
  const id = decodeJobId(jobId);
  const stored = id?.shard === SHARD ? queue.find(id.seq, id.nonce, now) : undefined;
  return stored?.job.isSync === id?.isSync ? stored : undefined;
}

export function isUnderway(stored: StoredJob | undefined): stored is StoredJob {
  return stored !== undefined && !isFinal(stored.job.state);
}

export function randomNonce(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
