/** The batches of one Endpoint object, put together. */
import type { GroupCommit } from "../../durable/group-commit.ts";
import type { ObjectDatabase } from "../../durable/sql.ts";
import type { BatchIndex } from "./batch-index.ts";
import { BatchHandlers } from "./batch-handlers.ts";
import { BatchJobs } from "./batch-jobs.ts";
import { BatchWork } from "./batch-work.ts";
import type { EndpointFacts } from "../endpoint-facts.ts";
import { JobRanges } from "../queue/job-store.ts";
import type { JobStorage } from "../queue/job-storage.ts";
import type { QueueLedger } from "../queue/queue-ledger.ts";
import type { Queue } from "../queue/queue.ts";
import type { RequestLimits } from "../limits/request-limits.ts";

/** `handlers` are for clients, `work` for the alarm and the ends of turns. */
export type Batches = { readonly handlers: BatchHandlers; readonly work: BatchWork };

export type BatchesParts = {
  readonly database: ObjectDatabase;
  readonly batchIndex: BatchIndex;
  readonly facts: EndpointFacts;
  readonly queue: Queue;
  readonly ledger: QueueLedger;
  readonly limits: RequestLimits;
  readonly storage: JobStorage;
  readonly commit: GroupCommit;
};

export function openBatches({ database, ...parts }: BatchesParts): Batches {
  const ranges = new JobRanges(database);
  const { store } = parts.batchIndex;
  const jobs = new BatchJobs(parts.batchIndex, ranges, parts.ledger);
  const work = new BatchWork({ ...parts, store, ranges, jobs });
  return { work, handlers: new BatchHandlers({ ...parts, store, jobs, work }) };
}
