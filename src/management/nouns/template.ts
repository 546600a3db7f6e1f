/** What clients set of a template. */
import * as z from "zod";
import {
  blankIsAbsent,
  environmentSchema as restEnvironmentSchema,
  nameSchema as restNameSchema,
  stringsSchema,
  warningsSchema,
  zeroIsAbsent,
} from "../../contract/rest/rest.ts";
import { splitList, type EnvironmentVariable, type template } from "../../db/schema.ts";
import {
  clearable,
  environmentSchema,
  nameSchema,
  oneOf,
  optional,
  optionalNonEmpty,
  processString,
  stringSchema,
  wholeNumber,
} from "../input-schemas.ts";
import { cudaVersionsField } from "./comma-list.ts";
import { patchShape, restInput, restOutput, type Fields } from "./field.ts";
import { CONTAINER_DISK_DEFAULT_GB } from "../../contract/endpoint.ts";

const PORT_MAX = 65_535;
const CATEGORIES = ["CPU", "GPU", "NVIDIA", "AMD"] as const;
/** Typed clients of REST know no other ones. */
const SHOWN_CATEGORIES = ["NVIDIA", "AMD", "CPU"] as const;

function shownCategory(category: string | null): (typeof SHOWN_CATEGORIES)[number] {
  return SHOWN_CATEGORIES.find((known) => known === category) ?? "NVIDIA";
}

export const mountPathSchema = z.string().regex(/^(\/.*)?$/, "must begin with /, such as /workspace");

export const portsSchema = z.string().transform((ports, context) => {
  const entries = ports
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
  const wrong = entries.find((entry) => !isPortEntry(entry));
  if (wrong !== undefined) {
    context.addIssue(`'${wrong}' must have the form <port>/<protocol>, with http or tcp as protocol`);
  }
  return entries.join(",");
});

function isPortEntry(entry: string): boolean {
  const [, port] = /^(\d{1,5})\/(?:http|tcp)$/.exec(entry) ?? [];
  return port !== undefined && Number(port) >= 1 && Number(port) <= PORT_MAX;
}

export const imageSchema = stringSchema.trim().min(1, "must not be empty").meta({
  description: "Container image with its tag; `latest` when it has none.",
  example: "ghcr.io/acme/worker:1.4",
});

/** Variables of a container: a list in GraphQL, an object in REST. */
export const environmentField = {
  type: "[EnvironmentVariable]",
  inputType: "[EnvironmentVariableInput]",
  patch: optional(environmentSchema),
  default: [],
  /** The order does not matter, and the last of equal keys wins. */
  workerTrait: (env: readonly EnvironmentVariable[]) =>
    Object.entries(toMap(env)).toSorted(([one], [other]) => (one < other ? -1 : 1)),
  rest: {
    input: restEnvironmentSchema.nullish(),
    toPatch: toVariables,
    output: z.record(z.string(), z.string()),
    toOutput: toMap,
  },
};

function toVariables(env: Readonly<Record<string, string>> | null | undefined) {
  return env ? Object.entries(env).map(([key, value]) => ({ key, value })) : undefined;
}

/** The variables by name; the last of equal ones counts. */
function toMap(env: readonly EnvironmentVariable[]): Record<string, string> {
  return Object.fromEntries(env.map(({ key, value }) => [key, value]));
}

const forPods = "Stored for pods; has no effect on workers of endpoints.";

type Column = keyof typeof template.$inferSelect;

/** The fields of a container: those that a template inline with an endpoint has as well. */
const containerFields = {
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
  imageName: {
    type: "String",
    input:
      "Image reference with tag (latest when it has none), such as ghcr.io/acme/worker:1.4; not looked up when it is saved.",
    output: "Image reference with tag.",
    patch: optional(processString.trim().min(1, "must not be empty")),
    workerTrait: true,
    rest: { input: blankIsAbsent(imageSchema), creation: imageSchema, output: z.string() },
    v2: { name: "image", input: imageSchema.optional(), output: z.string() },
  },
  containerDiskInGb: {
    type: "Int",
    input: `GB of the container's disk; ${CONTAINER_DISK_DEFAULT_GB} by default in REST and for inline templates.`,
    patch: optional(wholeNumber(1)),
    workerTrait: true,
    rest: { input: zeroIsAbsent(wholeNumber(1)), default: CONTAINER_DISK_DEFAULT_GB, output: z.int() },
    v2: {
      name: "disk",
      input: wholeNumber(1).optional(),
      default: CONTAINER_DISK_DEFAULT_GB,
      output: z.int(),
    },
  },
  dockerArgs: {
    type: "String",
    input: "Arguments after the entry point of the image.",
    output: "Arguments after the entry point of the image.",
    patch: optional(processString),
    default: "",
    workerTrait: true,
    v2: { name: "args", input: stringSchema.optional(), output: z.string() },
  },
  env: {
    ...environmentField,
    input: "At most 50 variables; they replace the present ones.",
    v2: {
      name: "env",
      input: restEnvironmentSchema.optional(),
      toPatch: toVariables,
      output: z.record(z.string(), z.string()),
      toOutput: toMap,
    },
  },
  ports: {
    type: "String",
    input: "Comma list of <port>/<protocol>; protocols: http, tcp.",
    output: "Comma list of <port>/<protocol>.",
    patch: optional(portsSchema),
    default: "",
    workerTrait: true,
    rest: {
      input: stringsSchema.nullish().meta({ example: ["8000/http"] }),
      toPatch: (ports: readonly string[] | null | undefined) => ports?.join(","),
      output: z.array(z.string()),
      toOutput: splitList,
    },
    v2: {
      name: "ports",
      input: stringsSchema.optional().meta({ example: ["8000/http"] }),
      toPatch: (ports: readonly string[] | undefined) => ports?.join(","),
      output: z.array(z.string()),
      toOutput: splitList,
    },
  },
  readme: {
    type: "String",
    input: "Markdown.",
    output: "Markdown.",
    patch: optional(stringSchema),
    default: "",
    rest: { input: stringSchema.nullish(), output: z.string() },
  },
  containerRegistryAuthId: {
    type: "String",
    input: "A registry credential, for a private image; empty for none.",
    // Null leaves the stored credential; only the empty string removes it.
    patch: z.preprocess((value) => value ?? undefined, clearable(stringSchema)),
    default: null,
    workerTrait: true,
    rest: {
      input: stringSchema.nullish(),
      output: z.string(),
      toOutput: (id: string | null) => id ?? "",
    },
    v2: {
      name: "registry",
      input: stringSchema.nullish().meta({ description: "A registry credential; null removes it." }),
      toPatch: (id: string | null | undefined) => (id === null ? "" : id),
      output: z.string().nullable(),
    },
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
  ...containerFields,
  name: {
    ...containerFields.name,
    input: "Generated when absent; one of another inline template takes that one over.",
    patch: optionalNonEmpty(nameSchema),
  },
} satisfies Fields<Column>;

export const templateFields = {
  ...containerFields,
  volumeInGb: {
    type: "Int",
    input: "GB of the volume of a pod; 0 for Serverless templates, and for new ones in REST.",
    patch: optional(wholeNumber(0)),
    workerTrait: true,
    rest: { input: wholeNumber(0).nullish(), default: 0, output: z.int() },
    v2: { name: "mounts.persistent.size", input: wholeNumber(10), default: 0 },
  },
  volumeMountPath: {
    type: "String",
    input: "Begins with /; in REST /workspace for a new template.",
    patch: optional(mountPathSchema),
    default: "",
    workerTrait: true,
    rest: { input: blankIsAbsent(stringSchema), default: "/workspace", output: z.string() },
    v2: { name: "mounts.persistent.path", input: stringSchema },
  },
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
