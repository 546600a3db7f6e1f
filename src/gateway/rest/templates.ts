/** Templates: `/v1/templates`. */
import { includeSchema } from "../../contract/rest/rest.ts";
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
  listOwnTemplates,
  requireTemplate,
  type TemplateRecord,
} from "../../management/endpoints/templates.ts";
import { changedJson, idOf, type RestContext } from "./context.ts";
import { parsePatch, readInput } from "./input.ts";

export async function getTemplates(context: RestContext): Promise<Response> {
  const includesBound = includeSchema.parse(context.req.query("includeEndpointBoundTemplates")) ?? false;
  const templates = await listOwnTemplates(context.get("request"), includesBound);
  return context.json(templates.map(toRestTemplate));
}

export async function getTemplate(context: RestContext): Promise<Response> {
  return context.json(
    toRestTemplate(await requireTemplate(context.get("request"), idOf(context, "templateId"))),
  );
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
  const { id, dockerArgs } = await requireTemplate(request, idOf(context, "templateId"));
  const patch = toPatch(input, readStartCommand(dockerArgs), "update");
  const { id: _, ...changes } = parsePatch(templatePatchSchema, patch);
  return changedJson(context, toRestTemplate(await changeTemplate(request, id, changes)));
}

export async function removeTemplate(context: RestContext): Promise<Response> {
  await deleteTemplateById(context.get("request"), idOf(context, "templateId"));
  return context.body(null, 204);
}

/** A template as REST shows it. */
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
