/** What endpoints of the calling account used, by hour, day or longer, and what that costs nominally. */
import * as z from "zod";
import type { MetricsWindow } from "../../contract/metrics-window.ts";
import type { ActivityReport } from "../../endpoint/messages.ts";
import { logFailure } from "../failure-log.ts";
import { listUsage, type UsageRecord, USAGE_RETENTION_MS } from "../../db/usage.ts";
import {
  addGpuTimes,
  addVersionTimes,
  VCPU,
  type GpuCost,
  type GpuTime,
  type VersionTime,
} from "../../domain/metrics/worker-usage.ts";
import { nominalPrice } from "../../domain/costs/host-price.ts";
import type { GpuPrices } from "../../domain/costs/nominal-prices.ts";
import { readGpuPrices } from "../catalog/prices.ts";
import type { RequestContext } from "../context.ts";
import { endpointObject } from "../objects.ts";
import { oneOf, stringSchema } from "../input-schemas.ts";
import { ServiceError } from "../../contract/errors.ts";

/** Hours of endpoints that one question about usage may read. */
const USAGE_SPANS_MAX = 20_000;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A time, in milliseconds since 1970 once it is read. */
export const momentSchema = z
  .string("must be a time such as 2026-01-31T00:00:00Z")
  .transform((text) => Date.parse(text))
  .refine((at) => Number.isFinite(at), "must be a time such as 2026-01-31T00:00:00Z");

export const BUCKETS = ["hour", "day", "week", "month", "year"] as const;
export type Bucket = (typeof BUCKETS)[number];

export const usageSelectionSchema = z.object({
  from: momentSchema.nullish(),
  to: momentSchema.nullish(),
  bucket: oneOf(BUCKETS).nullish(),
  endpointId: stringSchema.nullish(),
});
export type UsageSelection = z.infer<typeof usageSelectionSchema> & {
  /** Only of pods, or only of endpoints. */
  readonly isPod?: boolean;
};

const COUNTS = [
  "requests",
  "completed",
  "failed",
  "cancelled",
  "timedOut",
  "expired",
  "retried",
  "coldStarts",
  "delayMs",
  "executionMs",
  "workerMs",
  "busyMs",
] as const;

export type UsageSpan = Pick<
  UsageRecord,
  "endpointId" | "endpointName" | "isPod" | (typeof COUNTS)[number]
> & {
  readonly from: number;
  readonly gpus: readonly GpuCost[];
  /** Of workers without GPUs: their time by the number of their vCPUs. */
  readonly vcpuMs: number;
  readonly versions: readonly VersionTime[];
  /** Of workers until they were first ready, and without jobs or requests from then on. */
  readonly startingMs: number;
  readonly idleMs: number;
  /** Dollars, by the prices of hosts, or of the catalog where a host has none: of GPUs and vCPUs together. */
  readonly cost: number;
  readonly gpuCost: number;
  readonly cpuCost: number;
};

/** The spans in which anything was used, in their order; by default the days of the last week. */
export async function reportUsage(context: RequestContext, selection: UsageSelection): Promise<UsageSpan[]> {
  const { env, db, principal, now } = context;
  const bucket = selection.bucket ?? "day";
  const to = selection.to ?? now;
  const from = Math.max(selection.from ?? to - 7 * DAY_MS, now - USAGE_RETENTION_MS);
  const selected = {
    from: Math.floor(from / HOUR_MS) * HOUR_MS,
    to,
    endpointId: selection.endpointId ?? undefined,
    isPod: selection.isPod,
  };
  const rows = await listUsage(db, principal.accountId, selected, USAGE_SPANS_MAX);
  if (rows.length > USAGE_SPANS_MAX) {
    throw new ServiceError(
      "invalid_input",
      `The time has more than ${USAGE_SPANS_MAX} hours of endpoints; ask for less of it, or for one endpoint`,
    );
  }
  const prices = readGpuPrices(env.GPU_PRICES);
  // A pod that was terminated leaves an hour in which it may have used nothing.
  const used = rows.filter(({ isPod, workerMs }) => !isPod || workerMs > 0);
  const spans = Map.groupBy(used, ({ hour, endpointId }) => `${spanOf(hour, bucket)} ${endpointId}`);
  return [...spans.values()].map((group) => sumOf(group, bucket, prices));
}

function sumOf(rows: readonly UsageRecord[], bucket: Bucket, prices: GpuPrices): UsageSpan {
  const { endpointId = "", hour = 0, isPod = false } = rows[0] ?? {};
  const total = (name: (typeof COUNTS)[number]) => rows.reduce((sum, row) => sum + row[name], 0);
  const times = addGpuTimes(rows.flatMap((row) => row.gpus.map((time) => withCost(time, prices))));
  const gpus = times.filter(({ model }) => model !== VCPU);
  const { ms: vcpuMs = 0, cost: cpuCost = 0 } = times.find(({ model }) => model === VCPU) ?? {};
  const versions = addVersionTimes(rows.flatMap((row) => row.versions));
  const startingMs = versions.reduce((sum, version) => sum + version.startingMs, 0);
  const gpuCost = gpus.reduce((sum, { cost }) => sum + cost, 0);
  return {
    endpointId,
    endpointName: rows.findLast(({ endpointName }) => endpointName !== "")?.endpointName ?? "",
    isPod,
    from: spanOf(hour, bucket),
    ...(Object.fromEntries(COUNTS.map((name) => [name, total(name)])) as Pick<
      UsageSpan,
      (typeof COUNTS)[number]
    >),
    gpus,
    vcpuMs,
    versions,
    startingMs,
    // Times of jobs and of workers come from different objects.
    idleMs: Math.max(0, total("workerMs") - startingMs - total("busyMs")),
    cost: gpuCost + cpuCost,
    gpuCost,
    cpuCost,
  };
}

/** Hours before prices of hosts were known have the cost of the catalog. */
function withCost(time: GpuTime, prices: GpuPrices): GpuCost {
  const { model, tier, ms } = time;
  const cost = time.cost ?? (ms / HOUR_MS) * nominalPrice([{ model, tier, count: 1 }], prices);
  return { model, tier, ms, cost };
}

/** Where the span of a moment begins, in UTC; weeks begin on Monday. */
export function spanOf(at: number, bucket: Bucket): number {
  return spanAfter(at, bucket, 0);
}

/** Where the span begins that lies `count` spans after that of a moment; before it, if `count` is negative. */
export function spanAfter(at: number, bucket: Bucket, count: number): number {
  const date = new Date(at);
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  switch (bucket) {
    case "hour":
      return (Math.floor(at / HOUR_MS) + count) * HOUR_MS;
    case "day":
      return Date.UTC(year, month, day + count);
    case "week":
      return Date.UTC(year, month, day - ((date.getUTCDay() + 6) % 7) + 7 * count);
    case "month":
      return Date.UTC(year, month + count);
    case "year":
      return Date.UTC(year + count, 0);
  }
}

/** What an endpoint of the calling account did; null when its object has no configuration or cannot be reached. */
export async function reportMetrics(
  { env }: Pick<RequestContext, "env">,
  endpointId: string,
  window: MetricsWindow,
): Promise<ActivityReport | null> {
  try {
    const reply = await endpointObject(env, endpointId).activity(window);
    return reply.kind === "activity" ? { requests: reply.requests, workers: reply.workers } : null;
  } catch (cause) {
    logFailure("metrics_not_read", { endpointId }, cause);
    return null;
  }
}
