/** What clients set of a container, whatever it runs for. */
import * as z from "zod";
import { CONTAINER_DISK_DEFAULT_GB } from "../../contract/endpoint.ts";
import { modelReferencesSchema } from "../../contract/model.ts";
import {
  blankIsAbsent,
  entriesSchema,
  environmentSchema as restEnvironmentSchema,
  stringsSchema,
  zeroIsAbsent,
} from "../../contract/rest/rest.ts";
import { splitList, type EnvironmentVariable } from "../../db/schema.ts";
import {
  clearable,
  environmentSchema,
  listOf,
  optional,
  processString,
  stringSchema,
  wholeNumber,
} from "../input-schemas.ts";
import { isStartCommand } from "../endpoints/start-command.ts";
import type { Fields } from "./field.ts";
import { secretNameSchema } from "./secret.ts";

const PORT_MAX = 65_535;

/** Of ports where they are a list of strings. */
export const PORTS_META = { description: "Each `<port>/<protocol>`; protocols: http, tcp." };

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

const MODELS_META = {
  description:
    "Models that the host downloads once and workers find in HF_HUB_CACHE: each `org/name` or `org/name@revision`.",
  example: ["Qwen/Qwen3-8B@main"],
};

/** Order does not matter, and a model that is named twice is one model. */
const modelsSchema = modelReferencesSchema.transform((models) => [...new Set(models)].toSorted());

const modelFields = {
  models: {
    type: "[String]",
    input: "Models that workers find in HF_HUB_CACHE, each org/name or org/name@revision; at most 16.",
    output: "Models that workers find in HF_HUB_CACHE.",
    patch: optional(listOf(modelReferencesSchema.element).pipe(modelsSchema)),
    default: [],
    workerTrait: true,
    rest: {
      input: modelReferencesSchema.nullish().meta(MODELS_META),
      output: z.array(z.string()).meta(MODELS_META),
    },
    v2: {
      name: "models",
      input: modelReferencesSchema.optional().meta(MODELS_META),
      output: z.array(z.string()).meta(MODELS_META),
    },
  },
  modelTokenSecret: {
    type: "String",
    input: "Name of the secret whose value opens private models to hosts; empty or null for none.",
    output: "Name of the secret whose value opens private models to hosts.",
    patch: clearable(secretNameSchema),
    default: null,
    workerTrait: true,
    rest: {
      input: stringSchema.nullish(),
      output: z.string(),
      toOutput: (name: string | null) => name ?? "",
    },
    v2: { name: "modelTokenSecret", input: stringSchema.nullish(), output: z.string().nullable() },
  },
} satisfies Fields;

export const containerFields = {
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
    patch: optional(
      processString.refine(
        isStartCommand,
        "must be words as a shell splits them; check that every quote is closed",
      ),
    ),
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
      input: stringsSchema.nullish().meta({ ...PORTS_META, example: ["8000/http"] }),
      toPatch: (ports: readonly string[] | null | undefined) => ports?.join(","),
      output: z.array(z.string()).meta(PORTS_META),
      toOutput: splitList,
    },
    v2: {
      name: "ports",
      input: entriesSchema.optional().meta({ ...PORTS_META, example: ["8000/http"] }),
      toPatch: (ports: readonly string[] | undefined) => ports?.join(","),
      output: z.array(z.string()).meta(PORTS_META),
      toOutput: splitList,
    },
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
  ...modelFields,
} satisfies Fields;
