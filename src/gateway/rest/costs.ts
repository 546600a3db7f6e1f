/** What endpoints cost, by the hour or longer: `/v1/costs`, and the same as a table at `/v1/costs.csv`. */
import * as z from "zod";
import { toCsv } from "../../domain/costs/csv.ts";
import {
  BUCKETS,
  momentSchema,
  reportUsage,
  type UsageSpan,
} from "../../management/accounts/usage-report.ts";
import type { RequestContext } from "../../management/context.ts";
import { oneOf, parseInput } from "../../management/input-schemas.ts";
import type { Route } from "../route.ts";
import type { RestApi } from "./context.ts";
import { restRoute } from "./route.ts";

const querySchema = z.strictObject({
  bucketSize: oneOf(BUCKETS).default("hour").meta({ description: "Length of one row." }),
  startTime: momentSchema.optional().meta({ description: "ISO 8601; a week before the end by default." }),
  endTime: momentSchema.optional().meta({ description: "ISO 8601; now by default." }),
  grouping: oneOf(["endpointId", "version"]).default("endpointId"),
  endpointId: z.string().optional().meta({ description: "Only what this endpoint cost." }),
});
type Query = z.output<typeof querySchema>;

const subject = { time: z.string(), endpointId: z.string(), endpointName: z.string() };
const endpointRowSchema = z
  .object({
    ...subject,
    requests: z.int(),
    queueSeconds: z.number().meta({ description: "Of jobs until a worker took them." }),
    executionSeconds: z.number().meta({ description: "Of jobs from then on." }),
    workerSeconds: z.number(),
    startingSeconds: z.number().meta({ description: "Of workers until they were first ready." }),
    busySeconds: z.number().meta({ description: "Of workers with jobs or requests." }),
    idleSeconds: z.number().meta({ description: "Of workers otherwise." }),
    cost: z.number().meta({ description: "Dollars." }),
  })
  .meta({ id: "EndpointCost" });
const versionRowSchema = z
  .object({
    ...subject,
    version: z.int(),
    workerSeconds: z.number(),
    startingSeconds: z.number(),
    cost: z.number(),
  })
  .meta({ id: "VersionCost" });
type EndpointRow = z.output<typeof endpointRowSchema>;
type VersionRow = z.output<typeof versionRowSchema>;

const summary = "Get what endpoints cost";
const details = "By endpoint, or by version of endpoints, at the prices of hosts; by default for each hour.";

export const costRoutes: readonly Route<RestApi>[] = [
  restRoute({
    on: "GET /costs",
    id: "listCosts",
    summary,
    details,
    query: querySchema,
    answer: z.array(z.union([endpointRowSchema, versionRowSchema])),
    serve: (request, { query }) => rowsOf(request, query),
  }),
  {
    on: "GET /costs.csv",
    id: "exportCosts",
    summary: `${summary}, as a table`,
    details,
    query: querySchema,
    errors: [400],
    responses: {
      200: { description: "The rows, with the names of their members first.", content: { "text/csv": {} } },
    },
    serve: async (context) => {
      const query = parseInput(querySchema, context.req.query());
      const rows: readonly Readonly<Record<string, string | number>>[] = await rowsOf(
        context.get("request"),
        query,
      );
      const { shape } = query.grouping === "version" ? versionRowSchema : endpointRowSchema;
      return context.body(toCsv(Object.keys(shape), rows), 200, {
        "Content-Type": "text/csv; charset=utf-8",
        "Content-Disposition": 'attachment; filename="costs.csv"',
      });
    },
  },
];

async function rowsOf(
  request: RequestContext,
  { bucketSize, startTime, endTime, grouping, endpointId }: Query,
): Promise<(EndpointRow | VersionRow)[]> {
  const selection = { bucket: bucketSize, from: startTime, to: endTime, endpointId, isPod: false };
  const spans = await reportUsage(request, selection);
  return grouping === "version" ? spans.flatMap(byVersion) : spans.map(byEndpoint);
}

function byEndpoint(span: UsageSpan): EndpointRow {
  return {
    ...subjectOf(span),
    requests: span.requests,
    queueSeconds: span.delayMs / 1_000,
    executionSeconds: span.executionMs / 1_000,
    workerSeconds: span.workerMs / 1_000,
    startingSeconds: span.startingMs / 1_000,
    busySeconds: span.busyMs / 1_000,
    idleSeconds: span.idleMs / 1_000,
    cost: dollars(span.cost),
  };
}

function byVersion(span: UsageSpan): VersionRow[] {
  return span.versions.map(({ version, workerMs, startingMs, cost }) => ({
    ...subjectOf(span),
    version,
    workerSeconds: workerMs / 1_000,
    startingSeconds: startingMs / 1_000,
    cost: dollars(cost),
  }));
}

function subjectOf({ from, endpointId, endpointName }: UsageSpan) {
  return { time: new Date(from).toISOString(), endpointId, endpointName };
}

function dollars(amount: number): number {
  return Number(amount.toFixed(9));
}
