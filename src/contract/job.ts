/** What clients of the queue API send and receive. */
import * as z from "zod";
import { jsonValueSchema, rawJsonSchema } from "../json/raw-json.ts";
import type { Immutable } from "./immutable.ts";
import { LIMITED_OPERATIONS, type LimitedOperation } from "./rate-limits.ts";
import { EXECUTION_TIMEOUT_MAX_MS, EXECUTION_TIMEOUT_MIN_MS, TTL_DEFAULT_MS, TTL_MAX_MS } from "./limits.ts";

const TTL_MIN_MS = 10_000;
const WAIT_MIN_MS = 1_000;
const WAIT_MAX_MS = 5 * 60_000;

/** Longest webhook address, s3Config member. */
const OPTION_MAX_LENGTH = 4_096;
/** s3Config of a job, with what it holds beside the members that are known. */
const S3_CONFIG_MAX_BYTES = 32 * 1024;
/** Jobs of one page of `GET requests`. */
const REQUESTS_PAGE_DEFAULT = 50;
const REQUESTS_PAGE_MAX = 500;

const absentIfEmpty = (value: unknown) => (value === "" ? undefined : value);

const wholeNumber = z.coerce.number("must be a number").int("must be a whole number");

const milliseconds = (min: number, max: number) =>
  z
    .number("must be a number of milliseconds")
    .int("must be a whole number of milliseconds")
    .min(min, `must be at least ${min} ms`)
    .max(max, `must be at most ${max} ms`);

/** An object of options, in which null means absent. */
function optionsSchema<Shape extends z.ZodRawShape>(shape: Shape) {
  const withoutNulls = (value: unknown) => (isRecord(value) ? dropNulls(value) : value);
  return z.preprocess(withoutNulls, z.object(shape, "must be an object"));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function dropNulls(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null));
}

const policySchema = optionsSchema({
  executionTimeout: milliseconds(EXECUTION_TIMEOUT_MIN_MS, EXECUTION_TIMEOUT_MAX_MS)
    .optional()
    .meta({ description: "Milliseconds that the handler may take; otherwise as the endpoint says." }),
  cost: z
    .boolean("must be true or false")
    .optional()
    .meta({ description: "The webhook says what the job cost." }),
  lowPriority: z
    .boolean("must be true or false")
    .optional()
    .meta({ description: "Others go first, and no worker is started for it." }),
  ttl: milliseconds(TTL_MIN_MS, TTL_MAX_MS)
    .optional()
    .meta({
      description: `Milliseconds until the job is deleted in any state; ${TTL_DEFAULT_MS} by default.`,
    }),
});

const optionSchema = z
  .string("must be text")
  .max(OPTION_MAX_LENGTH, `must have at most ${OPTION_MAX_LENGTH} characters`);

const s3ConfigSchema = optionsSchema({
  accessId: optionSchema.optional(),
  accessSecret: optionSchema.optional(),
  bucketName: optionSchema.optional(),
  endpointUrl: optionSchema.optional(),
  objectPath: optionSchema.optional(),
});

const webhookSchema = z
  .url({ protocol: /^https?$/, error: "must be an http or https URL" })
  .max(OPTION_MAX_LENGTH, `must have at most ${OPTION_MAX_LENGTH} characters`);

const optionalWebhookSchema = z.preprocess(
  (value) => (value === "" ? undefined : value),
  webhookSchema.nullish(),
);

/**
 * Body of run and runsync. Unknown members are dropped; `input` may be any JSON value but must be there.
 * Some clients send null or "" for an absent option, so both mean absent.
 */
export const jobRequestSchema = z
  .object(
    {
      input: jsonValueSchema.meta({ description: "What the handler gets; any JSON value." }),
      webhook: optionalWebhookSchema.meta({
        description: "Called when the job has ended.",
        example: "https://example.com/hook",
      }),
      webhookV2: optionalWebhookSchema.meta({ description: "The same; `webhook` goes first." }),
      policy: policySchema.nullish(),
      s3Config: s3ConfigSchema.nullish().meta({ description: "Storage that the worker may use." }),
    },
    "must be a JSON object",
  )
  .meta({ id: "JobRequest" });

/** Validated by its meaning, and kept as it was sent: the worker also gets members that the edge does not know. */
const rawS3ConfigSchema = rawJsonSchema
  .superRefine((raw, context) => {
    const issues = s3ConfigSchema.nullable().safeParse(JSON.parse(raw.json)).error?.issues ?? [];
    for (const { path, message } of issues) context.addIssue({ code: "custom", path, message });
    if (raw.sizeBytes > S3_CONFIG_MAX_BYTES)
      context.addIssue(`must have at most ${S3_CONFIG_MAX_BYTES} bytes`);
  })
  .transform((raw) => (raw.json === "null" ? undefined : raw));

/** The same request with its input and s3Config as the JSON strings that came. */
export const receivedJobRequestSchema = jobRequestSchema.extend({
  input: rawJsonSchema,
  s3Config: rawS3ConfigSchema.optional(),
});
export type JobRequest = z.infer<typeof receivedJobRequestSchema>;

/** The members of a request that are texts; the payload is the first. */
export const JOB_REQUEST_CUTS = [["input"], ["s3Config"]] as const;

/** The `wait` query parameter: milliseconds; a value out of range is rejected, not clamped. */
export const waitSchema = z.coerce
  .number("must be a number of milliseconds")
  .int("must be a whole number of milliseconds")
  .min(WAIT_MIN_MS, `must be at least ${WAIT_MIN_MS} ms`)
  .max(WAIT_MAX_MS, `must be at most ${WAIT_MAX_MS} ms`);

/** The `ttl` query parameter of status: the remaining life of the job in milliseconds. */
export const remainingTtlSchema = z.coerce
  .number("must be a number of milliseconds")
  .int("must be a whole number of milliseconds")
  .min(TTL_MIN_MS, `must be at least ${TTL_MIN_MS} ms`)
  .max(TTL_MAX_MS, `must be at most ${TTL_MAX_MS} ms`);

/** A query parameter that is on or off. */
export const flagSchema = z
  .enum(["1", "true", "0", "false"], "must be 1 or 0")
  .transform((value) => value === "1" || value === "true");

export const WIRE_STATUSES = [
  "IN_QUEUE",
  "IN_PROGRESS",
  "COMPLETED",
  "FAILED",
  "CANCELLED",
  "TIMED_OUT",
] as const;
export type WireStatus = (typeof WIRE_STATUSES)[number];

export const QUEUE_REASONS = [
  "no_host",
  "no_matching_gpu",
  "storage_full",
  "budget_reached",
  "workers_max_is_zero",
  "at_max_workers",
  "image_pulling",
  "worker_starting",
  "worker_crash_looping",
  "low_priority_waiting",
  "waiting_for_share",
] as const;
/** Why a job is still queued. */
export type QueueReason = (typeof QUEUE_REASONS)[number];

/** Query of `requests`; an empty parameter is an absent one. */
/** The object of its endpoint that has a job, which the id ends with; 0 for a text that is no id. */
export function shardOfJob(jobId: string): number {
  return Number(/-s(\d{1,4})$/.exec(jobId)?.[1] ?? 0);
}

export const requestsQuerySchema = z.object({
  status: z.preprocess(
    absentIfEmpty,
    z.enum(WIRE_STATUSES, `must be one of ${WIRE_STATUSES.join(", ")}`).optional(),
  ),
  offset: z.preprocess(absentIfEmpty, wholeNumber.min(0, "must be 0 or more").default(0)),
  limit: z.preprocess(
    absentIfEmpty,
    wholeNumber
      .min(1, "must be at least 1")
      .max(REQUESTS_PAGE_MAX, `must be at most ${REQUESTS_PAGE_MAX}`)
      .default(REQUESTS_PAGE_DEFAULT),
  ),
});

// Answers

const time = z.int().meta({ description: "Epoch milliseconds." });
const delayTime = z.int().meta({
  description: "Milliseconds until a worker took the job, its start included; so far, while it waits.",
});
const executionTime = z
  .int()
  .meta({ description: "Milliseconds from then to the result; so far, while the job runs, and 0 before." });
const wireStatusSchema = z.enum(WIRE_STATUSES).meta({ id: "JobStatus" });

const queueViewSchema = z
  .object({
    position: z.int().meta({ description: "Place in the queue: 1 for the job that goes next." }),
    reason: z.enum(QUEUE_REASONS),
    detail: z.string().meta({ description: "The reason as a readable message." }),
  })
  .meta({ id: "QueuePlace", description: "Why the job waits." });
export type QueueView = Immutable<z.infer<typeof queueViewSchema>>;

const TIMELINE_EVENTS = [
  "submitted",
  "worker_placed",
  "image_pull_started",
  "image_pull_ended",
  "files_download_started",
  "files_download_ended",
  "model_download_started",
  "model_download_ended",
  "container_starting",
  "container_started",
  "runtime_started",
  "worker_ready",
  "taken",
  "handler_started",
  "handler_finished",
  "requeued",
  "retried",
  "finished",
  "cancelled",
  "webhook_attempted",
] as const;

const timelineEventSchema = z
  .object({
    event: z.enum(TIMELINE_EVENTS),
    at: time,
    attempt: z.int().optional(),
    workerId: z.string().optional(),
    hostId: z.string().optional(),
    status: wireStatusSchema.optional(),
    reason: z.string().optional(),
    perHour: z.number().optional().meta({ description: "Dollars per hour of the worker." }),
    startingMs: z.int().optional().meta({ description: "Start of the worker that the job caused." }),
    statusCode: z.int().optional().meta({ description: "What a webhook's receiver answered." }),
  })
  .meta({ id: "TimelineEvent" });
export type TimelineEvent = Immutable<z.infer<typeof timelineEventSchema>>;

export const COLD_START_PARTS = [
  "placement",
  "image",
  "files",
  "model",
  "container",
  "runtime",
  "handler",
] as const;
export type ColdStartPart = (typeof COLD_START_PARTS)[number];

/** The same for each part. */
export function byColdStartPart<Value>(value: Value): Record<ColdStartPart, Value> {
  return {
    placement: value,
    image: value,
    files: value,
    model: value,
    container: value,
    runtime: value,
    handler: value,
  };
}

const coldStartSchema = z
  .object({
    totalMs: z.int().meta({ description: "From the decision to start the worker until it was ready." }),
    parts: z.object(byColdStartPart(z.int())).meta({ description: "Ms; they add up to the total." }),
    slowest: z.enum(COLD_START_PARTS),
    advice: z.string().meta({ description: "What would shorten the slowest part." }),
  })
  .meta({ id: "ColdStart", description: "The start of the worker that the last attempt waited for." });
export type ColdStartView = Immutable<z.infer<typeof coldStartSchema>>;

const jobCostSchema = z
  .object({
    total: z.number(),
    execution: z.number().meta({ description: "Of its attempts, at the prices of their workers." }),
    coldStart: z.number().meta({ description: "Of workers whose start it caused." }),
  })
  .meta({ id: "JobCost", description: "Dollars." });
export type JobCost = Immutable<z.infer<typeof jobCostSchema>>;

/** Body of `status`, `status-sync` and `runsync`: a job as it stands. */
export const jobViewSchema = z
  .object({
    id: z.string(),
    status: wireStatusSchema,
    delayTime,
    executionTime,
    workerId: z.string().optional(),
    error: z.string().optional(),
    retries: z.int().optional().meta({ description: "How often it was dispatched again." }),
    queue: queueViewSchema.optional().meta({ description: "While it is IN_QUEUE." }),
    timeline: z.array(timelineEventSchema).optional().meta({ description: "With `timeline=1`." }),
    coldStart: coldStartSchema
      .optional()
      .meta({ description: "With `timeline=1`, if a worker was started." }),
    cost: jobCostSchema.optional().meta({ description: "With `cost=1`; so far, while the job runs." }),
    output: jsonValueSchema.optional().meta({
      description: "What the handler returned; its last progress while the job runs.",
    }),
  })
  .meta({ id: "Job" });
/** `Output` is any JSON value for clients; inside the edge a payload, which the gateway splices in. */
export type JobView<Output = unknown> = Immutable<Omit<z.infer<typeof jobViewSchema>, "output">> & {
  readonly output: Output;
};

/** Body of `run`, `cancel` and `retry`. */
export const jobStateSchema = z.object({ id: z.string(), status: wireStatusSchema }).meta({ id: "JobState" });

/** Body of `stream`, as far as it is JSON. */
export const streamReplySchema = z
  .object({ status: wireStatusSchema, stream: z.array(z.object({ output: jsonValueSchema })) })
  .meta({ id: "StreamPart" });

/** How long a trial lasts, in seconds. */
export const TRIAL_DEFAULT_SECONDS = 60;
export const TRIAL_MAX_SECONDS = 600;

/** Body of `trial`. */
export const trialSchema = z
  .object({ until: z.iso.datetime().meta({ description: "When the trial ends, or has ended." }) })
  .meta({ id: "Trial" });

/** Body of `purge-queue`. */
export const purgeReplySchema = z
  .object({ removed: z.int(), status: z.literal("completed") })
  .meta({ id: "PurgeResult" });

const requestRowSchema = z
  .object({
    id: z.string(),
    status: wireStatusSchema,
    createdAt: time,
    startedAt: time.optional(),
    completedAt: time.optional(),
    delayTime,
    executionTime,
    workerId: z.string().optional(),
    error: z.string().optional(),
  })
  .meta({ id: "RequestRow" });
/** One row of `requests`. */
export type RequestRow = Immutable<z.infer<typeof requestRowSchema>>;

/** Members of every page of a list that describe the page. */
export const pageMembers = { total: z.int(), offset: z.int(), limit: z.int(), hasMore: z.boolean() };

/** A page of `requests`, newest first. */
export const requestsPageSchema = z
  .object({ requests: z.array(requestRowSchema), ...pageMembers })
  .meta({ id: "RequestsPage" });
export type RequestsPage = Immutable<z.infer<typeof requestsPageSchema>>;

const workerCountsSchema = z
  .object({
    idle: z.int(),
    initializing: z.int(),
    ready: z.int().meta({ description: "Can take a job now." }),
    running: z.int(),
    throttled: z.int(),
    unhealthy: z.int(),
  })
  .meta({ id: "WorkerCounts", description: "Workers of the endpoint by what they do." });
export type WorkerCounts = Immutable<z.infer<typeof workerCountsSchema>>;

/** Body of `metrics`. */
export const metricsSchema = z
  .object({ readyWorkers: z.array(z.string()), workers: workerCountsSchema })
  .meta({ id: "Metrics" });
export type MetricsBody = Immutable<z.infer<typeof metricsSchema>>;

function ofEachOperation<Schema extends z.ZodType>(schema: Schema) {
  const members = LIMITED_OPERATIONS.map((operation) => [operation, schema]);
  return z.object(Object.fromEntries(members) as Record<LimitedOperation, Schema>);
}
const operationLimitSchema = z.object({
  requests: z.int().meta({ description: "Requests within the window." }),
  concurrent: z.int().nullable().meta({ description: "In progress at the same time; null for no limit." }),
});
const operationUsageSchema = z.object({ requests: z.int(), concurrent: z.int() });
export type OperationUsage = Immutable<z.infer<typeof operationUsageSchema>>;

const rolloutSchema = z
  .object({
    from: z.int().meta({ description: "Oldest version that a worker still runs." }),
    to: z.int().meta({ description: "Version of the endpoint, which all workers shall run." }),
    outdated: z.int().meta({ description: "Workers of older versions." }),
    current: z.int().meta({ description: "Workers of the new version, ready or not." }),
    ready: z.int().meta({ description: "Those of them that take jobs." }),
    since: z.iso.datetime().meta({ description: "When the release began." }),
    stalledSince: z.iso
      .datetime()
      .nullable()
      .meta({ description: "Since when the new version does not come up; null while it may." }),
    reason: z.string().nullable().meta({ description: "What it waits for, as far as that is known." }),
  })
  .meta({ id: "RollingRelease", description: "How far the workers have been replaced after a change." });
export type RolloutBody = Immutable<z.infer<typeof rolloutSchema>>;

const endsSchema = z.object({
  ended: z.int().meta({ description: "Attempts that have ended, without cancelled ones." }),
  failed: z.int().meta({ description: "Of them: failed, timed out or lost with their worker." }),
});
const canarySchema = z
  .object({
    to: z.int().meta({ description: "The version on trial." }),
    percent: z.number().meta({ description: "The share of workers and jobs that it gets." }),
    since: z.iso.datetime(),
    jobs: endsSchema.meta({ description: "Attempts of the version on trial." }),
    before: endsSchema.meta({ description: "Attempts of the earlier version in the same time." }),
    verdict: z.enum(["on", "back"]).nullable().meta({ description: "null while it is on trial." }),
    reason: z.string().nullable().meta({ description: "What the verdict follows from." }),
  })
  .meta({ id: "Canary", description: "A version on trial beside an earlier one." });
export type CanaryBody = Immutable<z.infer<typeof canarySchema>>;

/** Body of `health`: job counters since the endpoint exists, its workers by state, limits and their use. */
export const healthSchema = z
  .object({
    jobs: z.object({
      completed: z.int(),
      failed: z.int(),
      inProgress: z.int(),
      inQueue: z.int(),
      retried: z.int(),
    }),
    workers: workerCountsSchema,
    release: rolloutSchema.nullable().meta({
      description: "The rolling release under way; null while all workers are of the endpoint's version.",
    }),
    canary: canarySchema.nullable().meta({ description: "Null while no version is on trial." }),
    obstacle: z.string().nullable().meta({
      description: "What keeps workers of the endpoint's version from coming up; null while nothing does.",
    }),
    budget: z
      .object({
        of: z.enum(["endpoint", "account"]),
        state: z.enum(["warning", "reached"]),
        limit: z.number().meta({ description: "Dollars." }),
        period: z.enum(["day", "month"]),
        until: z.iso.datetime().meta({ description: "When the period ends." }),
      })
      .nullable()
      .meta({
        description:
          "A budget that is reached, or about to be; null while none is. One that is reached starts no job.",
      }),
    limits: z
      .object({
        windowMs: z.int().meta({ description: "Requests are counted over this long." }),
        runningWorkers: z.int().meta({ description: "They raise the limits of most operations." }),
        queueDepth: z.int().meta({ description: "Jobs that may wait." }),
        operations: ofEachOperation(operationLimitSchema),
      })
      .meta({ description: "What is admitted at most, in effect now." }),
    usage: z
      .object({
        queueDepth: z.int(),
        operations: ofEachOperation(operationUsageSchema),
      })
      .meta({ description: "What is used of it." }),
  })
  .meta({ id: "Health" });
export type HealthBody = Immutable<z.infer<typeof healthSchema>>;
