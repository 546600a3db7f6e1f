/** Templates: `/v1/templates`. */
import * as z from "zod";
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
import { withPost, type Route } from "../route.ts";
import type { RestApi } from "./context.ts";
import { parsePatch } from "./patch.ts";
import { FIND, REMOVE, restRoute, UPDATE_DETAILS, WRITE } from "./route.ts";

const listQuery = z.object({
  includeEndpointBoundTemplates: includeSchema.meta({
    description: "Includes templates that were defined inline with an endpoint.",
    override: { type: "boolean", default: false },
  }),
  includePublicTemplates: includeSchema.meta({
    description: "Accepted for compatibility; ignored.",
    override: { type: "boolean", default: false },
  }),
  includeRunpodTemplates: includeSchema.meta({
    description: "Accepted for compatibility; ignored.",
    override: { type: "boolean", default: false },
  }),
});

/** `PATCH /v1/templates/{id}` and `POST /v1/templates/{id}/update`. */
const update = restRoute({
  on: "PATCH /templates/{templateId}",
  id: "updateTemplate",
  summary: "Change a template",
  details: UPDATE_DETAILS,
  body: templateUpdateSchema,
  example: {},
  answer: templateSchema,
  errors: WRITE,
  serve: async (request, { params, body }) => {
    const { id, dockerArgs } = await requireTemplate(request, params.templateId);
    const changes = toPatch(body, readStartCommand(dockerArgs), "update");
    return toRestTemplate(await changeTemplate(request, id, changes));
  },
});

export const templateRoutes: readonly Route<RestApi>[] = [
  restRoute({
    on: "GET /templates",
    id: "listTemplates",
    summary: "List templates",
    query: listQuery,
    answer: z.array(templateSchema),
    serve: async (request, { query }) =>
      (await listOwnTemplates(request, query.includeEndpointBoundTemplates ?? false)).map(toRestTemplate),
  }),
  restRoute({
    on: "POST /templates",
    id: "createTemplate",
    summary: "Create a template",
    body: templateCreateSchema,
    example: { name: "sdxl", imageName: "ghcr.io/acme/worker:1.4", isServerless: true },
    answer: templateSchema,
    errors: WRITE,
    serve: async (request, { body }) => {
      const values = toPatch(body, { entrypoint: [], command: [] }, "creation");
      return toRestTemplate(await createTemplate(request, values));
    },
  }),
  restRoute({
    on: "GET /templates/{templateId}",
    id: "getTemplate",
    summary: "Get a template",
    answer: templateSchema,
    errors: FIND,
    serve: async (request, { params }) => toRestTemplate(await requireTemplate(request, params.templateId)),
  }),
  ...withPost(update, "/update"),
  restRoute({
    on: "DELETE /templates/{templateId}",
    id: "deleteTemplate",
    summary: "Delete a template",
    details: "Refused while an endpoint uses it.",
    errors: REMOVE,
    serve: async (request, { params }) => await deleteTemplateById(request, params.templateId),
  }),
];

/** A template as REST shows it. */
export function toRestTemplate(template: TemplateRecord): z.input<typeof templateSchema> {
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

/** Entry point and command are stored together, so the one that a body omits is taken from what is stored. */
function toPatch(
  input: TemplateUpdate,
  stored: StartCommand,
  kind: "creation" | "update",
): Omit<z.output<typeof templatePatchSchema>, "id"> {
  const { dockerEntrypoint, dockerStartCmd } = input;
  const hasCommand = Boolean(dockerEntrypoint ?? dockerStartCmd);
  const startCommand = {
    entrypoint: dockerEntrypoint ?? stored.entrypoint,
    command: dockerStartCmd ?? stored.command,
  };
  const dockerArgs = hasCommand ? writeStartCommand(startCommand) : undefined;
  const fields = { ...fromRest(templateFields, input, kind), dockerArgs };
  const { id: _, ...patch } = parsePatch(templatePatchSchema, fields);
  return patch;
}
