/** Endpoints: `/v1/endpoints`. */
import {
  endpointCreateSchema,
  endpointUpdateSchema,
  type RestEndpoint,
} from "../../contract/rest-endpoint.ts";
import { includeSchema } from "../../contract/rest.ts";
import { listEndpoints, type EndpointRecord } from "../../db/endpoints.ts";
import { endpointObject } from "../../management/endpoints/endpoint-announcement.ts";
import {
  changeEndpoint,
  createEndpoint,
  deleteEndpoint,
  requireEndpoint,
} from "../../management/endpoints/endpoint-storage.ts";
import { requireTemplate } from "../../management/templates/template-storage.ts";
import { idOf, readInput, type RestContext } from "./context.ts";
import { showEndpoint, toEndpointPatch } from "./endpoint-spelling.ts";
import { showTemplate } from "./templates.ts";

const NAME_DEFAULT = "my endpoint";

export async function getEndpoints(context: RestContext): Promise<Response> {
  const { db, principal } = context.get("request");
  const endpoints = await listEndpoints(db, principal.accountId);
  return context.json(await Promise.all(endpoints.map((endpoint) => withParts(context, endpoint))));
}

export async function getEndpoint(context: RestContext): Promise<Response> {
  const endpoint = await requireEndpoint(context.get("request"), endpointIdOf(context));
  return context.json(await withParts(context, endpoint));
}

export async function postEndpoint(context: RestContext): Promise<Response> {
  const input = await readInput(context, endpointCreateSchema);
  const patch = toEndpointPatch({ ...input, name: input.name ?? NAME_DEFAULT }, undefined);
  return context.json(showEndpoint(await createEndpoint(context.get("request"), patch)));
}

/** `PATCH /v1/endpoints/{id}` and `POST /v1/endpoints/{id}/update`. */
export async function patchEndpoint(context: RestContext): Promise<Response> {
  const request = context.get("request");
  const input = await readInput(context, endpointUpdateSchema);
  const stored = await requireEndpoint(request, endpointIdOf(context));
  const changed = await changeEndpoint(request, stored.id, toEndpointPatch(input, stored));
  return context.json(showEndpoint(changed));
}

/** Clients of REST cannot set the limits to 0 first, so workers are drained along with the endpoint. */
export async function removeEndpoint(context: RestContext): Promise<Response> {
  await deleteEndpoint(context.get("request"), endpointIdOf(context), "with-workers");
  return context.body(null, 204);
}

/** The endpoint with what the query asks to include. */
async function withParts(context: RestContext, endpoint: EndpointRecord): Promise<RestEndpoint> {
  const request = context.get("request");
  const isAsked = (name: string) => includeSchema.parse(context.req.query(name)) ?? false;
  return {
    ...showEndpoint(endpoint),
    ...(isAsked("includeTemplate") && {
      template: showTemplate(await requireTemplate(request, endpoint.templateId)),
    }),
    ...(isAsked("includeWorkers") && { workers: await workersOf(context, endpoint.id) }),
  };
}

async function workersOf(context: RestContext, endpointId: string): Promise<RestEndpoint["workers"]> {
  const workers = await endpointObject(context.get("request"), endpointId).workers();
  return workers.map(({ workerId, desiredStatus }) => ({ id: workerId, desiredStatus }));
}

function endpointIdOf(context: RestContext): string {
  return idOf(context, "endpointId");
}
