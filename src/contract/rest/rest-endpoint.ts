/** Endpoints as REST v1 spells them. */
import * as z from "zod";
import { CPU_FLAVORS } from "../../catalog/cpu-flavors.ts";
import { GPU_TIERS, GPU_TIER_NAMES } from "../../catalog/gpu-tiers.ts";
import { EXECUTION_TIMEOUT_DEFAULT_MS } from "../limits.ts";
import {
  blankIsAbsent,
  environmentSchema,
  nameSchema,
  oneOf,
  stringSchema,
  warningsSchema,
  wholeNumber,
  stringsSchema,
  zeroIsAbsent,
} from "./rest.ts";
import { templateSchema } from "./rest-template.ts";
import {
  IDLE_TIMEOUT_DEFAULT_SECONDS,
  IDLE_TIMEOUT_MAX_SECONDS,
  SCALER_VALUE_DEFAULT,
  WORKERS_MAX_DEFAULT,
  WORKERS_PER_ENDPOINT_MAX,
} from "../endpoint.ts";

/** vCPUs of a CPU worker that asks for no number of them. */
export const VCPU_COUNT_DEFAULT = 2;

const GPU_TYPE_IDS: readonly string[] = GPU_TIER_NAMES.flatMap((tier) => [...GPU_TIERS[tier].models, tier]);

/** Cards, and the tiers of cards that the other APIs know. */
export const gpuTypeIdsSchema = z.array(oneOf(GPU_TYPE_IDS), "must be a list of GPU types");
export const cpuFlavorIdsSchema = z.array(oneOf(CPU_FLAVORS.map(({ id }) => id)), "must be a list");

const endpointFields = {
  name: blankIsAbsent(nameSchema).meta({ description: "Need not be unique.", example: "sdxl" }),
  computeType: blankIsAbsent(oneOf(["GPU", "CPU"])),
  gpuTypeIds: gpuTypeIdsSchema.nullish().meta({
    description: "GPU types in order of preference; a new endpoint that names none takes any.",
    example: ["NVIDIA GeForce RTX 4090", "NVIDIA L40S"],
  }),
  gpuCount: zeroIsAbsent(wholeNumber(1)).meta({ description: "GPUs of each worker; 1 by default." }),
  cpuFlavorIds: cpuFlavorIdsSchema.nullish().meta({
    description: "CPU families in order of preference, for an endpoint whose computeType is CPU.",
  }),
  vcpuCount: zeroIsAbsent(wholeNumber(1, 32)).meta({
    description: `vCPUs of each CPU worker; ${VCPU_COUNT_DEFAULT} by default.`,
  }),
  dataCenterIds: stringsSchema.nullish().meta({
    description: "Where workers may run; empty or null for anywhere.",
    example: ["EU-RO-1"],
  }),
  workersMin: wholeNumber(0, WORKERS_PER_ENDPOINT_MAX)
    .nullish()
    .meta({ description: "Workers that are always up; 0 by default." }),
  workersMax: wholeNumber(0, WORKERS_PER_ENDPOINT_MAX)
    .nullish()
    .meta({ description: `Workers at most; ${WORKERS_MAX_DEFAULT} by default.` }),
  idleTimeout: zeroIsAbsent(wholeNumber(1, IDLE_TIMEOUT_MAX_SECONDS)).meta({
    description: `Seconds until an idle worker stops; ${IDLE_TIMEOUT_DEFAULT_SECONDS} by default.`,
  }),
  scalerType: blankIsAbsent(oneOf(["QUEUE_DELAY", "REQUEST_COUNT"])).meta({
    description: "QUEUE_DELAY (default) adds workers when a job has waited scalerValue seconds.",
  }),
  scalerValue: zeroIsAbsent(wholeNumber(1)).meta({ description: `${SCALER_VALUE_DEFAULT} by default.` }),
  executionTimeoutMs: wholeNumber(0)
    .nullish()
    .meta({ description: `Limit of a job in ms; 0 means the default, ${EXECUTION_TIMEOUT_DEFAULT_MS}.` }),
  flashboot: z
    .boolean("must be true or false")
    .nullish()
    .meta({ description: "Keeps stopped workers prepared for a fast start." }),
  networkVolumeId: stringSchema.nullish().meta({ description: "An empty text or null detaches it." }),
  networkVolumeIds: stringsSchema.nullish().meta({ description: "Several volumes, one per data center." }),
  allowedCudaVersions: stringsSchema.nullish().meta({ example: ["12.8"] }),
  minCudaVersion: stringSchema.nullish(),
  env: environmentSchema.nullish().meta({
    description: "Variables of this endpoint alone; they win over those of the template.",
  }),
};

/** Body of `POST /v1/endpoints`. */
export const endpointCreateSchema = z
  .object({
    ...endpointFields,
    templateId: stringSchema
      .min(1, "must not be empty")
      .meta({ description: "A Serverless template.", example: "xkhgg72fuo4q8z" }),
  })
  .meta({ id: "EndpointCreateInput" });

/** Body of `PATCH /v1/endpoints/{id}`: what it omits stays. */
export const endpointUpdateSchema = z
  .object({ ...endpointFields, templateId: blankIsAbsent(stringSchema) })
  .meta({ id: "EndpointUpdateInput" });
export type EndpointUpdate = z.infer<typeof endpointUpdateSchema>;

const workerSchema = z
  .object({ id: z.string(), desiredStatus: z.string().meta({ example: "RUNNING" }) })
  .meta({ id: "EndpointWorker" });

export const endpointSchema = z
  .object({
    id: z.string().meta({ example: "jpnw0v75y3qoql" }),
    name: z.string(),
    userId: z.string(),
    type: z.enum(["QB", "LB"]).meta({ description: "With a queue, or load-balanced." }),
    templateId: z.string(),
    version: z.int().meta({ description: "Grows when running workers are replaced." }),
    createdAt: z.iso.datetime(),
    computeType: z.enum(["GPU", "CPU"]),
    gpuTypeIds: z.array(z.string()),
    gpuIds: z.string().meta({ description: "The same in the spelling of GraphQL; empty for CPU." }),
    gpuCount: z.int(),
    cpuFlavorIds: z.array(z.string()),
    vcpuCount: z.int().optional().meta({ description: "Of a CPU endpoint." }),
    instanceIds: z.array(z.string()),
    dataCenterIds: z.array(z.string()).meta({ description: "Empty for anywhere." }),
    locations: z.string().meta({ description: "The same as a comma list." }),
    workersMin: z.int(),
    workersMax: z.int(),
    idleTimeout: z.int(),
    scalerType: z.enum(["QUEUE_DELAY", "REQUEST_COUNT"]),
    scalerValue: z.int(),
    executionTimeoutMs: z.int(),
    flashboot: z.boolean(),
    networkVolumeId: z.string().meta({ description: "Empty when there is none." }),
    networkVolumeIds: z.array(z.string()),
    allowedCudaVersions: z.array(z.string()),
    minCudaVersion: z.string().meta({ description: "Empty for any." }),
    env: z.record(z.string(), z.string()),
    template: templateSchema.optional().meta({ description: "With includeTemplate." }),
    workers: z.array(workerSchema).optional().meta({ description: "With includeWorkers." }),
    warnings: warningsSchema,
  })
  .meta({ id: "Endpoint" });
export type RestEndpoint = z.infer<typeof endpointSchema>;
