/** Pods, for which clients take workers: `/v1/pods`, and the logs of a worker at `/v1/pod/{podId}/logs`. */
import * as z from "zod";
import { LOG_AHEAD_MAX_MS, logRetentionDays } from "../../management/logs/log-retention.ts";
import { missingEndpointAccess } from "../../auth/access.ts";
import { LOG_TAIL_DEFAULT, podLogsSchema, type LogSource, type PodLogs } from "../../contract/agent/log.ts";
import { podCreateSchema, podSchema } from "../../contract/rest/rest-pod.ts";
import { listOwnEndpoints } from "../../management/endpoints/endpoints.ts";
import { DAY_MS, SEQ_PER_MS } from "../../domain/logs/log-key.ts";
import { noCapacity, podNotFound } from "../../management/catalog/absent-pods.ts";
import type { RequestContext } from "../../management/context.ts";
import { listWorkers } from "../../management/endpoints/worker-pods.ts";
import { findLines } from "../../management/logs/log-reader.ts";
import { withPost, type OnRequest, type Route } from "../route.ts";
import type { RestApi, RestContext } from "./context.ts";
import { readLooseInput } from "./input.ts";
import { FIND, restRoute, WRITE } from "./route.ts";

/** An operation on one pod. */
function absent(on: OnRequest, id: string, summary: string, answer?: typeof podSchema): Route<RestApi> {
  const success = answer === undefined ? { status: 204 as const } : { answer };
  return { on, id, summary, ...success, errors: FIND, serve: refusePod };
}

export const podRoutes: readonly Route<RestApi>[] = [
  restRoute({
    on: "GET /pods",
    id: "listPods",
    summary: "List pods",
    answer: z.array(podSchema),
    serve: () => [],
  }),
  {
    on: "POST /pods",
    id: "createPod",
    summary: "Create a pod",
    details: "Not supported yet: a valid body is answered with 503.",
    body: podCreateSchema,
    answer: podSchema,
    status: 201,
    errors: WRITE,
    serve: refuseCreation,
  },
  absent("GET /pods/{podId}", "getPod", "Get a pod", podSchema),
  ...withPost(absent("PATCH /pods/{podId}", "updatePod", "Change a pod", podSchema), "/update"),
  absent("DELETE /pods/{podId}", "deletePod", "Delete a pod"),
  absent("POST /pods/{podId}/start", "startPod", "Start a pod", podSchema),
  absent("POST /pods/{podId}/stop", "stopPod", "Stop a pod", podSchema),
  absent("POST /pods/{podId}/reset", "resetPod", "Reset a pod", podSchema),
  absent("POST /pods/{podId}/restart", "restartPod", "Restart a pod", podSchema),
  restRoute({
    on: "GET /pod/{podId}/logs",
    id: "getPodLogs",
    summary: "Get the last lines of a worker's logs",
    answer: podLogsSchema,
    errors: FIND,
    serve: async (request, { params }) => await lastLogs(request, params.podId),
  }),
];

async function refuseCreation(context: RestContext): Promise<Response> {
  await readLooseInput(context, podCreateSchema);
  throw noCapacity();
}

function refusePod(context: RestContext): Response {
  throw podNotFound(context.req.param("podId") ?? "");
}

/** The last log lines of an existing worker, by source. */
async function lastLogs(request: RequestContext, workerId: string): Promise<PodLogs> {
  const endpointId = await endpointOf(request, workerId);
  if (endpointId === undefined) throw podNotFound(workerId);
  const [container, system] = await Promise.all([
    lastLines(request, endpointId, workerId, "container"),
    lastLines(request, endpointId, workerId, "system"),
  ]);
  return { container, system };
}

/** The endpoint of a worker, if the caller may read it. */
async function endpointOf(request: RequestContext, workerId: string): Promise<string | undefined> {
  const ids = (await listOwnEndpoints(request)).map(({ id }) => id);
  const readable = ids.filter((id) => missingEndpointAccess(request.principal, id, "read") === undefined);
  const workers = await listWorkers(request, readable);
  return workers.find((worker) => worker.workerId === workerId)?.endpointId;
}

async function lastLines(
  { env, principal: { accountId }, now }: RequestContext,
  endpointId: string,
  workerId: string,
  source: LogSource,
): Promise<string[]> {
  const { lines } = await findLines(env.LOGS, {
    owner: { accountId, endpointId },
    filter: { workerId, source },
    from: (now - logRetentionDays(env) * DAY_MS) * SEQ_PER_MS,
    before: { seq: (now + LOG_AHEAD_MAX_MS) * SEQ_PER_MS, source, workerId },
    limit: LOG_TAIL_DEFAULT,
  });
  return lines.map(({ line }) => line);
}
