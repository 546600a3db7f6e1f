/** Usage of endpoints in the form of bills: `/v1/billing/endpoints`. */
import * as z from "zod";
import { billingRecordSchema } from "../../contract/rest/rest-pod.ts";
import {
  BUCKETS,
  momentSchema,
  reportUsage,
  type UsageSpan,
} from "../../management/accounts/usage-report.ts";
import { oneOf } from "../../management/input-schemas.ts";
import { restRoute } from "./route.ts";

const spanShape = {
  bucketSize: oneOf(BUCKETS).optional().meta({ description: "Length of one record." }),
  startTime: momentSchema.optional().meta({ description: "ISO 8601." }),
  endTime: momentSchema.optional().meta({ description: "ISO 8601." }),
};

/** Filters that are not offered are refused: without them the sums would be others than those that were asked for. */
const endpointQuerySchema = z.strictObject({
  ...spanShape,
  grouping: oneOf(["endpointId", "gpuTypeId"]).default("endpointId"),
  endpointId: z.string().optional().meta({ description: "Only what this endpoint used." }),
});

const podQuerySchema = z.strictObject({
  ...spanShape,
  grouping: oneOf(["podId", "gpuTypeId"]).default("podId"),
  podId: z.string().optional().meta({ description: "Only what this pod used." }),
  gpuTypeId: z.string().optional().meta({ description: "Only GPUs of this type." }),
});

const answer = z.array(billingRecordSchema);
const nothing = {
  answer,
  details: "Always empty: nothing is billed.",
  query: z.object(spanShape),
  serve: () => [],
};

export const billingRoutes = [
  restRoute({
    answer,
    on: "GET /billing/endpoints",
    id: "listEndpointBilling",
    summary: "Get the cost of endpoints",
    details:
      "Usage at the prices of hosts, nominal ones where there is none; by default for each day of the last week.",
    query: endpointQuerySchema,
    serve: async (request, { query }) => {
      const { bucketSize, startTime, endTime, grouping, endpointId } = query;
      const selection = { bucket: bucketSize, from: startTime, to: endTime, endpointId, isPod: false };
      const spans = await reportUsage(request, selection);
      return grouping === "gpuTypeId" ? spans.flatMap(byGpu) : spans.map(byEndpoint);
    },
  }),
  restRoute({
    answer,
    on: "GET /billing/pods",
    id: "listPodBilling",
    summary: "Get the cost of pods",
    details:
      "Usage at the prices of hosts, nominal ones where there is none; by default for each day of the last week.",
    query: podQuerySchema,
    serve: async (request, { query }) => {
      const { bucketSize, startTime, endTime, grouping, podId, gpuTypeId } = query;
      const selection = { bucket: bucketSize, from: startTime, to: endTime, endpointId: podId, isPod: true };
      const spans = await reportUsage(request, selection);
      const bills = spans.flatMap(grouping === "gpuTypeId" || gpuTypeId !== undefined ? byGpu : byEndpoint);
      return bills
        .filter((bill) => gpuTypeId === undefined || ("gpuTypeId" in bill && bill.gpuTypeId === gpuTypeId))
        .map(({ endpointId, ...bill }) => ({ ...bill, podId: endpointId }));
    },
  }),
  restRoute({
    ...nothing,
    on: "GET /billing/networkvolumes",
    id: "listNetworkVolumeBilling",
    summary: "Get the cost of networkvolumes",
  }),
];

function byEndpoint({ from, endpointId, cost, workerMs }: UsageSpan) {
  return { time: timeOf(from), amount: dollars(cost), timeBilledMs: workerMs, endpointId };
}

function byGpu({ from, endpointId, gpus }: UsageSpan) {
  return gpus.map(({ model, ms, cost }) => ({
    time: timeOf(from),
    amount: dollars(cost),
    timeBilledMs: ms,
    endpointId,
    gpuTypeId: model,
  }));
}

function timeOf(at: number): string {
  return new Date(at).toISOString();
}

function dollars(amount: number): number {
  return Number(amount.toFixed(6));
}
