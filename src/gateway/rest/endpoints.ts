/** Endpoints: `/v1/endpoints`. */
import {
  endpointCreateSchema,
  endpointSchema,
  endpointUpdateSchema,
  type RestEndpoint,
} from "../../contract/rest/rest-endpoint.ts";
import { includeSchema } from "../../contract/rest/rest.ts";
import { listEndpoints, type EndpointRecord } from "../../db/endpoints.ts";
import { findTemplates } from "../../db/templates.ts";
import { listWorkers, podStatus } from "../../management/endpoints/worker-pods.ts";
import {
  changeEndpoint,
  createEndpoint,
  deleteEndpoint,
  requireEndpoint,
} from "../../management/endpoints/endpoints.ts";
import type { WorkerView } from "../../fleet/messages.ts";
import { changedJson, idOf, readInput, type RestContext } from "./context.ts";
import { toRestEndpoint, toEndpointPatch } from "./endpoint-mapping.ts";
import { toRestTemplate } from "./templates.ts";

const NAME_DEFAULT = "my endpoint";

export async function getEndpoints(context: RestContext): Promise<Response> {
  const { db, principal } = context.get("request");
  const endpoints = await listEndpoints(db, principal.accountId);
  return context.json(await withIncluded(context, endpoints));
}

export async function getEndpoint(context: RestContext): Promise<Response> {
  const endpoint = await requireEndpoint(context.get("request"), endpointIdOf(context));
  return await showOne(context, endpoint);
}

export async function postEndpoint(context: RestContext): Promise<Response> {
  const input = await readInput(context, endpointCreateSchema, endpointSchema);
  const patch = toEndpointPatch({ ...input, name: input.name ?? NAME_DEFAULT }, undefined);
  return changedJson(context, toRestEndpoint(await createEndpoint(context.get("request"), patch)));
}

/** `PATCH /v1/endpoints/{id}` and `POST /v1/endpoints/{id}/update`. */
export async function patchEndpoint(context: RestContext): Promise<Response> {
  const request = context.get("request");
  const input = await readInput(context, endpointUpdateSchema, endpointSchema);
  const stored = await requireEndpoint(request, endpointIdOf(context));
  const changed = await changeEndpoint(request, stored.id, toEndpointPatch(input, stored));
  return changedJson(context, toRestEndpoint(changed));
}

/** Clients of REST cannot set the limits to 0 first, so workers are drained along with the endpoint. */
export async function removeEndpoint(context: RestContext): Promise<Response> {
  await deleteEndpoint(context.get("request"), endpointIdOf(context), "with-workers");
  return context.body(null, 204);
}

async function showOne(context: RestContext, endpoint: EndpointRecord): Promise<Response> {
  return context.json((await withIncluded(context, [endpoint]))[0]);
}

/** Endpoints with what the query asks to include, loaded for all of them together. */
async function withIncluded(
  context: RestContext,
  endpoints: readonly EndpointRecord[],
): Promise<RestEndpoint[]> {
  const request = context.get("request");
  const isIncluded = (name: string) => includeSchema.parse(context.req.query(name)) ?? false;
  const templateIds = isIncluded("includeTemplate") ? endpoints.map(({ templateId }) => templateId) : [];
  const endpointIds = isIncluded("includeWorkers") ? endpoints.map(({ id }) => id) : [];
  const templates = await findTemplates(request.db, request.principal.accountId, templateIds);
  const workers = Map.groupBy(await listWorkers(request, endpointIds), ({ endpointId }) => endpointId);
  const templateById = new Map(templates.map((template) => [template.id, toRestTemplate(template)]));

  return endpoints.map((endpoint) => ({
    ...toRestEndpoint(endpoint),
    ...(templateIds.length > 0 && { template: templateById.get(endpoint.templateId) }),
    ...(endpointIds.length > 0 && { workers: (workers.get(endpoint.id) ?? []).map(showWorker) }),
  }));
}

function showWorker({ workerId, state }: WorkerView) {
  return { id: workerId, desiredStatus: podStatus(state) };
}

function endpointIdOf(context: RestContext): string {
  return idOf(context, "endpointId");
}
