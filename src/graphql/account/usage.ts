import type { EndpointRecord } from "../../management/endpoints/endpoints.ts";
import type { MetricsWindow } from "../../contract/metrics-window.ts";
import {
  reportMetrics,
  reportUsage,
  usageSelectionSchema,
  type UsageSpan,
} from "../../management/accounts/usage-report.ts";
import { withInput, type GraphqlContext } from "../context.ts";

export const usageSdl = /* GraphQL */ `
  type User {
    "What endpoints and pods used, deleted ones included; by default the days of the last week."
    usage(input: UsageInput): [Usage]
  }

  type Endpoint {
    "What the endpoint did within a window; null when its queue cannot be reached."
    metrics(window: MetricsWindow): EndpointMetrics
  }

  enum MetricsWindow {
    LAST_5_MINUTES
    LAST_HOUR
    LAST_24_HOURS
    LAST_7_DAYS
  }
  type EndpointMetrics {
    "As metrics/requests of the queue API answers."
    requests: JSON
    "As metrics/workers of the queue API answers."
    workers: JSON
  }

  input UsageInput {
    "ISO 8601; hours that begin before are left out."
    from: String
    "ISO 8601; now by default."
    to: String
    "hour, day (the default), week, month or year, in UTC."
    bucket: String
    endpointId: String
  }
  type Usage {
    from: DateTime
    "For a pod its own id."
    endpointId: String
    isPod: Boolean
    "As it was called last."
    endpointName: String
    "Jobs submitted."
    requests: Int
    completed: Int
    failed: Int
    cancelled: Int
    timedOut: Int
    expired: Int
    retried: Int
    coldStarts: Int
    delaySeconds: Float
    executionSeconds: Float
    "From the placement of a worker until its capacity was free again."
    workerSeconds: Float
    "Of these, until workers were first ready: their cold starts."
    startingSeconds: Float
    "Of these, while workers had jobs or requests."
    busySeconds: Float
    "The rest."
    idleSeconds: Float
    "Workers by version of the endpoint, and what they cost."
    versions: [VersionUsage]
    gpus: [GpuUsage]
    "Of workers without GPUs: each vCPU is counted separately."
    vcpuSeconds: Float
    "In dollars, by the prices of hosts, and nominal on hosts without one: time of GPUs, and of vCPUs of workers without any."
    cost: Float
  }
  type VersionUsage {
    version: Int
    workerSeconds: Float
    startingSeconds: Float
    cost: Float
  }
  "Each GPU of a worker is counted separately."
  type GpuUsage {
    "As the driver calls the model."
    model: String
    tier: String
    seconds: Float
    cost: Float
  }
`;

type GpuUsage = UsageSpan["gpus"][number];
type VersionUsage = UsageSpan["versions"][number];

export const usageResolvers = {
  MetricsWindow: {
    LAST_5_MINUTES: "5m",
    LAST_HOUR: "1h",
    LAST_24_HOURS: "24h",
    LAST_7_DAYS: "7d",
  },

  User: {
    usage: withInput(usageSelectionSchema, reportUsage),
  },

  Endpoint: {
    metrics: async (
      { id }: EndpointRecord,
      { window }: { window?: MetricsWindow | null },
      context: GraphqlContext,
    ) => await reportMetrics(context, id, window ?? "1h"),
  },

  Usage: {
    delaySeconds: ({ delayMs }: UsageSpan): number => delayMs / 1_000,
    executionSeconds: ({ executionMs }: UsageSpan): number => executionMs / 1_000,
    workerSeconds: ({ workerMs }: UsageSpan): number => workerMs / 1_000,
    startingSeconds: ({ startingMs }: UsageSpan): number => startingMs / 1_000,
    busySeconds: ({ busyMs }: UsageSpan): number => busyMs / 1_000,
    idleSeconds: ({ idleMs }: UsageSpan): number => idleMs / 1_000,
    vcpuSeconds: ({ vcpuMs }: UsageSpan): number => vcpuMs / 1_000,
  },

  VersionUsage: {
    workerSeconds: ({ workerMs }: VersionUsage): number => workerMs / 1_000,
    startingSeconds: ({ startingMs }: VersionUsage): number => startingMs / 1_000,
  },

  GpuUsage: {
    seconds: ({ ms }: GpuUsage): number => ms / 1_000,
  },
};
