/** What clients set of the hardware that something runs on: GPUs or CPUs, their place, and CUDA. */
import * as z from "zod";
import { readCpuInstance } from "../../catalog/cpu-flavors.ts";
import { dataCentersOf } from "../../catalog/data-centers.ts";
import { GPU_TIER_NAMES } from "../../catalog/gpu-cards.ts";
import { modelsOfGpuIds, readGpuIds, unknownExclusion } from "../../catalog/gpu-selection.ts";
import {
  blankIsAbsent,
  cpuFlavorIdsSchema,
  entriesSchema,
  gpuTypeIdsSchema,
  stringsSchema,
  zeroIsAbsent,
} from "../../contract/rest/rest.ts";
import { GPU_MEMORY_GB_MAX } from "../../contract/endpoint.ts";
import { splitList } from "../../db/schema.ts";
import {
  clearable,
  listOf,
  oneOf,
  optional,
  optionalNonEmpty,
  stringSchema,
  wholeNumber,
} from "../input-schemas.ts";
import { commaList, commaListSchema, joinList } from "./comma-list.ts";
import type { Fields } from "./field.ts";

const COUNTRIES = ["CZ", "FR", "GB", "NO", "RO", "US"];
const DATA_CENTER = /^[A-Z]{2,3}-[A-Z]{2,3}-\d{1,3}$/;

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

/** A CPU size such as cpu5c-4-8. */
export const instanceIdSchema = z.string().superRefine((instanceId, context) => {
  const reading = readCpuInstance(instanceId);
  if (reading.kind === "refused") context.addIssue(reading.reason);
});

const locationsSchema = commaList(
  (location) => COUNTRIES.includes(location) || DATA_CENTER.test(location),
  `${COUNTRIES.join(", ")} and data center ids such as EU-RO-1`,
);

/** vCPUs of a CPU worker that asks for no number of them. */
export const VCPU_COUNT_DEFAULT = 2;

/** What a pod has at least for each of its GPUs, unless it is created with other minima. */
export const GPU_SHARE_DEFAULT = { vcpus: 2, memoryGb: 8 };

/** The least that typed clients of REST v2 know of endpoints; pods and the other APIs have one vCPU too. */
export const VCPU_COUNT_MIN = 2;

/** CPU flavors and vCPUs of sizes such as cpu5c-4-8. */
export function cpuSizes(instanceIds: readonly string[]): {
  readonly flavors: string[];
  readonly vcpus: number | undefined;
} {
  const parts = instanceIds.map((id) => id.split("-"));
  const vcpus = Number(parts[0]?.[1]);
  return { flavors: [...new Set(parts.map(([flavor = ""]) => flavor))], vcpus: vcpus || undefined };
}

/** The data centers of a country; one that is named stands for itself. */
function dataCentersAt(location: string): readonly string[] {
  if (DATA_CENTER.test(location)) return [location];
  return dataCentersOf(location).map(({ id }) => id);
}

const CUDA_VERSION = /^\d{1,3}\.\d{1,3}$/;

/** Any version, so that hosts with drivers newer than this code can be named. */
export const cudaVersionSchema = z.string().regex(CUDA_VERSION, "must be a CUDA version such as 12.8");
export const cudaVersionsSchema = z.array(cudaVersionSchema).max(50, "must have at most 50 versions");

const CUDA_VERSIONS_META = { description: "Acceptable CUDA versions; empty means any.", example: ["12.8"] };
const DATA_CENTERS_META = { description: "Data centers of workers; empty means any.", example: ["EU-RO-1"] };

/** Acceptable CUDA versions of hosts. */
export const cudaVersionsField = {
  type: "String",
  input: "Comma list such as 12.8,13.0; empty means any.",
  output: "Comma list; null means any.",
  patch: clearable(commaList((version) => CUDA_VERSION.test(version), "versions such as 12.8")),
  default: null,
  v2: {
    name: "allowedCudaVersions",
    input: cudaVersionsSchema.optional().meta(CUDA_VERSIONS_META),
    toPatch: joinList,
    output: z.array(z.string()).meta(CUDA_VERSIONS_META),
    toOutput: splitList,
  },
};

export const computeFields = {
  gpuIds: {
    type: "String",
    input: "Tiers in order of preference; '-<GPU type name>' excludes a card, by its full name.",
    output: "As it was sent; null for a CPU endpoint.",
    patch: optionalNonEmpty(gpuIdsSchema),
    workerTrait: true,
    rest: {
      name: "gpuTypeIds",
      output: z.array(z.string()),
      toOutput: (gpuIds: string | null) => modelsOfGpuIds(gpuIds ?? ""),
    },
  },
  gpuCount: {
    type: "Int",
    input: "GPUs of each worker; 1 by default.",
    output: "GPUs of each worker; 0 for a CPU endpoint.",
    patch: optional(wholeNumber(0)),
    workerTrait: true,
    rest: { input: zeroIsAbsent(wholeNumber(1)), output: z.int() },
    v2: { name: "gpu.count", input: wholeNumber(1).optional(), output: z.int() },
  },
  gpuMemoryGb: {
    type: "Int",
    input:
      "GB of GPU memory that each worker needs, of one GPU. Workers that declare it share GPUs where they fit together; one that takes more is stopped. 0, the default, leaves each worker its GPUs to itself.",
    output: "GB of GPU memory of each worker; 0 where each has its GPUs to itself.",
    patch: optional(wholeNumber(0, GPU_MEMORY_GB_MAX)),
    default: 0,
    workerTrait: true,
    rest: { input: wholeNumber(0, GPU_MEMORY_GB_MAX).nullish(), output: z.int() },
    v2: { name: "gpu.memoryGb", input: wholeNumber(0, GPU_MEMORY_GB_MAX).optional(), output: z.int() },
  },
  instanceIds: {
    type: "[String]",
    input: "CPU sizes such as cpu5c-4-8; then gpuIds is not sent.",
    output: "CPU sizes; empty for a GPU endpoint.",
    patch: optional(listOf(instanceIdSchema)),
    workerTrait: true,
    rest: {
      name: "cpuFlavorIds",
      output: z.array(z.string()),
      toOutput: (ids: readonly string[]) => cpuSizes(ids).flavors,
    },
  },
  locations: {
    type: "String",
    input:
      "Comma list of countries or data centers; empty means any. Hosts that only simulate GPUs, as those of npm start, count as being everywhere unless they say where they are.",
    output: "Comma list of countries and data centers; null means any.",
    patch: clearable(locationsSchema),
    default: null,
    workerTrait: true,
    rest: {
      name: "dataCenterIds",
      input: stringsSchema.nullish().meta(DATA_CENTERS_META),
      toPatch: joinList,
      output: z.array(z.string()).meta(DATA_CENTERS_META),
      toOutput: (locations: string | null) => splitList(locations).flatMap(dataCentersAt),
    },
    v2: {
      name: "dataCenterIds",
      input: entriesSchema.optional().meta(DATA_CENTERS_META),
      toPatch: joinList,
      output: z.array(z.string()).meta(DATA_CENTERS_META),
      toOutput: (locations: string | null) => splitList(locations).flatMap(dataCentersAt),
    },
  },
  allowedCudaVersions: {
    ...cudaVersionsField,
    workerTrait: true,
    rest: {
      input: stringsSchema.nullish().meta(CUDA_VERSIONS_META),
      toPatch: joinList,
      output: z.array(z.string()).meta(CUDA_VERSIONS_META),
      toOutput: splitList,
    },
    v2: { ...cudaVersionsField.v2, name: "gpu.allowedCudaVersions" },
  },
  minCudaVersion: {
    type: "String",
    input: "Such as 12.8; empty means any.",
    patch: clearable(cudaVersionSchema),
    default: null,
    workerTrait: true,
    rest: {
      input: stringSchema.nullish(),
      output: z.string().optional(),
      toOutput: (version: string | null) => version ?? undefined,
    },
    v2: { name: "gpu.minCudaVersion", input: stringSchema.optional(), output: z.string().nullable() },
  },
} satisfies Fields;

/** GPUs or CPUs in REST v1, which are read together. */
export const computeShape = {
  computeType: blankIsAbsent(oneOf(["GPU", "CPU"])),
  gpuTypeIds: gpuTypeIdsSchema.nullish().meta({
    description: "GPU types in order of preference; a new endpoint that names none takes any.",
    example: ["NVIDIA GeForce RTX 4090", "NVIDIA L40S"],
  }),
  cpuFlavorIds: cpuFlavorIdsSchema.nullish().meta({
    description: "CPU families in order of preference, for an endpoint whose computeType is CPU.",
  }),
  vcpuCount: zeroIsAbsent(wholeNumber(1, 32)).meta({
    description: `vCPUs of each CPU worker; ${VCPU_COUNT_DEFAULT} by default.`,
  }),
};
export type RequestedCompute = Partial<z.output<z.ZodObject<typeof computeShape>>>;
