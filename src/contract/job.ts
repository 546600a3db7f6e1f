/** What clients of the queue API send and receive. */
import { z } from "zod";
import { jsonValueSchema } from "./json.ts";
import type { LimitedOperation } from "./rate-limits.ts";
import {
  EXECUTION_TIMEOUT_MAX_MS,
  EXECUTION_TIMEOUT_MIN_MS,
  OPTION_MAX_LENGTH,
  REQUESTS_PAGE_DEFAULT,
  REQUESTS_PAGE_MAX,
  TTL_MAX_MS,
  TTL_MIN_MS,
  WAIT_MAX_MS,
  WAIT_MIN_MS,
} from "./limits.ts";

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
  executionTimeout: milliseconds(EXECUTION_TIMEOUT_MIN_MS, EXECUTION_TIMEOUT_MAX_MS).optional(),
  lowPriority: z.boolean("must be true or false").optional(),
  ttl: milliseconds(TTL_MIN_MS, TTL_MAX_MS).optional(),
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
export const jobRequestSchema = z.object(
  {
    input: jsonValueSchema,
    webhook: optionalWebhookSchema,
    /** Some clients call it so; `webhook` goes first. */
    webhookV2: optionalWebhookSchema,
    policy: policySchema.nullish(),
    s3Config: s3ConfigSchema.nullish(),
  },
  "must be a JSON object",
);
export type JobRequest = z.infer<typeof jobRequestSchema>;

/** The `wait` query parameter: milliseconds, clamped by nobody, refused when out of range. */
export const waitSchema = z.coerce
  .number("must be a number of milliseconds")
  .int("must be a whole number of milliseconds")
  .min(WAIT_MIN_MS, `must be at least ${WAIT_MIN_MS} ms`)
  .max(WAIT_MAX_MS, `must be at most ${WAIT_MAX_MS} ms`);

/** The `ttl` query parameter of status: the remaining life of the job in milliseconds. */
export const remainingLifeSchema = z.coerce
  .number("must be a number of milliseconds")
  .int("must be a whole number of milliseconds")
  .min(TTL_MIN_MS, `must be at least ${TTL_MIN_MS} ms`)
  .max(TTL_MAX_MS, `must be at most ${TTL_MAX_MS} ms`);

/** A query parameter that is on or off. */
export const flagSchema = z
  .enum(["1", "true", "0", "false"], "must be 1 or 0")
  .transform((text) => text === "1" || text === "true");

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
  "workers_max_is_zero",
  "at_max_workers",
  "image_pulling",
  "worker_starting",
  "worker_crash_looping",
  "low_priority_waiting",
] as const;
/** Why a job is still queued. */
export type QueueReason = (typeof QUEUE_REASONS)[number];

/** One row of `requests`. Times are epoch milliseconds. */
export type RequestRow = {
  readonly id: string;
  readonly status: WireStatus;
  readonly createdAt: number;
  readonly startedAt?: number;
  readonly completedAt?: number;
  readonly delayTime?: number;
  readonly executionTime?: number;
  readonly workerId?: string;
  readonly error?: string;
};

/** A page of `requests`, newest first. */
export type RequestsPage = {
  readonly requests: readonly RequestRow[];
  readonly total: number;
  readonly offset: number;
  readonly limit: number;
  readonly hasMore: boolean;
};

/** Query of `requests`; an empty parameter is an absent one. */
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

/** Workers of an endpoint by what they do; `ready` are those that can take a job now. */
export type WorkerCounts = {
  readonly idle: number;
  readonly initializing: number;
  readonly ready: number;
  readonly running: number;
  readonly throttled: number;
  readonly unhealthy: number;
};

/** Body of `metrics`. */
export type MetricsBody = { readonly readyWorkers: readonly string[]; readonly workers: WorkerCounts };

/** Body of `health`: job counters since the endpoint exists, its workers by state, limits and their use. */
export type HealthBody = {
  readonly jobs: {
    readonly completed: number;
    readonly failed: number;
    readonly inProgress: number;
    readonly inQueue: number;
    readonly retried: number;
  };
  readonly workers: WorkerCounts;
  /** What is admitted at most, in effect now. */
  readonly limits: {
    /** Requests are counted over this long. */
    readonly windowMs: number;
    /** Workers that take jobs; they raise the limits of most operations. */
    readonly runningWorkers: number;
    /** Jobs that may wait. */
    readonly queueDepth: number;
    readonly operations: Readonly<Record<LimitedOperation, OperationLimit>>;
  };
  /** What is used of it. */
  readonly usage: {
    readonly queueDepth: number;
    readonly operations: Readonly<Record<LimitedOperation, OperationUsage>>;
  };
};

export type OperationLimit = {
  /** Requests within the window. */
  readonly requests: number;
  /** Requests in progress at the same time; null for no limit. */
  readonly concurrent: number | null;
};
export type OperationUsage = { readonly requests: number; readonly concurrent: number };
