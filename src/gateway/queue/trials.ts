/** Trials: a worker that somebody watches start although nothing asks for it, as `flash deploy` does. */
import * as z from "zod";
import { TRIAL_DEFAULT_SECONDS, TRIAL_MAX_SECONDS, trialSchema } from "../../contract/job.ts";
import { callEndpoint } from "../../management/endpoints/endpoint-directory.ts";
import { type QueueContext, readQuery } from "./context.ts";
import { type QueueRoute, readingRoute } from "./route.ts";

const querySchema = z.object({
  seconds: z.coerce
    .number()
    .int()
    .min(1)
    .max(TRIAL_MAX_SECONDS)
    .optional()
    .meta({ description: `How long; ${TRIAL_DEFAULT_SECONDS} by default. A later call sets it again.` }),
});

export const trialRoutes: readonly QueueRoute[] = [
  readingRoute("measures", {
    on: "POST /trial",
    access: "write",
    id: "startTrial",
    summary: "Start a worker to see whether it can start",
    details:
      "For that time the endpoint has one worker even if there is no work, where workersMax and capacity allow it; `health` says how it does. Afterwards it leaves like any other.",
    query: querySchema,
    answer: trialSchema,
    errors: [400],
    serve: async (context) => {
      const { seconds = TRIAL_DEFAULT_SECONDS } = readQuery(context, querySchema);
      return await runTrial(context, seconds);
    },
  }),
  readingRoute("measures", {
    on: "DELETE /trial",
    access: "write",
    id: "endTrial",
    summary: "End a trial",
    answer: trialSchema,
    serve: async (context) => await runTrial(context, 0),
  }),
];

async function runTrial(context: QueueContext, seconds: number): Promise<Response> {
  const { env } = context;
  const { until } = await callEndpoint(env, context.get("endpoint"), (stub) =>
    stub.startTrial(seconds * 1_000),
  );
  return context.json({ until: new Date(until).toISOString() } satisfies z.input<typeof trialSchema>);
}
