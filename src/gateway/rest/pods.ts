/** Pods: `/v1/pods`, and the logs of a pod or of a worker, for which clients take one, at `/v1/pod/{podId}/logs`. */
import * as z from "zod";
import { missingEndpointAccess } from "../../auth/access.ts";
import { podLogQuerySchema, podLogsSchema, type LogSource, type PodLogs } from "../../contract/agent/log.ts";
import { includeSchema } from "../../contract/rest/rest.ts";
import { podSchema, type RestPod } from "../../contract/rest/rest-pod.ts";
import { listOwnEndpoints } from "../../management/endpoints/endpoints.ts";
import { listVolumes } from "../../management/endpoints/volumes.ts";
import type { RequestContext } from "../../management/context.ts";
import { listWorkers } from "../../management/endpoints/worker-pods.ts";
import { oneOf, optionalNonEmpty, parseInput } from "../../management/input-schemas.ts";
import { podCreateSchema, podUpdateSchema } from "../../management/nouns/pod.ts";
import { findLines } from "../../management/logs/log-reader.ts";
import { podNotFound } from "../../management/pods/pod-errors.ts";
import {
  changePod,
  createPod,
  findOwnPod,
  listOwnPods,
  requirePod,
  resetPod,
  restartPod,
  startPod,
  stopPod,
  terminatePod,
  type Pod,
} from "../../management/pods/pods.ts";
import { followLogs, latestLines } from "../queue/streams/log-events.ts";
import { workerSearch } from "../queue/streams/logs.ts";
import { withPost, type Route } from "../route.ts";
import { changedJson, type RestApi, type RestContext } from "./context.ts";
import { listWorkersAsPods } from "./endpoints.ts";
import { readLooseInput } from "./input.ts";
import { creationOf, patchOf, toRestPod } from "./pod-bodies.ts";
import { FIND, REMOVE, restRoute, UPDATE_DETAILS, WRITE } from "./route.ts";

const includedShape = {
  includeMachine: includeSchema,
  includeNetworkVolume: includeSchema,
  includeSavingsPlans: includeSchema,
  includeTemplate: includeSchema,
  includeWorkers: includeSchema,
};
const includedSchema = z.object(includedShape);
type Included = z.output<typeof includedSchema>;

/** Clients send blank parameters for filters that they do not set. */
const filter = optionalNonEmpty(z.string());
/** Any of the values of a parameter that is repeated. */
const anyFilter = z.array(z.string()).optional();
const listSchema = z.object({
  ...includedShape,
  computeType: optionalNonEmpty(oneOf(["GPU", "CPU"])),
  cpuFlavorId: anyFilter,
  dataCenterId: anyFilter,
  desiredStatus: optionalNonEmpty(oneOf(["RUNNING", "EXITED", "TERMINATED"])),
  endpointId: filter,
  gpuTypeId: anyFilter,
  id: filter,
  imageName: filter,
  name: filter,
  networkVolumeId: filter,
  templateId: filter,
});
type Filter = z.output<typeof listSchema>;

type Act = (request: RequestContext, podId: string) => Promise<Pod>;

const update = restRoute({
  on: "PATCH /pods/{podId}",
  id: "updatePod",
  summary: "Change a pod",
  details: `${UPDATE_DETAILS} The container is replaced where it would be another one.`,
  body: podUpdateSchema,
  example: {},
  answer: podSchema,
  errors: WRITE,
  serve: async (request, { params, body }) => {
    const pod = await requirePod(request, params.podId);
    return toRestPod(request, await changePod(request, pod.record.id, patchOf(body, pod)));
  },
});

function action(name: "start" | "stop" | "reset" | "restart", details: string, act: Act) {
  return restRoute({
    on: `POST /pods/{podId}/${name}`,
    id: `${name}Pod`,
    summary: `${name.slice(0, 1).toUpperCase()}${name.slice(1)} a pod`,
    details,
    answer: podSchema,
    errors: REMOVE,
    serve: async (request, { params }: { readonly params: { readonly podId: string } }) =>
      toRestPod(request, await act(request, params.podId)),
  });
}

export const podRoutes: readonly Route<RestApi>[] = [
  {
    on: "GET /pods",
    id: "listPods",
    summary: "List pods",
    details:
      "The oldest first; with includeWorkers, then the workers of endpoints. Those that were terminated are not listed.",
    query: listSchema,
    errors: [400],
    answer: z.array(podSchema),
    serve: list,
  },
  {
    on: "POST /pods",
    id: "createPod",
    summary: "Create a pod",
    details: "Answered with 503 and no_capacity when no host has what it needs; nothing is made then.",
    body: podCreateSchema,
    example: { imageName: "runpod/pytorch:latest", gpuTypeIds: ["NVIDIA GeForce RTX 4090"] },
    answer: podSchema,
    status: 201,
    errors: WRITE,
    serve: create,
  },
  restRoute({
    on: "GET /pods/{podId}",
    id: "getPod",
    summary: "Get a pod",
    query: includedSchema,
    answer: podSchema,
    errors: FIND,
    serve: async (request, { params, query }) => {
      const pod = await requirePod(request, params.podId);
      const [shown] = await withIncluded(request, query, [pod]);
      return shown ?? toRestPod(request, pod);
    },
  }),
  ...withPost(update, "/update"),
  // Terraform's provider changes pods by this method.
  { ...update, on: "PUT /pods/{podId}", id: "updatePodByPut", summary: `${update.summary} (the same)` },
  restRoute({
    on: "DELETE /pods/{podId}",
    id: "deletePod",
    summary: "Terminate a pod",
    details: "Its container ends, and its local volume is removed.",
    errors: REMOVE,
    serve: async (request, { params }) => await terminatePod(request, params.podId),
  }),
  action("start", "On its host if that has its volume. A running pod stays as it is.", startPod),
  action("stop", "The container ends; the volume stays on its host.", stopPod),
  action("reset", "A new container in the place of the present one; the volume stays.", resetPod),
  action("restart", "The same, also for a locked pod.", restartPod),
  {
    on: "GET /pod/{podId}/logs",
    id: "getPodLogs",
    summary: "Get the last lines of the logs of a pod or worker, or follow them",
    query: podLogQuerySchema,
    answer: podLogsSchema,
    errors: [400, 404, 429],
    serve: podLogs,
  },
];

async function list(context: RestContext): Promise<Response> {
  const request = context.get("request");
  const repeated = ["cpuFlavorId", "dataCenterId", "gpuTypeId"].map((name) => [
    name,
    context.req.queries(name),
  ]);
  const query = parseInput(listSchema, { ...context.req.query(), ...Object.fromEntries(repeated) });
  const pods = await withIncluded(request, query, await listOwnPods(request));
  const workers = query.includeWorkers ? await listWorkersAsPods(request) : [];
  return context.json([...pods, ...workers].filter((pod) => matches(pod, query)));
}

async function create(context: RestContext): Promise<Response> {
  const body = await readLooseInput(context, podCreateSchema);
  const request = context.get("request");
  const pod = toRestPod(request, await createPod(request, creationOf(body)));
  return changedJson(context, pod, 201);
}

async function withIncluded(
  request: RequestContext,
  { includeNetworkVolume = false }: Included,
  pods: readonly Pod[],
): Promise<readonly RestPod[]> {
  const needsVolumes = includeNetworkVolume && pods.some(({ record }) => record.networkVolumeId !== null);
  const volumes = needsVolumes ? await listVolumes(request) : [];
  return pods.map((pod) => {
    const volume = volumes.find(({ id }) => id === pod.record.networkVolumeId);
    return toRestPod(request, pod, { volume });
  });
}

const COMPARED = [
  "desiredStatus",
  "endpointId",
  "id",
  "imageName",
  "name",
  "networkVolumeId",
  "templateId",
] as const;

function matches(pod: RestPod, query: Filter): boolean {
  const { cpuFlavorId, dataCenterId, gpuTypeId, computeType } = query;
  return (
    isAnyOf(cpuFlavorId, pod.cpuFlavorId) &&
    isAnyOf(dataCenterId, pod.machine?.dataCenterId) &&
    isAnyOf(gpuTypeId, pod.gpu?.id) &&
    (computeType === undefined || computeType === (pod.gpu === undefined ? "CPU" : "GPU")) &&
    COMPARED.every((name) => query[name] === undefined || query[name] === pod[name])
  );
}

function isAnyOf(wanted: readonly string[] | undefined, value: string | undefined): boolean {
  const named = wanted?.filter((name) => name !== "") ?? [];
  return named.length === 0 || (value !== undefined && named.includes(value));
}

/** The last log lines of an existing pod or worker by source, or all from then on. */
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

/** The endpoint of a worker, if the caller may read it; logs of a pod lie under its own id. */
async function endpointOf(request: RequestContext, workerId: string): Promise<string | undefined> {
  if (await findOwnPod(request, workerId)) return workerId;
  const ids = (await listOwnEndpoints(request)).map(({ id }) => id);
  const readable = ids.filter((id) => missingEndpointAccess(request.principal, id, "read") === undefined);
  const workers = await listWorkers(request, readable);
  return workers.find((worker) => worker.workerId === workerId)?.endpointId;
}
