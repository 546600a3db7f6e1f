/** The batches of one Endpoint object, put together. */
import type { GroupCommit } from "../durable/group-commit.ts";
import type { ObjectDatabase } from "../durable/sql.ts";
import type { BatchBook } from "./batch-book.ts";
import { BatchDesk } from "./batch-desk.ts";
import { BatchJobs } from "./batch-jobs.ts";
import { BatchWork } from "./batch-work.ts";
import type { EndpointFacts } from "./endpoint-facts.ts";
import { JobRanges } from "./job-ranges.ts";
import type { JobStorage } from "./job-storage.ts";
import type { QueueLedger } from "./queue-ledger.ts";
import type { Queue } from "./queue.ts";
import type { RequestLimits } from "./request-limits.ts";

/** `desk` is for clients, `work` for the alarm and the ends of turns. */
export type Batches = { readonly desk: BatchDesk; readonly work: BatchWork };

export type BatchesParts = {
  readonly database: ObjectDatabase;
  readonly book: BatchBook;
  readonly facts: EndpointFacts;
  readonly queue: Queue;
  readonly ledger: QueueLedger;
  readonly limits: RequestLimits;
  readonly storage: JobStorage;
  readonly commit: GroupCommit;
};

export function openBatches({ database, ...parts }: BatchesParts): Batches {
  const ranges = new JobRanges(database);
  const { store } = parts.book;
  const jobs = new BatchJobs(parts.book, ranges, parts.ledger);
  const work = new BatchWork({ ...parts, store, ranges, jobs });
  return { work, desk: new BatchDesk({ ...parts, store, jobs, work }) };
}
