/** What clients set of an endpoint. */
import * as z from "zod";
import type { EndpointSettings } from "../../contract/flash/app-settings.ts";
import {
  EXECUTION_TIMEOUT_DEFAULT_MS,
  EXECUTION_TIMEOUT_MAX_MS,
  EXECUTION_TIMEOUT_MIN_MS,
  QUEUE_DEPTH_MAX,
} from "../../contract/limits.ts";
import {
  blankIsAbsent,
  nameSchema as restNameSchema,
  warningsSchema,
  zeroIsAbsent,
} from "../../contract/rest/rest.ts";
import { podSchema } from "../../contract/rest/rest-pod.ts";
import { hasFlashBoot } from "../../domain/placement/standby.ts";
import type { endpoint } from "../../db/schema.ts";
import {
  clearable,
  listOf,
  oneOf,
  optional,
  optionalNonEmpty,
  nameSchema,
  stringSchema,
  wholeNumber,
} from "../input-schemas.ts";
import { computeFields, computeShape } from "./compute.ts";
import { environmentField } from "./container.ts";
import { networkVolumeFields } from "./mounts.ts";
import { patchShape, restInput, restOutput, type Field, type Fields } from "./field.ts";
import { inlineTemplateSchema, templateSchema } from "./template.ts";
import {
  CANARY_PERCENT_MAX,
  IDLE_TIMEOUT_DEFAULT_SECONDS,
  IDLE_TIMEOUT_MAX_SECONDS,
  SCALER_VALUE_DEFAULT,
  SHARE_PRIORITIES,
  SHARE_WEIGHT_DEFAULT,
  SHARE_WEIGHT_MAX,
  WORKERS_MAX_DEFAULT,
  WORKERS_PER_ENDPOINT_MAX,
} from "../../contract/endpoint.ts";

/** A list that is not offered; clients send it empty where they do not use it. */
function absent(error: string, description: string) {
  const schema = z.array(z.unknown()).nullish();
  return schema.refine((values) => !values?.length, { error }).meta({ description });
}

/** Anything that is not offered. */
function absentValue(error: string) {
  return z.unknown().refine(isEmpty, { error }).optional();
}

function isEmpty(value: unknown): boolean {
  return value === null || typeof value !== "object" ? !value : Object.keys(value).length === 0;
}

/** Where code, models or files would come from, if not from the image. */
const absentSources = {
  modelName: absentValue(
    "no model is fetched for an endpoint: name it in a variable of env that its code reads, such as MODEL_NAME",
  ),
  repo: absentValue("no image is built from a repository: build it, push it, and name it in the template"),
  hubReleaseId: absentValue("there is no Hub: name the image of the release in the template"),
  cloudStorageConfig: absentValue(
    "no object storage is attached: read the bucket in the code, or attach a network volume with networkVolumeIds",
  ),
};

const modelReferencesSchema = absent(
  "no model can be attached to an endpoint. Let its code load the model: from the image, from a network " +
    "volume, or by a name in a variable such as MODEL_NAME in env",
  "Refused unless it is empty: the code of a worker loads its model.",
);

const volumesSchema = absent(
  "there are no volumes of object storage. Attach network volumes with networkVolumeIds, or read the bucket in the code",
  "Refused unless it is empty: there are no volumes of object storage.",
);

const executionTimeoutSchema = z.preprocess(
  (timeout) => (timeout === null || timeout === 0 ? EXECUTION_TIMEOUT_DEFAULT_MS : timeout),
  wholeNumber(EXECUTION_TIMEOUT_MIN_MS, EXECUTION_TIMEOUT_MAX_MS).optional(),
);

const timeoutRange = `must be 0 or between ${EXECUTION_TIMEOUT_MIN_MS} and ${EXECUTION_TIMEOUT_MAX_MS}`;
const restTimeoutSchema = z.union(
  [
    z.literal(0),
    z.int().min(EXECUTION_TIMEOUT_MIN_MS, timeoutRange).max(EXECUTION_TIMEOUT_MAX_MS, timeoutRange),
  ],
  timeoutRange,
);

type EndpointRow = typeof endpoint.$inferSelect;
type Column = keyof EndpointRow;

const SCALER_TYPES = ["QUEUE_DELAY", "REQUEST_COUNT"] as const;
const FLASH_BOOT_TYPES = ["OFF", "FLASHBOOT", "PRIORITY_FLASHBOOT"] as const;

/** Types of endpoints as REST v2 calls them. */
const NESTED_TYPES = ["QUEUE", "LOAD_BALANCER"] as const;
type NestedType = (typeof NESTED_TYPES)[number];
const workerCount = wholeNumber(0, WORKERS_PER_ENDPOINT_MAX);

export const endpointFields = {
  name: {
    type: "String",
    input:
      "Up to 191 characters; unique in a flash environment alone, where it has letters, digits, - and _ only.",
    patch: optional(nameSchema),
    rest: {
      input: blankIsAbsent(restNameSchema).meta({ example: "sdxl" }),
      default: "my endpoint",
      output: z.string(),
    },
    v2: { name: "name", input: restNameSchema.optional(), creation: restNameSchema, output: z.string() },
  },
  type: {
    type: "String",
    input: "QB (default) or LB; fixed at creation.",
    output: "QB, with a queue, or LB, load-balanced.",
    patch: optional(oneOf(["QB", "LB"])),
    rest: { output: z.enum(["QB", "LB"]) },
    v2: {
      name: "type",
      creation: oneOf(NESTED_TYPES),
      toPatch: (type: NestedType | undefined) => type && (type === "QUEUE" ? "QB" : "LB"),
      output: z.enum(NESTED_TYPES),
      toOutput: (type: EndpointRow["type"]) => (type === "QB" ? "QUEUE" : "LOAD_BALANCER"),
    },
  },
  ...computeFields,
  templateId: {
    type: "String",
    input: "A Serverless template of the account.",
    patch: optionalNonEmpty(stringSchema),
    workerTrait: true,
    rest: {
      input: blankIsAbsent(stringSchema),
      creation: stringSchema.min(1, "must not be empty").meta({ example: "xkhgg72fuo4q8z" }),
      output: z.string(),
    },
  },
  workersMin: {
    type: "Int",
    input: "Workers that are always up; 0 by default, which means none without jobs.",
    patch: optional(workerCount),
    default: 0,
    rest: { input: workerCount.nullish(), output: z.int() },
    v2: { name: "workers.min", input: workerCount.optional(), output: z.int() },
  },
  workersMax: {
    type: "Int",
    input: `Workers at most; ${WORKERS_MAX_DEFAULT} by default. 0 lets nothing run.`,
    patch: optional(workerCount),
    default: WORKERS_MAX_DEFAULT,
    rest: { input: workerCount.nullish(), output: z.int() },
    v2: { name: "workers.max", input: workerCount.optional(), default: 3, output: z.int() },
  },
  workersPFBTarget: {
    type: "Int",
    input:
      "With flashBootType FLASHBOOT or PRIORITY_FLASHBOOT: workers that are started and frozen before any job, workersMax at most; 0 by default.",
    patch: optional(workerCount),
    column: "workersPfbTarget",
    default: 0,
  },
  idleTimeout: {
    type: "Int",
    input: `Seconds until an idle worker stops: 1 to ${IDLE_TIMEOUT_MAX_SECONDS}, ${IDLE_TIMEOUT_DEFAULT_SECONDS} by default.`,
    output: "Seconds.",
    patch: optional(wholeNumber(1, IDLE_TIMEOUT_MAX_SECONDS)),
    column: "idleTimeoutSeconds",
    default: IDLE_TIMEOUT_DEFAULT_SECONDS,
    rest: { input: zeroIsAbsent(wholeNumber(1, IDLE_TIMEOUT_MAX_SECONDS)), output: z.int() },
    v2: {
      name: "workers.idleTimeout",
      input: wholeNumber(1, IDLE_TIMEOUT_MAX_SECONDS).optional(),
      default: 10,
      output: z.int(),
    },
  },
  scalerType: {
    type: "String",
    input:
      "QUEUE_DELAY, the default of QB, or REQUEST_COUNT, the default of LB, which takes no other: it has no queue.",
    output: "QUEUE_DELAY or REQUEST_COUNT.",
    patch: optional(oneOf(SCALER_TYPES)),
    rest: { input: blankIsAbsent(oneOf(SCALER_TYPES)), output: z.enum(SCALER_TYPES) },
  },
  scalerValue: {
    type: "Int",
    input: `QUEUE_DELAY: seconds that a job may wait. REQUEST_COUNT: jobs or requests for each worker. ${SCALER_VALUE_DEFAULT} by default.`,
    patch: optional(wholeNumber(1)),
    default: SCALER_VALUE_DEFAULT,
    rest: { input: zeroIsAbsent(wholeNumber(1)), output: z.int() },
  },
  executionTimeoutMs: {
    type: "Int",
    input: `Milliseconds that a job may run, unless it says otherwise: ${EXECUTION_TIMEOUT_MIN_MS} to ${EXECUTION_TIMEOUT_MAX_MS}; 0 means the default, ${EXECUTION_TIMEOUT_DEFAULT_MS}.`,
    output: "For jobs that set no other.",
    patch: executionTimeoutSchema,
    default: EXECUTION_TIMEOUT_DEFAULT_MS,
    rest: { input: restTimeoutSchema.nullish(), output: z.int() },
    v2: {
      name: "timeout",
      input: wholeNumber(EXECUTION_TIMEOUT_MIN_MS, EXECUTION_TIMEOUT_MAX_MS).optional(),
      default: 300_000,
      output: z.int(),
    },
  },
  queueDepthMax: {
    type: "Int",
    input: "Jobs that may wait at once; a submit beyond them is refused with 429. 1,000,000 by default.",
    output: "Jobs that may wait at once.",
    patch: optional(wholeNumber(1, QUEUE_DEPTH_MAX)),
    default: QUEUE_DEPTH_MAX,
  },
  shareWeight: {
    type: "Int",
    input: `How much capacity the endpoint is entitled to beside others of the account where there is too little for all: with 3 three times as much as with 1. 1 to ${SHARE_WEIGHT_MAX}, ${SHARE_WEIGHT_DEFAULT} by default.`,
    output: "How much capacity the endpoint is entitled to beside others of the account.",
    patch: optional(wholeNumber(1, SHARE_WEIGHT_MAX)),
    default: SHARE_WEIGHT_DEFAULT,
    rest: { input: zeroIsAbsent(wholeNumber(1, SHARE_WEIGHT_MAX)), output: z.int() },
  },
  sharePriority: {
    type: "SharePriority",
    input:
      "Which endpoints of the account get capacity first where there is too little for all; workersMin of each comes before. NORMAL by default.",
    output: "Which endpoints of the account get capacity first.",
    patch: optional(oneOf(SHARE_PRIORITIES)),
    default: "NORMAL",
    rest: { input: blankIsAbsent(oneOf(SHARE_PRIORITIES)), output: z.enum(SHARE_PRIORITIES) },
  },
  flashBootType: {
    type: "FlashBootType",
    input:
      "FLASHBOOT keeps stopped workers prepared, so that a cold start costs little; another type replaces the workers. Null clears it.",
    patch: clearable(oneOf(FLASH_BOOT_TYPES)),
    default: null,
    workerTrait: true,
    rest: {
      name: "flashboot",
      input: z.boolean().nullish(),
      toPatch: (isOn: boolean | null | undefined) => (isOn == null ? undefined : isOn ? "FLASHBOOT" : "OFF"),
      output: z.boolean(),
      toOutput: (flashBootType: EndpointRow["flashBootType"]) => hasFlashBoot({ flashBootType }),
    },
    v2: {
      name: "flashboot",
      input: oneOf(FLASH_BOOT_TYPES).optional(),
      default: "OFF",
      output: z.enum(FLASH_BOOT_TYPES),
      toOutput: (flashBootType: EndpointRow["flashBootType"]) => flashBootType ?? "OFF",
    },
  },
  ...networkVolumeFields,
  env: {
    ...environmentField,
    input: "Variables of this endpoint alone, at most 50; they win over the template's.",
    output: "Variables of this endpoint alone; the template has more.",
    default: [],
  },
  flashEnvironmentId: {
    type: "String",
    input:
      "A flash environment of the account, which owns the endpoint from then on; with the name it stands for an id.",
    patch: optionalNonEmpty(stringSchema),
    default: null,
    workerTrait: true,
  },
  compliance: {
    type: "[Compliance]",
    input: "Stored and shown; has no effect.",
    patch: optional(listOf(stringSchema)),
    default: [],
  },
} satisfies Fields<Column> & Record<keyof EndpointSettings, Field<Column>>;

/** What a saveEndpoint asks to be different; undefined keeps, null clears. */
export const endpointPatchSchema = z
  .object({
    id: optionalNonEmpty(stringSchema),
    ...patchShape(endpointFields),
    template: optional(inlineTemplateSchema),
    canaryPercent: optional(wholeNumber(0, CANARY_PERCENT_MAX)),
    modelReferences: modelReferencesSchema,
    volumes: volumesSchema,
    ...absentSources,
  })
  .refine((patch) => patch.template === undefined || patch.templateId === undefined, {
    path: ["template"],
    error: "must not be sent together with templateId",
  })
  .refine((patch) => patch.gpuIds === undefined || !patch.instanceIds?.length, {
    path: ["instanceIds"],
    error: "must not be sent together with gpuIds: an endpoint runs on GPUs or on CPU instances",
  });
export type EndpointPatch = Partial<z.output<typeof endpointPatchSchema>>;

/** Body of `POST /v1/endpoints`. */
export const endpointCreateSchema = z
  .object({
    ...restInput(endpointFields, "creation"),
    ...computeShape,
    modelReferences: modelReferencesSchema,
  })
  .meta({ id: "EndpointCreateInput" });

/** Body of `PATCH /v1/endpoints/{id}`: what it omits stays. */
export const endpointUpdateSchema = z
  .object({ ...restInput(endpointFields, "update"), ...computeShape, modelReferences: modelReferencesSchema })
  .meta({ id: "EndpointUpdateInput" });
export type EndpointUpdate = z.infer<typeof endpointUpdateSchema>;

/** An endpoint as REST v1 shows it. */
export const endpointSchema = z
  .object({
    id: z.string().meta({ example: "jpnw0v75y3qoql" }),
    ...restOutput(endpointFields),
    userId: z.string(),
    version: z.int().meta({ description: "Grows when running workers are replaced." }),
    createdAt: z.iso.datetime(),
    computeType: z.enum(["GPU", "CPU"]),
    gpuIds: z.string().meta({ description: "gpuTypeIds as GraphQL spells them; empty for CPU." }),
    vcpuCount: z.int().optional().meta({ description: "Of a CPU endpoint." }),
    instanceIds: z.array(z.string()),
    locations: z.string().meta({ description: "dataCenterIds as a comma list." }),
    template: templateSchema.optional().meta({ description: "With includeTemplate." }),
    workers: z.array(podSchema).optional().meta({ description: "With includeWorkers." }),
    warnings: warningsSchema,
  })
  .meta({ id: "Endpoint" });
