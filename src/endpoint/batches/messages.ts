/** Calls of the Endpoint object about batches, and their outcomes. */
import type { BatchPage, BatchStatus, BatchSummary } from "../../contract/batch.ts";
import type { WireStatus } from "../../contract/job-status.ts";
import type { BatchPack } from "../../domain/jobs/batch.ts";
import type { Payload } from "../../domain/jobs/job-machine.ts";
import type { RateLimited, Reply, Unconfigured } from "../messages.ts";

export type BatchCall =
  | { readonly kind: "create"; readonly packs: readonly BatchPack[]; readonly idempotencyKey: string | null }
  | { readonly kind: "append"; readonly batchId: string; readonly packs: readonly BatchPack[] }
  | { readonly kind: "remove_request"; readonly batchId: string; readonly requestId: string }
  | { readonly kind: "rename"; readonly batchId: string; readonly name: string | null }
  | { readonly kind: "finalize"; readonly batchId: string }
  | { readonly kind: "cancel"; readonly batchId: string }
  | { readonly kind: "look"; readonly batchId: string };

export type BatchOutcome =
  | Unconfigured
  | RateLimited
  /** `isNew`: false when the idempotency key named an existing batch. */
  | { readonly kind: "batch"; readonly batch: BatchSummary; readonly isNew: boolean }
  | { readonly kind: "batch_not_found" }
  | { readonly kind: "request_not_found" }
  | { readonly kind: "not_a_draft"; readonly status: BatchStatus }
  | { readonly kind: "too_many_requests"; readonly requestTotal: number };

export type BatchListOutcome = { readonly kind: "batches"; readonly page: BatchPage };

/** A request of a batch; times in epoch milliseconds. */
export type BatchRequestView = {
  readonly id: string;
  readonly status: WireStatus | "DRAFT";
  readonly error: string | null;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
  readonly output: Payload | null;
};

export type BatchRequestsCall = {
  readonly batchId: string;
  readonly offset: number;
  readonly limit: number;
  /** Only the first call for a page counts towards the limits. */
  readonly isFirst: boolean;
};
export type BatchRequestsOutcome =
  | { readonly kind: "batch_not_found" }
  /** At most as many as fit into one message; the caller calls again for the rest of its page. */
  | {
      readonly kind: "batch_requests";
      readonly requests: readonly BatchRequestView[];
      readonly total: number;
    };
export type BatchRequestsReply = Reply<BatchRequestsOutcome>;
