/** Pods, for which clients take workers: `/v1/pods`, and the logs of a worker at `/v1/pod/{podId}/logs`. */
import * as z from "zod";
import { missingEndpointAccess } from "../../auth/access.ts";
import { podLogQuerySchema, podLogsSchema, type LogSource, type PodLogs } from "../../contract/agent/log.ts";
import { podCreateSchema, podSchema } from "../../contract/rest/rest-pod.ts";
import { listOwnEndpoints } from "../../management/endpoints/endpoints.ts";
import { noCapacity, podNotFound } from "../../management/catalog/absent-pods.ts";
import type { RequestContext } from "../../management/context.ts";
import { listWorkers } from "../../management/endpoints/worker-pods.ts";
import { parseInput } from "../../management/input-schemas.ts";
import { findLines } from "../../management/logs/log-reader.ts";
import { followLogs, latestLines } from "../queue/streams/log-events.ts";
import { workerSearch } from "../queue/streams/logs.ts";
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
  {
    on: "GET /pod/{podId}/logs",
    id: "getPodLogs",
    summary: "Get the last lines of a worker's logs, or follow them",
    query: podLogQuerySchema,
    answer: podLogsSchema,
    errors: [400, 404, 429],
    serve: podLogs,
  },
];

async function refuseCreation(context: RestContext): Promise<Response> {
  await readLooseInput(context, podCreateSchema);
  throw noCapacity();
}

function refusePod(context: RestContext): Response {
  throw podNotFound(context.req.param("podId") ?? "");
}

/** The last log lines of an existing worker by source, or all from then on. */
async function podLogs(context: RestContext): Promise<Response> {
  const request = context.get("request");
  const workerId = context.req.param("podId") ?? "";
  const { stream, type, ...query } = parseInput(podLogQuerySchema, context.req.query());
  const endpointId = await endpointOf(request, workerId);
  if (endpointId === undefined) throw podNotFound(workerId);
  const owner = { accountId: request.principal.accountId, endpointId };
  const search = (source?: LogSource) => workerSearch(request.env, owner, workerId, { ...query, source });
  if (stream === "true") return await followLogs(context, search(type === "all" ? undefined : type), "plain");

  const stored = async (source: LogSource) =>
    type === "all" || type === source ? (await findLines(request.env.LOGS, search(source))).lines : [];
  const [container, system] = await Promise.all([stored("container"), stored("system")]);
  const lines = [...container, ...system];
  const shown =
    lines.length > 0 ? lines : await latestLines(context, search(type === "all" ? undefined : type));
  const of = (source: LogSource) => shown.filter((line) => line.source === source).map(({ line }) => line);
  return context.json({ container: of("container"), system: of("system") } satisfies PodLogs);
}

/** The endpoint of a worker, if the caller may read it. */
async function endpointOf(request: RequestContext, workerId: string): Promise<string | undefined> {
  const ids = (await listOwnEndpoints(request)).map(({ id }) => id);
  const readable = ids.filter((id) => missingEndpointAccess(request.principal, id, "read") === undefined);
  const workers = await listWorkers(request, readable);
  return workers.find((worker) => worker.workerId === workerId)?.endpointId;
}
