/** Templates: `/v1/templates`. */
import { includeSchema } from "../../contract/rest/rest.ts";
import { listTemplates, listUnboundTemplates, type TemplateRecord } from "../../db/templates.ts";
import {
  readStartCommand,
  writeStartCommand,
  type StartCommand,
} from "../../management/endpoints/start-command.ts";
import { fromRest, toRest } from "../../management/nouns/field.ts";
import {
  templateCreateSchema,
  templateFields,
  templatePatchSchema,
  templateSchema,
  templateUpdateSchema,
  type TemplateUpdate,
} from "../../management/nouns/template.ts";
import {
  changeTemplate,
  createTemplate,
  deleteTemplateById,
  requireTemplate,
} from "../../management/endpoints/templates.ts";
import { changedJson, idOf, readInput, parsePatch, type RestContext } from "./context.ts";

export async function getTemplates(context: RestContext): Promise<Response> {
  const { db, principal } = context.get("request");
  const includesBound = includeSchema.parse(context.req.query("includeEndpointBoundTemplates"));
  const list = includesBound ? listTemplates : listUnboundTemplates;
  return context.json((await list(db, principal.accountId)).map(toRestTemplate));
}

export async function getTemplate(context: RestContext): Promise<Response> {
  return context.json(toRestTemplate(await requireTemplate(context.get("request"), templateIdOf(context))));
}

export async function postTemplate(context: RestContext): Promise<Response> {
  const input = await readInput(context, templateCreateSchema, templateSchema);
  const patch = toPatch(input, { entrypoint: [], command: [] }, "creation");
  const { id: _, ...values } = parsePatch(templatePatchSchema, patch);
  return changedJson(context, toRestTemplate(await createTemplate(context.get("request"), values)));
}

/** `PATCH /v1/templates/{id}` and `POST /v1/templates/{id}/update`. */
export async function patchTemplate(context: RestContext): Promise<Response> {
  const request = context.get("request");
  const input = await readInput(context, templateUpdateSchema, templateSchema);
  const { id, dockerArgs } = await requireTemplate(request, templateIdOf(context));
  const patch = toPatch(input, readStartCommand(dockerArgs), "update");
  const { id: _, ...changes } = parsePatch(templatePatchSchema, patch);
  return changedJson(context, toRestTemplate(await changeTemplate(request, id, changes)));
}

export async function removeTemplate(context: RestContext): Promise<Response> {
  await deleteTemplateById(context.get("request"), templateIdOf(context));
  return context.body(null, 204);
}

/** What a template is in REST. */
export function toRestTemplate(template: TemplateRecord): object {
  const { entrypoint, command } = readStartCommand(template.dockerArgs);
  return {
    id: template.id,
    ...toRest(templateFields, template),
    dockerEntrypoint: [...entrypoint],
    dockerStartCmd: [...command],
    isRunpod: false,
    earned: 0,
    runtimeInMin: 0,
  };
}

function templateIdOf(context: RestContext): string {
  return idOf(context, "templateId");
}

/** Entry point and command are stored together, so the one that a patch omits is taken from what is stored. */
function toPatch(input: TemplateUpdate, stored: StartCommand, kind: "creation" | "update") {
  const { dockerEntrypoint, dockerStartCmd } = input;
  const hasCommand = Boolean(dockerEntrypoint ?? dockerStartCmd);
  const startCommand = {
    entrypoint: dockerEntrypoint ?? stored.entrypoint,
    command: dockerStartCmd ?? stored.command,
  };
  return {
    ...fromRest(templateFields, input, kind),
    dockerArgs: hasCommand ? writeStartCommand(startCommand) : undefined,
  };
}
