/** Usage of endpoints in the form of bills: `/v1/billing/endpoints`. */
import * as z from "zod";
import { billingQuerySchema, billingRecordSchema } from "../../contract/rest/rest-pod.ts";
import { parseInput } from "../../management/input-schemas.ts";
import { reportUsage, usageSelectionSchema, type UsageSpan } from "../../management/accounts/usage-report.ts";
import type { Route } from "../route.ts";
import type { RestApi, RestContext } from "./context.ts";

function billingRoute(
  noun: string,
  name: string,
  details: string,
  serve: Route<RestApi>["serve"],
): Route<RestApi> {
  return {
    on: `GET /billing/${noun}`,
    id: `list${name}Billing`,
    summary: `Get the cost of ${noun}`,
    details,
    query: billingQuerySchema,
    answer: z.array(billingRecordSchema),
    serve,
  };
}

const NOTHING_BILLED = "Always empty: nothing is billed.";
const nothing = (context: RestContext): Response => context.json([]);

export const billingRoutes: readonly Route<RestApi>[] = [
  billingRoute(
    "endpoints",
    "Endpoint",
    "Usage at nominal prices; by default for each day of the last week.",
    billEndpoints,
  ),
  billingRoute("pods", "Pod", NOTHING_BILLED, nothing),
  billingRoute("networkvolumes", "NetworkVolume", NOTHING_BILLED, nothing),
];

async function billEndpoints(context: RestContext): Promise<Response> {
  const { bucketSize, startTime, endTime, grouping, endpointId } = context.req.query();
  const selection = { bucket: bucketSize, from: startTime, to: endTime, endpointId };
  const spans = await reportUsage(context.get("request"), parseInput(usageSelectionSchema, selection));
  return context.json(grouping === "gpuTypeId" ? spans.flatMap(byGpu) : spans.map(byEndpoint));
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
