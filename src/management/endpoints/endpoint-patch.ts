import * as z from "zod";
import {
  EXECUTION_TIMEOUT_DEFAULT_MS,
  EXECUTION_TIMEOUT_MAX_MS,
  EXECUTION_TIMEOUT_MIN_MS,
  LIST_MAX_CHARACTERS,
  QUEUE_DEPTH_MAX,
} from "../../contract/limits.ts";
import { readCpuInstance } from "../../catalog/cpu-flavors.ts";
import { GPU_TIER_NAMES } from "../../catalog/gpu-tiers.ts";
import { readGpuIds, unknownExclusion } from "../../catalog/gpu-selection.ts";
import {
  clearable,
  environmentSchema,
  optional,
  optionalNonEmpty,
  nameSchema,
  oneOf,
  stringSchema,
  wholeNumber,
} from "../input-schemas.ts";
import { inlineTemplateSchema } from "./template-patch.ts";
import { IDLE_TIMEOUT_MAX_SECONDS, WORKERS_PER_ENDPOINT_MAX } from "../../contract/endpoint.ts";

const COUNTRIES = ["CZ", "FR", "GB", "NO", "RO", "US"];
const DATA_CENTER = /^[A-Z]{2,3}-[A-Z]{2,3}-\d{1,3}$/;
/** Clients refuse answers with any other version. */
const CUDA_VERSIONS = ["11.8", ...Array.from({ length: 10 }, (_, minor) => `12.${minor}`), "13.0"];

/** What is told to objects and kept in their memory must not be as large as a body. */
const commaListSchema = z
  .string()
  .max(LIST_MAX_CHARACTERS, `must have at most ${LIST_MAX_CHARACTERS} characters`);

const gpuIdsSchema = commaListSchema.transform((gpuIds, context) => {
  const reading = readGpuIds(gpuIds);
  const allowed = `Allowed: ${GPU_TIER_NAMES.join(", ")}, GPU type names, and -<GPU type name> to leave one out`;
  if (reading.kind === "unknown-gpu") {
    context.addIssue(`'${reading.token}' is no GPU tier or type. ${allowed}`);
  }
  if (reading.kind === "no-gpu") context.addIssue(`must name at least one GPU tier. ${allowed}`);
  const unknown = unknownExclusion(gpuIds);
  if (reading.kind === "selection" && unknown !== undefined) {
    const hint = unknown.nearest === undefined ? allowed : `Did you mean '-${unknown.nearest}'?`;
    context.addIssue(`'-${unknown.model}' leaves nothing out: no card has that name. ${hint}`);
  }
  return gpuIds;
});

const instanceIdSchema = z.string("must be a string").superRefine((instanceId, context) => {
  const reading = readCpuInstance(instanceId);
  if (reading.kind === "refused") context.addIssue(reading.reason);
});

/** A comma list of words, kept without blanks; an empty one means "not set". */
function commaList(isAllowed: (word: string) => boolean, allowed: string) {
  return commaListSchema.transform((list, context) => {
    const entries = list
      .split(",")
      .map((word) => word.trim())
      .filter((word) => word !== "");
    const wrong = entries.find((word) => !isAllowed(word));
    if (wrong !== undefined) context.addIssue(`'${wrong}' is not allowed. Allowed: ${allowed}`);
    return entries.length === 0 ? null : entries.join(",");
  });
}

const locationsSchema = commaList(
  (word) => COUNTRIES.includes(word) || DATA_CENTER.test(word),
  `${COUNTRIES.join(", ")} and data center ids such as EU-RO-1`,
);
const cudaVersionsSchema = commaList((word) => CUDA_VERSIONS.includes(word), CUDA_VERSIONS.join(", "));
const cudaVersionSchema = z.enum(CUDA_VERSIONS, `must be one of ${CUDA_VERSIONS.join(", ")}`);

const executionTimeoutSchema = z.preprocess(
  (timeout) => (timeout === null || timeout === 0 ? EXECUTION_TIMEOUT_DEFAULT_MS : timeout),
  wholeNumber(EXECUTION_TIMEOUT_MIN_MS, EXECUTION_TIMEOUT_MAX_MS).optional(),
);

/** Lists may hold nulls, as their GraphQL types allow it; they mean nothing. */
function listOf<Schema extends z.ZodType>(schema: Schema) {
  return z.preprocess(
    (list) => (Array.isArray(list) ? list.filter((element) => element !== null) : list),
    z.array(schema),
  );
}

const volumeIdsSchema = listOf(z.object({ networkVolumeId: z.string("must be a string") })).transform(
  (volumes) => volumes.map((volume) => volume.networkVolumeId).filter((volumeId) => volumeId !== ""),
);

/** What a saveEndpoint asks to be different; undefined keeps, null clears. */
export const endpointPatchSchema = z
  .object({
    id: optionalNonEmpty(stringSchema),
    name: optional(nameSchema),
    type: optional(oneOf(["QB", "LB"])),
    templateId: optionalNonEmpty(stringSchema),
    template: optional(inlineTemplateSchema),
    gpuIds: optionalNonEmpty(gpuIdsSchema),
    gpuCount: optional(wholeNumber(0)),
    instanceIds: optional(listOf(instanceIdSchema)),
    idleTimeout: optional(wholeNumber(1, IDLE_TIMEOUT_MAX_SECONDS)),
    locations: clearable(locationsSchema),
    networkVolumeId: clearable(stringSchema),
    networkVolumeIds: clearable(volumeIdsSchema),
    flashEnvironmentId: optionalNonEmpty(stringSchema),
    scalerType: optional(oneOf(["QUEUE_DELAY", "REQUEST_COUNT"])),
    scalerValue: optional(wholeNumber(1)),
    workersMin: optional(wholeNumber(0, WORKERS_PER_ENDPOINT_MAX)),
    workersMax: optional(wholeNumber(0, WORKERS_PER_ENDPOINT_MAX)),
    workersPFBTarget: optional(wholeNumber(0, WORKERS_PER_ENDPOINT_MAX)),
    env: optional(environmentSchema),
    allowedCudaVersions: clearable(cudaVersionsSchema),
    minCudaVersion: clearable(cudaVersionSchema),
    executionTimeoutMs: executionTimeoutSchema,
    queueDepthMax: optional(wholeNumber(1, QUEUE_DEPTH_MAX)),
    flashBootType: clearable(oneOf(["OFF", "FLASHBOOT", "PRIORITY_FLASHBOOT"])),
    compliance: optional(listOf(stringSchema)),
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

/** Another template for an endpoint, and nothing else. */
export const endpointTemplateSchema = z.object({
  endpointId: stringSchema.min(1, "must not be empty"),
  templateId: stringSchema.min(1, "must not be empty"),
});
