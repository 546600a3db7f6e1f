/** What clients set of a template. */
import * as z from "zod";
import type { ContainerSettings } from "../../contract/flash/app-settings.ts";
import {
  blankIsAbsent,
  nameSchema as restNameSchema,
  stringsSchema,
  warningsSchema,
} from "../../contract/rest/rest.ts";
import type { template } from "../../db/schema.ts";
import { clearable, nameSchema, oneOf, optional, optionalNonEmpty, stringSchema } from "../input-schemas.ts";
import { cudaVersionsField } from "./compute.ts";
import { containerFields } from "./container.ts";
import { persistentVolumeFields } from "./mounts.ts";
import { patchShape, restInput, restOutput, type Field, type Fields } from "./field.ts";

const CATEGORIES = ["CPU", "GPU", "NVIDIA", "AMD"] as const;
/** Typed clients of REST know no other ones. */
const SHOWN_CATEGORIES = ["NVIDIA", "AMD", "CPU"] as const;

function shownCategory(category: string | null): (typeof SHOWN_CATEGORIES)[number] {
  return SHOWN_CATEGORIES.find((known) => known === category) ?? "NVIDIA";
}

const forPods = "Stored for pods; has no effect on workers of endpoints.";

type Column = keyof typeof template.$inferSelect;

/** The fields that a template inline with an endpoint has as well. */
const commonFields = {
  name: {
    type: "String",
    input: "Unique in the account, up to 191 characters.",
    patch: optional(nameSchema),
    rest: {
      input: blankIsAbsent(restNameSchema),
      creation: restNameSchema.meta({ example: "sdxl" }),
      output: z.string(),
    },
    v2: { name: "name", input: restNameSchema.optional(), creation: restNameSchema, output: z.string() },
  },
  ...containerFields,
  readme: {
    type: "String",
    input: "Markdown.",
    output: "Markdown.",
    patch: optional(stringSchema),
    default: "",
    rest: { input: stringSchema.nullish(), output: z.string() },
  },
  startSsh: {
    type: "Boolean",
    input: forPods,
    patch: optional(z.boolean()),
    default: false,
    workerTrait: true,
    v2: { name: "startSsh", input: z.boolean().optional(), default: true, output: z.boolean() },
  },
  startJupyter: {
    type: "Boolean",
    input: forPods,
    patch: optional(z.boolean()),
    default: false,
    workerTrait: true,
    v2: { name: "startJupyter", input: z.boolean().optional(), default: true, output: z.boolean() },
  },
  startScript: {
    type: "String",
    input: forPods,
    patch: optional(stringSchema),
    default: "",
    workerTrait: true,
  },
  advancedStart: {
    type: "Boolean",
    input: forPods,
    patch: optional(z.boolean()),
    default: false,
    workerTrait: true,
  },
  config: { type: "JSON", input: forPods, patch: optional(z.json()), default: null, workerTrait: true },
} satisfies Fields<Column>;

export const inlineTemplateFields = {
  ...commonFields,
  name: {
    ...commonFields.name,
    input: "Generated when absent; one of another inline template takes that one over.",
    patch: optionalNonEmpty(nameSchema),
  },
} satisfies Fields<Column> & Record<keyof ContainerSettings, Field<Column>>;

export const templateFields = {
  ...commonFields,
  ...persistentVolumeFields,
  portsConfig: {
    type: "[PortConfig]",
    inputType: "[PortConfigInput]",
    input: "Names for ports.",
    patch: optional(z.array(z.object({ port: stringSchema, name: stringSchema }))),
    default: [],
  },
  isServerless: {
    type: "Boolean",
    input: "true for endpoints, false for pods.",
    patch: optional(z.boolean()),
    default: false,
    rest: { creation: z.boolean().nullish(), output: z.boolean() },
    v2: { name: "serverless", input: z.boolean().optional(), output: z.boolean() },
  },
  isPublic: {
    type: "Boolean",
    input: "Listed by podTemplates.",
    patch: optional(z.boolean()),
    default: false,
    rest: { input: z.boolean().nullish(), output: z.boolean() },
    v2: { name: "public", input: z.boolean().optional(), output: z.boolean() },
  },
  allowedCudaVersions: {
    ...cudaVersionsField,
    input: "Comma list such as 12.8,13.0; endpoints that REST v2 makes of the template get it.",
  },
  category: {
    type: "TemplateCategory",
    input: "For lists; has no effect.",
    patch: clearable(oneOf(CATEGORIES)),
    default: null,
    rest: {
      input: oneOf(CATEGORIES).nullish(),
      output: z.enum(SHOWN_CATEGORIES),
      toOutput: shownCategory,
    },
    v2: {
      name: "category",
      input: oneOf(SHOWN_CATEGORIES).optional(),
      default: "NVIDIA",
      output: z.enum(SHOWN_CATEGORIES),
      toOutput: shownCategory,
    },
  },
} satisfies Fields<Column>;

/** What a saveTemplate asks to be different; undefined keeps, null clears. */
export const templatePatchSchema = z.object({
  id: optionalNonEmpty(stringSchema),
  ...patchShape(templateFields),
});
export type TemplatePatch = Partial<Omit<z.output<typeof templatePatchSchema>, "id">>;

/** The template that comes inline with an endpoint: a Serverless template always. */
export const inlineTemplateSchema = z
  .object(patchShape(inlineTemplateFields))
  .transform((fields) => ({ ...fields, isServerless: true, volumeInGb: 0 }));
export type InlineTemplate = z.output<typeof inlineTemplateSchema>;

const startCommandShape = {
  dockerEntrypoint: stringsSchema.nullish().meta({
    description: "Replaces the ENTRYPOINT of the image. Empty: that of the image.",
  }),
  dockerStartCmd: stringsSchema.nullish().meta({
    description: "Replaces the CMD of the image. Empty: that of the image.",
    example: ["python", "-u", "handler.py"],
  }),
};

/** Body of `POST /v1/templates`. */
export const templateCreateSchema = z
  .object({ ...restInput(templateFields, "creation"), ...startCommandShape })
  .meta({ id: "TemplateCreateInput" });

/** Body of `PATCH /v1/templates/{id}`: what it omits stays. */
export const templateUpdateSchema = z
  .object({ ...restInput(templateFields, "update"), ...startCommandShape })
  .meta({ id: "TemplateUpdateInput" });
export type TemplateUpdate = z.infer<typeof templateUpdateSchema>;

/** A template as REST v1 shows it. */
export const templateSchema = z
  .object({
    id: z.string().meta({ example: "xkhgg72fuo4q8z" }),
    ...restOutput(templateFields),
    dockerEntrypoint: z.array(z.string()),
    dockerStartCmd: z.array(z.string()),
    isRunpod: z.boolean().meta({ description: "Always false: there are no official templates." }),
    earned: z.number().meta({ description: "Always 0." }),
    runtimeInMin: z.number().meta({ description: "Always 0." }),
    warnings: warningsSchema,
  })
  .meta({ id: "Template" });
