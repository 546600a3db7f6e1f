/** What crosses the border of the Endpoint object by RPC. Expected results are outcomes, never exceptions. */
import type { StopReason } from "../contract/agent/agent.ts";
import type { JobView, MetricsBody, RequestsPage, TimelineEvent, WireStatus } from "../contract/job.ts";
import type { RequestMetrics, WorkerMetrics } from "../contract/metrics.ts";
import type { WebhookLogBody } from "../contract/webhook.ts";
import type { LimitedOperation } from "../contract/rate-limits.ts";
import type { ActivityRecord, JobCounts } from "../domain/metrics/activity.ts";
import type { StorageMeasure } from "../domain/limits/endpoint-storage.ts";
import type { SettledCanary } from "../domain/rollouts/canary-rule.ts";
import type { Payload } from "../domain/jobs/job-machine.ts";
import type { Gauges } from "../domain/metrics/gauges.ts";
import type { HostLoans } from "./shards/shard-state.ts";

/** The object does not know its endpoint: the caller loads the configuration, calls `configure` and repeats the call. */
export type Unconfigured = { readonly kind: "unconfigured" };

/** The endpoint has no such job. */
export type NotFound = { readonly kind: "not_found" };

/** A request above a limit. Nothing was done for it, and it does not count. */
export type RateLimited = {
  readonly kind: "rate_limited";
  readonly operation: LimitedOperation;
  /** What is exceeded: requests in the window or in progress, queued jobs, batches, bytes of all jobs or of the database. */
  readonly measure: "requests" | "concurrent" | "queued" | "batches" | StorageMeasure;
  readonly limit: number;
  readonly remaining: number;
  readonly retryAfterMs: number;
  /** Bytes in use, where the measure is bytes. */
  readonly used?: number;
};

/** What an operation's window still admits after this request. */
export type Quota = {
  readonly operation: LimitedOperation;
  readonly limit: number;
  readonly remaining: number;
  /** Time until there will be more. */
  readonly freesInMs: number;
};

/** A request that counts in the window. */
export type Counted = { readonly kind: "counted"; readonly quota: Quota };

/** The outcome of an operation that has limits; no quota when the call continued an earlier request. */
export type Limited<Outcome> = RateLimited | (Outcome & { readonly quota: Quota | null });

/** What the object replies to a call of an operation that has limits. */
export type Reply<Outcome> = Unconfigured | Limited<Outcome>;

/** The slot of a request that continues between calls. The next call, or its wake-up channel, brings it back. */
export type SlotRef = { readonly operation: LimitedOperation; readonly id: string };

export type SubmitCall = {
  /** The operation as which it counts; absent for run or runsync. */
  readonly operation?: "openai";
  /** The caller reads the stream of the job next, ended or not, and keeps its slot for that. */
  readonly keepsSlot?: boolean;
  readonly isSync: boolean;
  readonly isLowPriority: boolean;
  readonly ttlMs: number;
  /** Null for the endpoint's default. */
  readonly executionTimeoutMs: number | null;
  /** How long the client announced to wait for the result, in ms; null, or absent in old callers, if it did not. */
  readonly waitMs?: number | null;
  readonly input: Payload;
  /** JSON object with what else the worker gets: webhook, policy, s3Config. */
  readonly optionsJson: string;
  /** The options contain a webhook, which is called when the job ends; absent in old callers for none. */
  readonly hasWebhook?: boolean;
  /** The same key gives the same job for as long as that lives; null, or absent in old callers, for none. */
  readonly idempotencyKey?: string | null;
  /** How long the call may wait for the result inside the object, in ms; 0 for not at all. */
  readonly holdMs: number;
  /** Objects of the endpoint that take new jobs, as far as the caller knows; absent for one. */
  readonly shards?: number;
};

/** A job, and the slot of a caller that continues to wait for it. */
export type SlottedView = {
  readonly view: JobView<Payload | null>;
  readonly isFinal: boolean;
  readonly slot: SlotRef | null;
};

export type SubmitOutcome =
  | Unconfigured
  | RateLimited
  | ({
      readonly kind: "submitted";
      /** False when the idempotency key named an existing job. */
      readonly isNew: boolean;
      /** Where more than one object takes new jobs, or the caller believes so. */
      readonly spread?: ShardSpread;
    } & SlottedView);

/** How many objects take new jobs, and how many jobs wait in this one. */
export type ShardSpread = { readonly shards: number; readonly queued: number };

/** Chunks in their wire form, `{"output":…}` after `{"output":…}` with commas between. */
export type ChunkRun = {
  /** Position of the last chunk of the run in the stream of its job; the first chunk has position 1. */
  readonly position: number;
  readonly count: number;
  readonly wire: string;
  /** The attempt that yielded them. */
  readonly attempt: number;
};

export type DrainOutcome =
  | { readonly kind: "not_found" }
  | {
      readonly kind: "found";
      readonly status: WireStatus;
      readonly isFinal: boolean;
      readonly runs: readonly ChunkRun[];
      /** Position of the last chunk that was drained; a wait for more continues there. */
      readonly position: number;
      /** The slot of a caller that continues to wait. */
      readonly slot: SlotRef | null;
    };

export type DrainReply = Reply<DrainOutcome>;

export type ReadStreamOutcome =
  | { readonly kind: "not_found" }
  | {
      readonly kind: "found";
      readonly view: JobView<Payload | null>;
      /** The current attempt of the job, or its last one. */
      readonly attempt: number;
      readonly isFinal: boolean;
      readonly runs: readonly ChunkRun[];
      /** The slot of a caller that continues to read; null when there will be no more chunks. */
      readonly slot: SlotRef | null;
    };

export type StatusOutcome = { readonly kind: "not_found" } | ({ readonly kind: "found" } & SlottedView);

/** The slot is for the status call that follows, which is part of the same request. */
export type ExpireOutcome =
  | { readonly kind: "not_found" }
  | { readonly kind: "done"; readonly slot: SlotRef };

export type TimelineReply =
  | Unconfigured
  | { readonly kind: "not_found" }
  | {
      readonly kind: "timeline";
      readonly events: readonly TimelineEvent[];
      /** Of its last attempt. */
      readonly queuedAt: number;
    };

export type CancelOutcome =
  | { readonly kind: "not_found" }
  | { readonly kind: "done"; readonly id: string; readonly status: WireStatus };

export type RetryOutcome =
  | { readonly kind: "not_found" }
  | { readonly kind: "not_retryable"; readonly status: WireStatus }
  | { readonly kind: "done"; readonly id: string };

export type PurgeOutcome = { readonly kind: "purged"; readonly removed: number };

export type ListCall = {
  readonly status: WireStatus | null;
  readonly offset: number;
  readonly limit: number;
};
export type ListOutcome = { readonly kind: "jobs"; readonly page: RequestsPage };

export type WebhookLogOutcome =
  | { readonly kind: "not_found" }
  | { readonly kind: "log"; readonly log: WebhookLogBody };

export type RedeliverOutcome =
  | WebhookLogOutcome
  | { readonly kind: "refused"; readonly reason: "no_webhook" | "not_ended" | "never_sent" };

export type ActivityReport = { readonly requests: RequestMetrics; readonly workers: WorkerMetrics };

export type ActivityReply = Unconfigured | ({ readonly kind: "activity" } & ActivityReport);

/** What the endpoint did since it exists, and its gauges now. */
export type TotalsReply =
  | Unconfigured
  | { readonly kind: "totals"; readonly total: ActivityRecord; readonly levels: Gauges };

/** What jobs did in an hour: exact. Times are sums in ms. */
export type JobHour = {
  readonly hour: number;
  readonly counts: Readonly<JobCounts>;
  readonly delayMs: number;
  readonly executionMs: number;
  readonly coldStarts: number;
  /** Of workers, while they had jobs or requests. */
  readonly busyMs: number;
};

export type UsageReply = Unconfigured | { readonly kind: "usage"; readonly hours: readonly JobHour[] };

/** `json`: the body of `health` in contract/job.ts. */
export type HealthReply = Unconfigured | { readonly kind: "health"; readonly json: string };

export type TrialReply = { readonly kind: "trial"; readonly until: number };

export type WorkersReply =
  | Unconfigured
  | { readonly kind: "workers"; readonly metrics: MetricsBody; readonly busyWorkers: readonly string[] };

export type AttemptRef = { readonly jobId: string; readonly attempt: number };

/** The result of an attempt, as its agent reports it. */
export type AttemptReport = AttemptRef &
  (
    | { readonly kind: "completed"; readonly output: Payload | null }
    | { readonly kind: "failed"; readonly error: string; readonly output: Payload | null }
    | { readonly kind: "timed_out" }
    | { readonly kind: "lost"; readonly reason: string }
  );

/** Chunks from number `from` on, each as JSON text. `error`: why they cannot be read, which ends the attempt. */
export type Chunks = AttemptRef & {
  readonly from: number;
  readonly outputs: readonly ChunkJson[];
  readonly error?: string;
};
export type ChunkJson = { readonly json: string; readonly sizeBytes: number };
export type ChunkAck = AttemptRef & { readonly received: number };

export type RunningAttempt = AttemptRef & {
  readonly progressJson: string | null;
  /** When its worker took the job, and when its handler ended, epoch ms; absent while unknown. */
  readonly handlerStartedAt?: number;
  readonly handlerFinishedAt?: number;
};

/** An attempt whose result is to be stored under `key`. */
export type UploadRef = AttemptRef & { readonly hostId: string; readonly key: string };

export type UploadReply = Unconfigured | { readonly kind: "answer"; readonly isAccepted: boolean };

export type Slots = readonly { readonly workerId: string; readonly free: number }[];

export type ExchangeCall = {
  readonly hostId: string;
  readonly session: string;
  /** The session of the agent's process before. */
  readonly previousSession?: string | undefined;
  readonly turn: number;
  /** When the newest reply was made that this session of the agent has got, by this object's clock, epoch ms. */
  readonly newestReplyAt?: number | undefined;
  readonly openTurns: readonly number[];
  readonly running: readonly RunningAttempt[];
  readonly reports: readonly AttemptReport[];
  readonly chunks: readonly Chunks[];
  readonly slots: Slots;
  /** The agent waits for a job or a stop. */
  readonly isWaiting: boolean;
  /** It has waited, and looks again: what it lists is as old as the agent's call. */
  readonly isRepeated?: true;
  /** The number of the followers of the logs (log-followers.ts) that the agent knows; absent if it has no use for it. */
  readonly follow?: number | undefined;
  /** The number of what the agent knows of the objects of the endpoint (shards/shard-state.ts); likewise. */
  readonly shards?: number | undefined;
};

/** A job that was claimed for a worker. The gateway splices its input and options into the job that it dispatches. */
export type Claim = AttemptRef & {
  readonly workerId: string;
  readonly input: Payload;
  readonly optionsJson: string;
  readonly executionTimeoutMs: number;
};

export type Stop = AttemptRef & { readonly reason: StopReason };
export type Ack = AttemptRef & { readonly outcome: "accepted" | "refused" };

export type ExchangeAnswer = {
  /** When the object made it, epoch ms; absent where it made none. */
  readonly at?: number;
  readonly acks: readonly Ack[];
  readonly chunkAcks: readonly ChunkAck[];
  readonly jobs: readonly Claim[];
  readonly stops: readonly Stop[];
  /** The number of the followers of the logs; absent when that is not news. */
  readonly follow?: number;
  /** Which workers of the host serve which objects; absent when that is not news. */
  readonly shards?: HostLoans;
  /** A verdict that the configuration does not have yet; repeated until it does. */
  readonly canary?: SettledCanary;
};

export type FollowReply = { readonly kind: "follow"; readonly follow: number };

export type ExchangeReply =
  | Unconfigured
  | ({ readonly kind: "answer" } & ExchangeAnswer)
  /**
   * Nothing yet: wait on a wake-up channel, then call again without reports and chunks. `free`: slots of workers that
   * may take jobs; `terms` changes whenever other workers may; `at`: when the object looked, epoch ms.
   */
  | { readonly kind: "quiet"; readonly free: number; readonly terms: string; readonly at: number }
  /** A newer exchange of this agent took the place of this one. `at`: when, epoch ms. */
  | { readonly kind: "superseded"; readonly at: number };
