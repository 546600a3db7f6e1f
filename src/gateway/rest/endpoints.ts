/** Endpoints: `/v1/endpoints`. */
import * as z from "zod";
import { CPU_FLAVORS, instanceIdOf } from "../../catalog/cpu-flavors.ts";
import { GPU_TIER_NAMES } from "../../catalog/gpu-cards.ts";
import { includeSchema } from "../../contract/rest/rest.ts";
import type { RestPod } from "../../contract/rest/rest-pod.ts";
import { findOwnTemplates } from "../../management/endpoints/templates.ts";
import { listWorkers } from "../../management/endpoints/worker-pods.ts";
import {
  changeEndpoint,
  createEndpoint,
  deleteEndpoint,
  listOwnEndpoints,
  requireEndpoint,
  type EndpointRecord,
} from "../../management/endpoints/endpoints.ts";
import type { RequestContext } from "../../management/context.ts";
import { withPost, type Route } from "../route.ts";
import type { RestApi } from "./context.ts";
import { parsePatch } from "./patch.ts";
import { FIND, REMOVE, restRoute, UPDATE_DETAILS, WRITE } from "./route.ts";
import { cpuSizes, VCPU_COUNT_DEFAULT, type RequestedCompute } from "../../management/nouns/compute.ts";
import {
  endpointCreateSchema,
  endpointFields,
  endpointPatchSchema,
  endpointSchema,
  endpointUpdateSchema,
  type EndpointPatch,
  type EndpointUpdate,
} from "../../management/nouns/endpoint.ts";
import { fromRest, restNames, toRest } from "../../management/nouns/field.ts";
import { toRestTemplate } from "./templates.ts";
import { toRestWorker } from "./worker-pod.ts";

const query = z.object({ includeTemplate: includeSchema, includeWorkers: includeSchema });
type Included = z.output<typeof query>;

/** `PATCH /v1/endpoints/{id}` and `POST /v1/endpoints/{id}/update`. */
const update = restRoute({
  on: "PATCH /endpoints/{endpointId}",
  id: "updateEndpoint",
  summary: "Change an endpoint",
  details: UPDATE_DETAILS,
  body: endpointUpdateSchema,
  example: {},
  answer: endpointSchema,
  errors: WRITE,
  serve: async (request, { params, body }) => {
    const stored = await requireEndpoint(request, params.endpointId);
    return toRestEndpoint(await changeEndpoint(request, stored.id, toEndpointPatch(body, stored)));
  },
});

export const endpointRoutes: readonly Route<RestApi>[] = [
  restRoute({
    on: "GET /endpoints",
    id: "listEndpoints",
    summary: "List endpoints",
    query,
    answer: z.array(endpointSchema),
    serve: async (request, call) => await withIncluded(request, call.query, await listOwnEndpoints(request)),
  }),
  restRoute({
    on: "POST /endpoints",
    id: "createEndpoint",
    summary: "Create an endpoint",
    body: endpointCreateSchema,
    example: { templateId: "xkhgg72fuo4q8z", name: "sdxl", gpuTypeIds: ["NVIDIA GeForce RTX 4090"] },
    answer: endpointSchema,
    errors: WRITE,
    serve: async (request, { body }) =>
      toRestEndpoint(await createEndpoint(request, toEndpointPatch(body, undefined))),
  }),
  restRoute({
    on: "GET /endpoints/{endpointId}",
    id: "getEndpoint",
    summary: "Get an endpoint",
    query,
    answer: endpointSchema,
    errors: FIND,
    serve: async (request, { params, ...call }) => {
      const endpoint = await requireEndpoint(request, params.endpointId);
      const [shown] = await withIncluded(request, call.query, [endpoint]);
      return shown ?? toRestEndpoint(endpoint);
    },
  }),
  ...withPost(update, "/update"),
  restRoute({
    on: "DELETE /endpoints/{endpointId}",
    id: "deleteEndpoint",
    summary: "Delete an endpoint",
    details: "Its workers are drained and its jobs cancelled.",
    errors: REMOVE,
    // Clients of REST cannot set the limits to 0 first, so workers are drained along with the endpoint.
    serve: async (request, { params }) => await deleteEndpoint(request, params.endpointId, "with-workers"),
  }),
];

/** The workers of all endpoints of the calling account. */
export async function listWorkersAsPods(request: RequestContext): Promise<readonly RestPod[]> {
  const endpoints = await withIncluded(request, { includeWorkers: true }, await listOwnEndpoints(request));
  return endpoints.flatMap(({ workers = [] }) => workers);
}

/** Endpoints with the templates and workers that the query includes, loaded for all of them together. */
async function withIncluded(
  request: RequestContext,
  { includeTemplate = false, includeWorkers = false }: Included,
  endpoints: readonly EndpointRecord[],
) {
  const ids = includeWorkers ? endpoints.map(({ id }) => id) : [];
  const workersOf = Map.groupBy(await listWorkers(request, ids), ({ endpointId }) => endpointId);
  const templateIds = endpoints
    .filter(({ id }) => includeTemplate || workersOf.has(id))
    .map(({ templateId }) => templateId);
  const templates = await findOwnTemplates(request, templateIds);
  const templateById = new Map(templates.map((template) => [template.id, template]));

  return endpoints.map((endpoint) => {
    const template = templateById.get(endpoint.templateId);
    const workersAsPods = template
      ? (workersOf.get(endpoint.id) ?? []).map((worker) => toRestWorker(request, worker, endpoint, template))
      : [];
    return {
      ...toRestEndpoint(endpoint),
      ...(includeTemplate && { template: template && toRestTemplate(template) }),
      ...(includeWorkers && { workers: workersAsPods }),
    };
  });
}

// Conversion from and to REST

type StoredCompute = Pick<EndpointRecord, "gpuIds" | "instanceIds">;

/** The patch in a REST body; `stored` is the endpoint that it changes, undefined for a new one. */
function toEndpointPatch(input: EndpointUpdate, stored: StoredCompute | undefined): EndpointPatch {
  const fields = fromRest(endpointFields, input, stored === undefined ? "creation" : "update");
  const patch = { ...fields, ...computeOf(input, stored) };
  return parsePatch(endpointPatchSchema, patch, restNames(endpointFields));
}

type ComputePatch = { readonly gpuIds?: string; readonly instanceIds?: readonly string[] };

/** GPUs or CPU instances; nothing for a change that touches neither. */
function computeOf(requested: RequestedCompute, stored: StoredCompute | undefined): ComputePatch {
  const isCpu = stored?.gpuIds === null;
  return (requestsCpu(requested) ?? isCpu)
    ? cpusOf(requested, isCpu ? stored : undefined)
    : gpusOf(requested, stored !== undefined && !isCpu);
}

/** Undefined when the body does not tell. */
function requestsCpu({ computeType, gpuTypeIds, cpuFlavorIds }: RequestedCompute): boolean | undefined {
  if (computeType) return computeType === "CPU";
  if (gpuTypeIds?.length) return false;
  return cpuFlavorIds?.length ? true : undefined;
}

function gpusOf({ gpuTypeIds }: RequestedCompute, hasGpus: boolean): ComputePatch {
  if (gpuTypeIds?.length) return { gpuIds: gpuTypeIds.join(",") };
  return hasGpus ? {} : { gpuIds: GPU_TIER_NAMES.join(",") };
}

function cpusOf(
  { cpuFlavorIds, vcpuCount }: RequestedCompute,
  stored: StoredCompute | undefined,
): ComputePatch {
  if (stored && !cpuFlavorIds?.length && !vcpuCount) return {};
  const sizes = cpuSizes(stored?.instanceIds ?? []);
  const all = CPU_FLAVORS.map(({ id }) => id);
  const flavors = firstFilled(cpuFlavorIds, sizes.flavors, all);
  return { instanceIds: instanceIds(flavors, vcpuCount ?? sizes.vcpus ?? VCPU_COUNT_DEFAULT) };
}

function firstFilled(...lists: readonly (readonly string[] | null | undefined)[]): readonly string[] {
  return lists.find((list) => list && list.length > 0) ?? [];
}

function instanceIds(flavors: readonly string[], vcpus: number): readonly string[] {
  return CPU_FLAVORS.filter(({ id }) => flavors.includes(id))
    .toSorted((a, b) => flavors.indexOf(a.id) - flavors.indexOf(b.id))
    .map(({ id }) => instanceIdOf(id, vcpus));
}

/** An endpoint as REST shows it. */
function toRestEndpoint(endpoint: EndpointRecord): z.input<typeof endpointSchema> {
  const { gpuIds, instanceIds, locations } = endpoint;
  const { vcpus } = cpuSizes(instanceIds);
  return {
    id: endpoint.id,
    ...toRest(endpointFields, endpoint),
    userId: endpoint.accountId,
    version: endpoint.version,
    createdAt: new Date(endpoint.createdAt).toISOString(),
    computeType: gpuIds === null ? "CPU" : "GPU",
    gpuIds: gpuIds ?? "",
    ...(vcpus !== undefined && { vcpuCount: vcpus }),
    instanceIds: [...instanceIds],
    locations: locations ?? "",
  };
}
