/** Pods: `/v2/pods`. */
import * as z from "zod";
import { podLogQuerySchema } from "../../contract/agent/log.ts";
import { ServiceError } from "../../contract/errors.ts";
import { oneOf } from "../../management/input-schemas.ts";
import {
  changePod,
  createPod,
  listOwnPods,
  requirePod,
  restartPod,
  startPod,
  stopPod,
  terminatePod,
  type Pod,
} from "../../management/pods/pods.ts";
import { followLogs } from "../queue/streams/log-events.ts";
import { workerSearch } from "../queue/streams/logs.ts";
import type { Route } from "../route.ts";
import type { RestApi, RestContext } from "../rest/context.ts";
import { pageOf, pageSchema, pageShape } from "./page.ts";
import { withPlaces } from "../rest/patch.ts";
import { creationSchema, podPlaces, readCreation, readUpdate, updateSchema } from "./pod-bodies.ts";
import { ACTIONS, actionsOf, podSchema, show } from "./pod-view.ts";
import { FIND, readQuery, REMOVE, v2Route, WRITE } from "./route.ts";

const listSchema = z.strictObject({
  ...pageShape,
  includeClusterPods: z.enum(["true", "false"]).optional(),
});
const logsSchema = podLogQuerySchema.omit({ stream: true }).strict();
const actionSchema = z.strictObject({ action: oneOf(ACTIONS) });
type Action = (typeof ACTIONS)[number];

export const podRoutes: readonly Route<RestApi>[] = [
  v2Route({
    on: "GET /pods",
    id: "listContainerPods",
    summary: "List pods",
    query: listSchema,
    errors: [400, 422, 503],
    answer: pageSchema("pods", podSchema),
    serve: async (request, { query }) => {
      const isShown = ({ record }: Pod) => query.includeClusterPods === "true" || record.clusterId === null;
      const placed = (await listOwnPods(request)).filter(isShown).map((pod) => ({ ...pod.record, pod }));
      const { entries, pagination } = pageOf(placed, query);
      return { pods: entries.map(({ pod }) => show(request, pod)), pagination };
    },
  }),
  v2Route({
    on: "POST /pods",
    id: "createContainerPod",
    summary: "Create a pod",
    details: "Answered with 503 and no_capacity when no host has what it needs; nothing is made then.",
    errors: WRITE,
    body: creationSchema,
    example: {
      name: "training",
      image: "runpod/pytorch:latest",
      gpu: { id: "NVIDIA GeForce RTX 4090", count: 1 },
    },
    answer: podSchema,
    serve: async (request, { body }) =>
      await withPlaces(podPlaces, async () => show(request, await createPod(request, readCreation(body)))),
  }),
  v2Route({
    on: "GET /pods/{id}",
    id: "getContainerPod",
    summary: "Get a pod",
    errors: [...FIND, 503],
    answer: podSchema,
    serve: async (request, { params }) => show(request, await requirePod(request, params.id)),
  }),
  v2Route({
    on: "PATCH /pods/{id}",
    id: "updateContainerPod",
    summary: "Change a pod",
    details:
      "Omitted fields are left unchanged. The container is replaced where it would be another one. A template is applied once; the body wins.",
    errors: WRITE,
    body: updateSchema,
    example: { image: "runpod/pytorch:latest" },
    answer: podSchema,
    serve: async (request, { params, body }) =>
      await withPlaces(podPlaces, async () => {
        const { record } = await requirePod(request, params.id);
        return show(request, await changePod(request, params.id, await readUpdate(request, body, record)));
      }),
  }),
  v2Route({
    on: "DELETE /pods/{id}",
    id: "deleteContainerPod",
    summary: "Terminate a pod",
    details: "Its container ends, and its local volume is removed.",
    errors: REMOVE,
    serve: async (request, { params }) => await terminatePod(request, params.id),
  }),
  v2Route({
    on: "POST /pods/{id}/action",
    id: "actOnContainerPod",
    summary: "Start, stop, restart or terminate a pod",
    details: "409 for what the pod's `actions` do not have.",
    errors: [...WRITE, 409],
    body: actionSchema,
    example: { action: "stop" },
    answer: podSchema,
    status: 200,
    responses: { 204: { description: "Terminated; without a body." } },
    serve: async (request, { params, body: { action } }) => {
      const pod = await requirePod(request, params.id);
      if (!actionsOf(pod).includes(action)) throw refused(pod, action);
      if (action === "terminate") return await terminatePod(request, params.id);
      return show(request, await ACTS[action](request, params.id));
    },
  }),
  {
    on: "GET /pods/{id}/logs",
    id: "streamContainerPodLogs",
    summary: "Follow the logs of a pod",
    details: "Server-sent events, each `{source, line, ts}`.",
    query: logsSchema,
    hasEvents: true,
    errors: [...FIND, 422, 429],
    serve: followPod,
  },
];

const ACTS = { start: startPod, stop: stopPod, restart: restartPod } as const;

function refused({ record }: Pod, action: Action): ServiceError {
  const reason = record.locked ? "it is locked" : action === "start" ? "it runs already" : "it is stopped";
  return new ServiceError("pod_state", `action: pod ${record.id} cannot ${action}: ${reason}`);
}

async function followPod(context: RestContext): Promise<Response> {
  const request = context.get("request");
  const { type, ...query } = readQuery(logsSchema, context.req.query());
  const { record } = await requirePod(request, context.req.param("id") ?? "");
  const owner = { accountId: record.accountId, endpointId: record.id };
  const source = type === "all" ? undefined : type;
  return await followLogs(
    context,
    workerSearch(request.env, owner, record.id, { ...query, source }),
    "plain",
  );
}
