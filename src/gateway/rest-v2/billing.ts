/** Usage in the form of bills: `/v2/billing`. Amounts are nominal: nothing is charged. */
import * as z from "zod";
import { ServiceError } from "../../contract/errors.ts";
import {
  BUCKETS,
  reportUsage,
  spanAfter,
  spanOf,
  type Bucket,
  type UsageSpan,
} from "../../management/accounts/usage-report.ts";
import type { RequestContext } from "../../management/context.ts";
import { oneOf } from "../../management/input-schemas.ts";
import type { Route } from "../route.ts";
import type { RestApi } from "../rest/context.ts";
import { v2Route } from "./route.ts";

const WINDOW_DEFAULT_MS = 30 * 24 * 3_600_000;
const BUCKETS_MAX = 10_000;
/** Usage is kept for a shorter time. */
const EARLIEST = Date.UTC(2000);
const LATEST = Date.UTC(2100);

const timeSchema = z.iso.datetime({ offset: true }).optional();
const rangeShape = {
  startTime: timeSchema.meta({ description: "Where the first bucket begins; 30 days ago by default." }),
  endTime: timeSchema.meta({ description: "Where the last bucket ends; now by default." }),
  bucketSize: oneOf(BUCKETS).default("day"),
  lastN: z
    .string()
    .regex(/^\d{1,9}$/, "must be a whole number")
    .transform(Number)
    .pipe(z.int().min(1).max(BUCKETS_MAX))
    .optional()
    .meta({
      description: "The last buckets, in place of the times.",
      override: { type: "integer", minimum: 1, maximum: BUCKETS_MAX },
    }),
};
type Range = z.output<z.ZodObject<typeof rangeShape>>;
type Window = { readonly from: number; readonly to: number };

/** The whole buckets that a query asks for. */
function windowOf({ startTime, endTime, bucketSize, lastN }: Range, now: number): Window {
  if (lastN !== undefined && (startTime ?? endTime) !== undefined) {
    throw new ServiceError("invalid_input", "lastN: must not be sent together with startTime or endTime");
  }
  if (lastN !== undefined) {
    const from = Math.max(spanAfter(now, bucketSize, 1 - lastN), EARLIEST);
    return { from, to: spanAfter(now, bucketSize, 1) };
  }
  const to = endTime === undefined ? now : Date.parse(endTime);
  const from = startTime === undefined ? to - WINDOW_DEFAULT_MS : Date.parse(startTime);
  if (from < EARLIEST || to > LATEST) {
    throw new ServiceError("invalid_input", "startTime: the time must lie between 2000 and 2100");
  }
  if (from >= to) throw new ServiceError("invalid_input", "startTime: must be before endTime");
  return { from: spanOf(from, bucketSize), to: spanAfter(to - 1, bucketSize, 1) };
}

/** What something cost in the bucket that begins at `from`. */
type Bill = {
  readonly from: number;
  readonly of?: string;
  readonly amounts: Readonly<Record<string, number>>;
};

type Bills = {
  /** Below `/billing`. */
  readonly path: string;
  readonly id: string;
  readonly summary: string;
  readonly amounts: readonly string[];
  /** The parameter and member that names what was used, and how many different ones there are. */
  readonly of?: { readonly name: string; readonly count: string };
  /** Absent where nothing can be used. */
  readonly load?: (
    request: RequestContext,
    selection: { readonly window: Window; readonly bucket: Bucket; readonly of: string | undefined },
  ) => Promise<readonly Bill[]>;
};

const ALL = [
  ...["totalAmount", "podGpuAmount", "podCpuAmount", "podDiskAmount", "serverlessGpuAmount"],
  ...["serverlessCpuAmount", "serverlessDiskAmount", "serverlessFeeAmount", "storageStandardAmount"],
  ...["storageHighPerformanceAmount", "endpointAmount", "clusterGpuAmount", "clusterDiskAmount"],
  "clusterNetworkingAmount",
];

const BILLS: readonly Bills[] = [
  {
    path: "",
    id: "listBills",
    summary: "Get the cost of everything",
    amounts: ALL,
    load: async (request, selection) => {
      const [serverless, pods] = await Promise.all([
        usageOf(request, selection, false),
        usageOf(request, selection, true),
      ]);
      const sumOf = (spans: readonly UsageSpan[], from: number, name: "gpuCost" | "cpuCost") =>
        spans.reduce((sum, span) => (span.from === from ? sum + span[name] : sum), 0);
      const buckets = new Set([...serverless, ...pods].map(({ from }) => from));
      return [...buckets].map((from) => {
        const parts = {
          serverlessGpuAmount: sumOf(serverless, from, "gpuCost"),
          serverlessCpuAmount: sumOf(serverless, from, "cpuCost"),
          podGpuAmount: sumOf(pods, from, "gpuCost"),
          podCpuAmount: sumOf(pods, from, "cpuCost"),
        };
        const totalAmount = Object.values(parts).reduce((sum, amount) => sum + amount, 0);
        return { from, amounts: { totalAmount, ...parts } };
      });
    },
  },
  {
    path: "/serverless",
    id: "listServerlessBills",
    summary: "Get the cost of endpoints",
    amounts: ["totalAmount", "gpuAmount", "cpuAmount", "diskAmount", "feeAmount"],
    of: { name: "serverlessId", count: "uniqueServerlessCount" },
    load: async (request, selection) => (await usageOf(request, selection, false)).map(billOf),
  },
  {
    path: "/pods",
    id: "listPodBills",
    summary: "Get the cost of pods",
    amounts: ["totalAmount", "gpuAmount", "cpuAmount", "diskAmount"],
    of: { name: "podId", count: "uniquePodCount" },
    load: async (request, selection) => (await usageOf(request, selection, true)).map(billOf),
  },
  {
    path: "/endpoints",
    id: "listPublicEndpointBills",
    summary: "Get the cost of public endpoints: nothing",
    amounts: ["totalAmount"],
  },
  {
    path: "/network-volumes",
    id: "listVolumeBills",
    summary: "Get the cost of network volumes: nothing",
    amounts: ["totalAmount", "standardAmount", "highPerformanceAmount"],
    of: { name: "networkVolumeId", count: "uniqueNetworkVolumeCount" },
  },
  {
    path: "/clusters",
    id: "listClusterBills",
    summary: "Get the cost of clusters: nothing",
    amounts: ["totalAmount", "gpuAmount", "diskAmount", "networkingAmount"],
    of: { name: "clusterId", count: "uniqueClusterCount" },
  },
];

async function usageOf(
  request: RequestContext,
  {
    window,
    bucket,
    of,
  }: { readonly window: Window; readonly bucket: Bucket; readonly of: string | undefined },
  isPod: boolean,
): Promise<readonly UsageSpan[]> {
  return await reportUsage(request, { ...window, bucket, endpointId: of, isPod });
}

function billOf({ from, endpointId, cost, gpuCost, cpuCost }: UsageSpan): Bill {
  return { from, of: endpointId, amounts: { totalAmount: cost, gpuAmount: gpuCost, cpuAmount: cpuCost } };
}

function billsRoute({ path, id, summary, amounts, of, load }: Bills): Route<RestApi> {
  const filterShape: Record<string, z.ZodOptional<z.ZodString>> = of
    ? { [of.name]: z.string().max(256).optional() }
    : {};
  return v2Route({
    on: `GET /billing${path}` as const,
    id,
    summary,
    errors: [400, 422],
    query: z.strictObject({ ...filterShape, ...rangeShape }),
    answer: answerOf(amounts, of),
    serve: async (request, { query }) => {
      const window = windowOf(query, request.now);
      const bucket = query.bucketSize;
      const wanted: unknown = of && Reflect.get(query, of.name);
      const filter = typeof wanted === "string" ? wanted : undefined;
      const bills = (await load?.(request, { window, bucket, of: filter })) ?? [];
      const records = bills
        .toSorted((one, other) => one.from - other.from)
        .map((bill) => ({
          ...showRange({ from: bill.from, to: spanAfter(bill.from, bucket, 1) }),
          ...(of && { [of.name]: bill.of }),
          ...sumsOf(amounts, [bill]),
        }));
      const metadata = {
        query: {
          ...showRange(window),
          bucketSize: bucket,
          ...(of && filter !== undefined && { [of.name]: filter }),
        },
        recordCount: records.length,
        ...(of && { [of.count]: new Set(bills.map((bill) => bill.of)).size }),
        totals: sumsOf(amounts, bills),
      };
      return { records, metadata };
    },
  });
}

function showRange({ from, to }: Window) {
  return { startTime: new Date(from).toISOString(), endTime: new Date(to).toISOString() };
}

function sumsOf(names: readonly string[], bills: readonly Bill[]): Record<string, number> {
  const sumOf = (name: string) => bills.reduce((sum, { amounts }) => sum + (amounts[name] ?? 0), 0);
  return Object.fromEntries(names.map((name) => [name, Number(sumOf(name).toFixed(6))]));
}

function answerOf(amounts: readonly string[], of: Bills["of"]): z.ZodObject {
  const range = { startTime: z.iso.datetime(), endTime: z.iso.datetime() };
  const sums = z.object(Object.fromEntries(amounts.map((name) => [name, z.number()])));
  const echo = { ...range, bucketSize: z.enum(BUCKETS), ...(of && { [of.name]: z.string().optional() }) };
  return z.object({
    records: z.array(sums.extend({ ...range, ...(of && { [of.name]: z.string() }) })),
    metadata: z.object({
      query: z.object(echo),
      recordCount: z.int(),
      ...(of && { [of.count]: z.int() }),
      totals: sums,
    }),
  });
}

export const billingRoutes = BILLS.map(billsRoute);
