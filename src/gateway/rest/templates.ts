/** Templates: `/v1/templates`. */
import {
  templateCreateSchema,
  templateSchema,
  templateUpdateSchema,
  type RestTemplate,
  type TemplateUpdate,
} from "../../contract/rest/rest-template.ts";
import { includeSchema } from "../../contract/rest/rest.ts";
import { listTemplates, listUnboundTemplates, type TemplateRecord } from "../../db/templates.ts";
import { readStartCommand, writeStartCommand } from "../../management/endpoints/start-command.ts";
import { templatePatchSchema } from "../../management/endpoints/template-patch.ts";
import {
  changeTemplate,
  createTemplate,
  deleteTemplateById,
  requireTemplate,
} from "../../management/endpoints/templates.ts";
import { changedJson, idOf, readInput, type RestContext } from "./context.ts";
import { parsePatch, toMap, toPairs, splitList } from "./mapping.ts";
import { CONTAINER_DISK_DEFAULT_GB } from "../../contract/endpoint.ts";

const MOUNT_PATH_DEFAULT = "/workspace";

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
  const patch = {
    ...toPatch(input, { entrypoint: [], command: [] }),
    isServerless: input.isServerless ?? false,
    containerDiskInGb: input.containerDiskInGb ?? CONTAINER_DISK_DEFAULT_GB,
    volumeInGb: input.volumeInGb ?? 0,
    volumeMountPath: input.volumeMountPath ?? MOUNT_PATH_DEFAULT,
  };
  const { id: _, ...values } = parsePatch(templatePatchSchema, patch);
  return changedJson(context, toRestTemplate(await createTemplate(context.get("request"), values)));
}

/** `PATCH /v1/templates/{id}` and `POST /v1/templates/{id}/update`. */
export async function patchTemplate(context: RestContext): Promise<Response> {
  const request = context.get("request");
  const input = await readInput(context, templateUpdateSchema, templateSchema);
  const { id, dockerArgs } = await requireTemplate(request, templateIdOf(context));
  const patch = toPatch(input, readStartCommand(dockerArgs));
  const { id: _, ...changes } = parsePatch(templatePatchSchema, patch);
  return changedJson(context, toRestTemplate(await changeTemplate(request, id, changes)));
}

export async function removeTemplate(context: RestContext): Promise<Response> {
  await deleteTemplateById(context.get("request"), templateIdOf(context));
  return context.body(null, 204);
}

/** What a template is in REST. */
export function toRestTemplate(template: TemplateRecord): RestTemplate {
  const { entrypoint, command } = readStartCommand(template.dockerArgs);
  return {
    id: template.id,
    name: template.name,
    imageName: template.imageName,
    category: template.category,
    containerDiskInGb: template.containerDiskInGb,
    containerRegistryAuthId: template.containerRegistryAuthId ?? "",
    dockerEntrypoint: [...entrypoint],
    dockerStartCmd: [...command],
    env: toMap(template.env),
    isPublic: template.isPublic,
    isRunpod: false,
    isServerless: template.isServerless,
    ports: splitList(template.ports),
    readme: template.readme,
    volumeInGb: template.volumeInGb,
    volumeMountPath: template.volumeMountPath,
    earned: 0,
    runtimeInMin: 0,
  };
}

function templateIdOf(context: RestContext): string {
  return idOf(context, "templateId");
}

/** Entry point and command are kept together, so the one that a patch omits is taken from what is stored. */
function toPatch(
  { dockerEntrypoint, dockerStartCmd, env, ports, ...same }: TemplateUpdate,
  stored: ReturnType<typeof readStartCommand>,
) {
  const hasCommand = Boolean(dockerEntrypoint ?? dockerStartCmd);
  const startCommand = {
    entrypoint: dockerEntrypoint ?? stored.entrypoint,
    command: dockerStartCmd ?? stored.command,
  };
  return {
    ...same,
    dockerArgs: hasCommand ? writeStartCommand(startCommand) : undefined,
    env: toPairs(env),
    ports: ports?.join(","),
  };
}
