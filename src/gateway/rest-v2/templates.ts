/** Templates: `/v2/templates`. */
import * as z from "zod";
import {
  changeTemplate,
  createTemplate,
  deleteTemplateById,
  listOwnPublicTemplates,
  listOwnTemplates,
  requireTemplate,
  type TemplateRecord,
} from "../../management/endpoints/templates.ts";
import { oneOf } from "../../management/input-schemas.ts";
import {
  fromNested,
  nestedInput,
  nestedNames,
  nestedOutput,
  toNested,
} from "../../management/nouns/field.ts";
import { imageSchema } from "../../management/nouns/container.ts";
import { templateFields, templatePatchSchema, type TemplatePatch } from "../../management/nouns/template.ts";
import { nest, nestedAnswer, nestedBody } from "./nesting.ts";
import { pageOf, pageQuerySchema, pageSchema } from "./page.ts";
import { parsePatch, withPlaces } from "../rest/patch.ts";
import { FIND, REMOVE, v2Route, WRITE } from "./route.ts";

const places = nestedNames(templateFields);

const creation = nestedInput(templateFields, "creation");
const creationSchema = nestedBody({
  ...creation,
  image: imageSchema,
}).meta({
  id: "CreateTemplateInput",
});
const updateSchema = nestedBody(nestedInput(templateFields, "update")).meta({ id: "UpdateTemplateInput" });

const mountsSchema = z.object({
  persistent: z.object({ size: z.int(), path: z.string() }).optional(),
});
const answerSchema = nestedAnswer({
  id: z.string().meta({ example: "xkhgg72fuo4q8z" }),
  ...nestedOutput(templateFields),
  mounts: mountsSchema,
}).meta({ id: "ContainerTemplate" });

export const templateRoutes = [
  v2Route({
    on: "GET /templates",
    id: "listContainerTemplates",
    summary: "List templates",
    query: pageQuerySchema,
    errors: [400, 422],
    answer: pageSchema("templates", answerSchema),
    serve: async (request, { query }) => {
      const { entries, pagination } = pageOf(await listOwnTemplates(request, false), query);
      return { templates: entries.map(show), pagination };
    },
  }),
  v2Route({
    on: "POST /templates",
    id: "createContainerTemplate",
    summary: "Create a template",
    errors: WRITE,
    body: creationSchema,
    example: { name: "sdxl", image: "ghcr.io/acme/worker:1.4", serverless: true },
    answer: answerSchema,
    serve: async (request, { body }) =>
      await withPlaces(places, async () => show(await createTemplate(request, readPatch(body, "creation")))),
  }),
  v2Route({
    on: "GET /templates/{id}",
    id: "getContainerTemplate",
    summary: "Get a template",
    errors: FIND,
    answer: answerSchema,
    serve: async (request, { params }) => show(await requireTemplate(request, params.id, "id")),
  }),
  v2Route({
    on: "PATCH /templates/{id}",
    id: "updateContainerTemplate",
    summary: "Change a template",
    details: "Omitted fields are left unchanged. Endpoints that use the template get the change.",
    errors: WRITE,
    body: updateSchema,
    example: { image: "ghcr.io/acme/worker:1.5" },
    answer: answerSchema,
    serve: async (request, { params, body }) =>
      await withPlaces(places, async () =>
        show(await changeTemplate(request, params.id, readPatch(body, "update"))),
      ),
  }),
  v2Route({
    on: "DELETE /templates/{id}",
    id: "deleteContainerTemplate",
    summary: "Delete a template",
    details: "Refused while an endpoint uses it.",
    errors: REMOVE,
    serve: async (request, { params }) =>
      await withPlaces({ templateId: "id" }, async () => deleteTemplateById(request, params.id)),
  }),
];

export const publicTemplateRoutes = [
  v2Route({
    on: "GET /catalog/templates",
    id: "listPublicTemplates",
    summary: "List public templates",
    details: "Those that the account has made public: an installation has no templates of other sources.",
    query: z.strictObject({ source: oneOf(["official", "verified", "community"]).optional() }),
    answer: z.object({ templates: z.array(answerSchema) }),
    serve: async (request, { query }) => ({
      templates: query.source === "community" ? (await listOwnPublicTemplates(request)).map(show) : [],
    }),
  }),
];

function readPatch(body: object, kind: "creation" | "update"): TemplatePatch {
  const { id: _, ...patch } = parsePatch(templatePatchSchema, fromNested(templateFields, body, kind), places);
  return patch;
}

function show(template: TemplateRecord): object {
  const { volumeInGb: size, volumeMountPath: path } = template;
  const mounts = size > 0 ? { persistent: { size, path } } : {};
  return nest({ id: template.id, ...toNested(templateFields, template), mounts });
}
