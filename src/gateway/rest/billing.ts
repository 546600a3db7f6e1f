/** Usage of endpoints in the form of bills: `/v1/billing/endpoints`. */
import { parseInput } from "../../management/input-schemas.ts";
import { reportUsage, usageSelectionSchema, type UsageSpan } from "../../management/accounts/usage-report.ts";
import type { RestContext } from "./context.ts";

export async function getEndpointBilling(context: RestContext): Promise<Response> {
  const { bucketSize, startTime, endTime, grouping, endpointId } = context.req.query();
  const selection = { bucket: bucketSize, from: startTime, to: endTime, endpointId };
  const spans = await reportUsage(context.get("request"), parseInput(usageSelectionSchema, selection));
  return context.json(grouping === "gpuTypeId" ? spans.flatMap(byGpu) : spans.map(byEndpoint));
}

/** For resources that are never billed. */
export function getNoBilling(context: RestContext): Response {
  return context.json([]);
}

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
