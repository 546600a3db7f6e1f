/** Endpoints: `/v1/endpoints`. */
import { CPU_FLAVORS } from "../../catalog/cpu-flavors.ts";
import { GPU_TIER_NAMES } from "../../catalog/gpu-cards.ts";
import { includeSchema } from "../../contract/rest/rest.ts";
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
import { changedJson, idOf, type RestContext } from "./context.ts";
import { parsePatch, readInput } from "./input.ts";
import {
  cpuSizes,
  endpointCreateSchema,
  endpointFields,
  endpointPatchSchema,
  endpointSchema,
  endpointUpdateSchema,
  VCPU_COUNT_DEFAULT,
  type EndpointPatch,
  type EndpointUpdate,
  type RequestedCompute,
} from "../../management/nouns/endpoint.ts";
import { fromRest, restNames, toRest } from "../../management/nouns/field.ts";
import { toRestTemplate } from "./templates.ts";
import { toRestPod } from "./worker-pod.ts";

export async function getEndpoints(context: RestContext): Promise<Response> {
  const endpoints = await listOwnEndpoints(context.get("request"));
  return context.json(await withIncluded(context, endpoints));
}

export async function getEndpoint(context: RestContext): Promise<Response> {
  const endpoint = await requireEndpoint(context.get("request"), idOf(context, "endpointId"));
  return await showOne(context, endpoint);
}

export async function postEndpoint(context: RestContext): Promise<Response> {
  const input = await readInput(context, endpointCreateSchema, endpointSchema);
  const patch = toEndpointPatch(input, undefined);
  return changedJson(context, toRestEndpoint(await createEndpoint(context.get("request"), patch)));
}

/** `PATCH /v1/endpoints/{id}` and `POST /v1/endpoints/{id}/update`. */
export async function patchEndpoint(context: RestContext): Promise<Response> {
  const request = context.get("request");
  const input = await readInput(context, endpointUpdateSchema, endpointSchema);
  const stored = await requireEndpoint(request, idOf(context, "endpointId"));
  const changed = await changeEndpoint(request, stored.id, toEndpointPatch(input, stored));
  return changedJson(context, toRestEndpoint(changed));
}

/** Clients of REST cannot set the limits to 0 first, so workers are drained along with the endpoint. */
export async function removeEndpoint(context: RestContext): Promise<Response> {
  await deleteEndpoint(context.get("request"), idOf(context, "endpointId"), "with-workers");
  return context.body(null, 204);
}

async function showOne(context: RestContext, endpoint: EndpointRecord): Promise<Response> {
  return context.json((await withIncluded(context, [endpoint]))[0]);
}

/** Endpoints with the templates and workers that the query includes, loaded for all of them together. */
async function withIncluded(context: RestContext, endpoints: readonly EndpointRecord[]): Promise<object[]> {
  const request = context.get("request");
  const isIncluded = (name: string) => includeSchema.parse(context.req.query(name)) ?? false;
  const [hasTemplates, hasWorkers] = [isIncluded("includeTemplate"), isIncluded("includeWorkers")];
  const workers = hasWorkers
    ? await listWorkers(
        request,
        endpoints.map(({ id }) => id),
      )
    : [];
  const workersOf = Map.groupBy(workers, ({ endpointId }) => endpointId);
  const templateIds = endpoints
    .filter(({ id }) => hasTemplates || workersOf.has(id))
    .map(({ templateId }) => templateId);
  const templates = await findOwnTemplates(request, templateIds);
  const templateById = new Map(templates.map((template) => [template.id, template]));

  return endpoints.map((endpoint) => {
    const template = templateById.get(endpoint.templateId);
    const workersAsPods = template
      ? (workersOf.get(endpoint.id) ?? []).map((worker) => toRestPod(request, worker, endpoint, template))
      : [];
    return {
      ...toRestEndpoint(endpoint),
      ...(hasTemplates && { template: template && toRestTemplate(template) }),
      ...(hasWorkers && { workers: workersAsPods }),
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
    .map(({ id, memoryGbPerVcpu }) => `${id}-${vcpus}-${vcpus * memoryGbPerVcpu}`);
}

/** An endpoint as REST shows it. */
function toRestEndpoint(endpoint: EndpointRecord): object {
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
    instanceIds,
    locations: locations ?? "",
  };
}
