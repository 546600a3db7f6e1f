/** Metrics and usage, as they are shown. */
import * as z from "zod";
import { byColdStartPart } from "./job.ts";
import type { Immutable } from "./immutable.ts";
import { METRICS_WINDOWS } from "./metrics-window.ts";

export const metricsWindowSchema = z.enum(METRICS_WINDOWS, `must be one of ${METRICS_WINDOWS.join(", ")}`);

const at = z.int().meta({ description: "Milliseconds since 1970." });
const spanMembers = {
  window: metricsWindowSchema,
  from: at,
  to: at,
  stepMs: z.int().meta({ description: "Length of the span that a point tells of; the last is not over." }),
};

const durationsSchema = z
  .object({
    count: z.int(),
    mean: z.number().nullable(),
    p50: z.number().nullable(),
    p90: z.number().nullable(),
    p99: z.number().nullable(),
  })
  .meta({
    id: "Durations",
    description:
      "In milliseconds; count and mean are exact, quantiles within 4.5 % or 1 ms. Null for no jobs.",
  });
export type Durations = Immutable<z.infer<typeof durationsSchema>>;

const jobCountMembers = {
  requests: z.int().meta({
    description:
      "Jobs submitted; of a load-balanced endpoint, requests that a worker got or that gave up before.",
  }),
  completed: z.int().meta({
    description: "Of a load-balanced endpoint: requests that a worker has answered, whatever the status.",
  }),
  failed: z.int(),
  cancelled: z.int().meta({ description: "Of a load-balanced endpoint: requests whose client went." }),
  timedOut: z.int(),
  expired: z.int().meta({ description: "Jobs whose ttl ended before they did." }),
  retried: z.int().meta({ description: "Jobs queued once more." }),
};

const durationMembers = {
  delayTime: durationsSchema,
  executionTime: durationsSchema,
  coldStartTime: durationsSchema,
};

/** Body of `metrics/requests`. Durations are those of jobs, or requests, that ended in the span. */
export const requestMetricsSchema = z
  .object({
    ...spanMembers,
    ...jobCountMembers,
    requestsPerMinute: z.number(),
    ...durationMembers,
    coldStartParts: z
      .object(byColdStartPart(durationsSchema))
      .meta({ description: "What `coldStartTime` consists of." }),
    points: z.array(z.object({ at, ...jobCountMembers, ...durationMembers })),
  })
  .meta({ id: "RequestMetrics" });
export type RequestMetrics = Immutable<z.infer<typeof requestMetricsSchema>>;

const gaugesSchema = z
  .object({
    starting: z.number(),
    busy: z.number().meta({ description: "Workers with jobs or requests." }),
    idle: z.number(),
    throttled: z.number().meta({ description: "Workers wanted for which there is no place." }),
    unhealthy: z.number(),
    wanted: z.number(),
    queued: z.number().meta({ description: "Jobs or requests that wait." }),
    running: z.number().meta({ description: "Jobs that run, or requests that workers have." }),
  })
  .meta({ id: "WorkerLevels" });

/** Body of `metrics/workers`. */
export const workerMetricsSchema = z
  .object({
    ...spanMembers,
    now: gaugesSchema,
    points: z.array(z.object({ at, mean: gaugesSchema, max: gaugesSchema })),
  })
  .meta({ id: "WorkerMetrics" });
export type WorkerMetrics = Immutable<z.infer<typeof workerMetricsSchema>>;
