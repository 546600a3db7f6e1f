import type { MetricsWindow } from "../../contract/metrics.ts";
import type { EndpointRecord } from "../../db/endpoints.ts";
import { parseInput } from "../../management/input-schemas.ts";
import { reportMetrics } from "../../management/accounts/endpoint-metrics.ts";
import { reportUsage, usageSelectionSchema, type UsageSpan } from "../../management/accounts/usage-report.ts";
import type { GraphqlContext } from "../context.ts";

type GpuUsage = UsageSpan["gpus"][number];

export const usageResolvers = {
  MetricsWindow: {
    LAST_5_MINUTES: "5m",
    LAST_HOUR: "1h",
    LAST_24_HOURS: "24h",
    LAST_7_DAYS: "7d",
  },

  User: {
    usage: async (
      _account: unknown,
      { input }: { input?: unknown },
      context: GraphqlContext,
    ): Promise<UsageSpan[]> => await reportUsage(context, parseInput(usageSelectionSchema, input ?? {})),
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
  },

  GpuUsage: {
    seconds: ({ ms }: GpuUsage): number => ms / 1_000,
  },
};
