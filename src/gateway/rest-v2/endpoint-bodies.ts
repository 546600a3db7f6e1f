/** Bodies of requests that create or change an endpoint, and the patches that they are. */
import * as z from "zod";
import { CPU_FLAVORS, instanceIdOf } from "../../catalog/cpu-flavors.ts";
import { GPU_TIER_NAMES, GPU_TIERS, type GpuTier } from "../../catalog/gpu-cards.ts";
import { CANARY_PERCENT_MAX } from "../../contract/endpoint.ts";
import { ServiceError } from "../../contract/errors.ts";
import type { EndpointRecord } from "../../management/endpoints/endpoints.ts";
import { requireServerlessTemplate, type TemplateRecord } from "../../management/endpoints/templates.ts";
import type { RequestContext } from "../../management/context.ts";
import { oneOf, stringSchema, wholeNumber } from "../../management/input-schemas.ts";
import { containerFields } from "../../management/nouns/container.ts";
import { endpointFields, endpointPatchSchema, type EndpointPatch } from "../../management/nouns/endpoint.ts";
import { fromNested, nestedInput, nestedNames, valueAt } from "../../management/nouns/field.ts";
import { VCPU_COUNT_MIN } from "../../management/nouns/compute.ts";
import { mergeVariables } from "../../management/nouns/variables.ts";
import { nestedBody } from "./nesting.ts";
import { parsePatch, type Places } from "../rest/patch.ts";

const containerPlaces = nestedNames(containerFields);
const places: Places = {
  ...nestedNames(endpointFields),
  gpuIds: "gpu",
  instanceIds: "cpu",
  scalerType: "scaling.type",
  scalerValue: "scaling",
};
/** Where each field stands in a body. */
export const endpointPlaces = { ...containerPlaces, ...places };

/** A list in which nothing stands twice. */
function distinct<Entry>(list: z.ZodType<Entry[]>) {
  return list.refine(
    (entries) => new Set(entries.map((entry) => JSON.stringify(entry))).size === entries.length,
    "must not name anything twice",
  );
}

const cpuSchema = z.strictObject({
  id: oneOf(CPU_FLAVORS.map(({ id }) => id)),
  vcpuCount: wholeNumber(VCPU_COUNT_MIN, 32),
});

export const scalingSchema = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("QUEUE_DELAY"),
    queueDelay: z
      .number()
      .min(0.5, "must be at least 0.5")
      .meta({ description: "Seconds that a job may wait, rounded up to whole ones." }),
  }),
  z.strictObject({
    type: z.literal("REQUEST_COUNT"),
    requestCount: wholeNumber(1).meta({ description: "Jobs or requests for each worker." }),
  }),
]);

/** What is read together, by its place. */
const combined = {
  "gpu.pools": z.array(oneOf(GPU_TIER_NAMES)).min(1).optional().meta({
    description: "Pools of cards in order of preference; a new endpoint that names none takes any.",
  }),
  "gpu.excludedTypes": distinct(z.array(stringSchema.trim())).optional().meta({
    description: "Cards of these pools that are left out.",
    uniqueItems: true,
  }),
  cpu: distinct(z.array(cpuSchema).min(1)).optional().meta({
    description: "Instead of gpu: sizes of a CPU worker.",
    uniqueItems: true,
  }),
  templateId: stringSchema.min(1).optional().meta({
    description: "A Serverless template whose container settings are copied; those of the body win.",
  }),
  scaling: scalingSchema.optional(),
};
const combinedSchema = z.object(combined);
type Combined = z.output<typeof combinedSchema> & { readonly hasGpu: boolean };

function readCombined(body: object): Combined {
  const values = Object.keys(combined).map((place) => [place, valueAt(body, place)]);
  return { ...combinedSchema.parse(Object.fromEntries(values)), hasGpu: valueAt(body, "gpu") !== undefined };
}

export const creationSchema = nestedBody({
  ...nestedInput(endpointFields, "creation"),
  ...nestedInput(containerFields, "creation"),
  ...combined,
  scaling: scalingSchema,
}).meta({ id: "CreateServerlessInput" });

export const updateSchema = nestedBody({
  ...nestedInput(endpointFields, "update"),
  ...nestedInput(containerFields, "update"),
  ...combined,
  canaryPercent: wholeNumber(0, CANARY_PERCENT_MAX).optional().meta({
    description:
      "The share of workers and jobs that tries the new version first; by itself it goes on, or back. 0 ends a trial, and it goes on.",
  }),
}).meta({ id: "UpdateServerlessInput" });

// Patches

export async function creationPatch(request: RequestContext, body: object): Promise<EndpointPatch> {
  const read = readCombined(body);
  const { templateId } = read;
  const source = templateId === undefined ? undefined : await requireServerlessTemplate(request, templateId);
  const sent = fromNested(containerFields, body, source ? "update" : "creation");
  if (!source && sent["imageName"] === undefined) throw missingImage();
  if (!read.hasGpu && !read.cpu) {
    throw new ServiceError("invalid_input", "gpu: must be sent, or cpu: an endpoint runs on GPUs or on CPUs");
  }
  const own = fromNested(endpointFields, body, "creation");
  return parseEndpoint({
    ...withCudaOf(source, own, read),
    ...computeOf(read, own, undefined),
    ...scalerOf(read),
    template: withSource(sent, source),
  });
}

/** For a change that keeps what its template omits, also where the endpoint shares its template. */
export async function updatePatch(
  request: RequestContext,
  stored: EndpointRecord,
  body: object,
): Promise<EndpointPatch> {
  const read = readCombined(body);
  const { templateId } = read;
  const sent = fromNested(containerFields, body, "update");
  const source = templateId === undefined ? undefined : await requireServerlessTemplate(request, templateId);
  const changesContainer = source !== undefined || Object.keys(sent).length > 0;
  const own = fromNested(endpointFields, body, "update");
  return parseEndpoint({
    ...own,
    canaryPercent: valueAt(body, "canaryPercent"),
    ...computeOf(read, own, stored),
    ...scalerOf(read),
    // Variables of the endpoint alone would win over those that the container gets.
    ...((sent["env"] !== undefined || source !== undefined) && { env: [] }),
    ...(changesContainer && { template: withSource(sent, source) }),
  });
}

type Sent = Readonly<Record<string, unknown>>;

/** With the CUDA versions of the template, where the body of a GPU endpoint sets nothing about CUDA. */
function withCudaOf(source: TemplateRecord | undefined, own: Sent, { hasGpu }: Combined): Sent {
  const isUnset = hasGpu && own["allowedCudaVersions"] === undefined && !own["minCudaVersion"];
  const allowedCudaVersions = source?.allowedCudaVersions;
  return isUnset && allowedCudaVersions ? { ...own, allowedCudaVersions } : own;
}

function parseEndpoint(patch: object): EndpointPatch {
  return parsePatch(endpointPatchSchema, patch, places, containerPlaces);
}

/** Settings of a container over those of a template, if there is one; variables are merged. */
function withSource(sent: Sent, source: TemplateRecord | undefined): object {
  if (!source) return sent;
  const stored = new Map<string, unknown>(Object.entries(source));
  // Empty is what clears; null would leave what is stored.
  const copied = Object.keys(containerFields).map((name) => [name, stored.get(name) ?? ""]);
  const variables = Array.isArray(sent["env"]) ? (sent["env"] as TemplateRecord["env"]) : undefined;
  return {
    ...Object.fromEntries(copied),
    ...sent,
    env: variables === undefined ? source.env : mergeVariables(source.env, variables),
  };
}

/** GPUs or CPUs; which of them an endpoint has never changes. */
function computeOf(read: Combined, own: Sent, stored: EndpointRecord | undefined): object {
  const { hasGpu, cpu, "gpu.pools": pools, "gpu.excludedTypes": excluded = [] } = read;
  if (hasGpu && cpu) throw new ServiceError("invalid_input", "cpu: must not be sent together with gpu");
  const isCpu = stored ? stored.gpuIds === null : cpu !== undefined;
  if (hasGpu && isCpu) throw new ServiceError("invalid_input", "gpu: is not possible for a CPU endpoint");
  if (cpu && !isCpu) throw new ServiceError("invalid_input", "cpu: is not possible for a GPU endpoint");
  if (cpu) return { instanceIds: cpu.map(({ id, vcpuCount }) => instanceIdOf(id, vcpuCount)) };
  if (own["allowedCudaVersions"] && own["minCudaVersion"]) {
    throw new ServiceError(
      "invalid_input",
      "gpu.minCudaVersion: must not be sent together with allowedCudaVersions",
    );
  }
  if (excluded.length > 0 && !pools && stored) {
    throw new ServiceError("invalid_input", "gpu.excludedTypes: must be sent together with pools");
  }
  if (isCpu || (stored && !pools)) return {};
  const named = pools ?? GPU_TIER_NAMES;
  requireExclusionsInPools(named, excluded);
  return { gpuIds: [...named, ...excluded.map((id) => `-${id}`)].join(",") };
}

/** Each excluded card is of one of the pools, and one card at least is left. */
function requireExclusionsInPools(pools: readonly GpuTier[], excluded: readonly string[]): void {
  const cards: readonly string[] = pools.flatMap((pool) => [...GPU_TIERS[pool].models]);
  const stranger = excluded.find((id) => !cards.includes(id));
  if (stranger !== undefined) {
    throw new ServiceError(
      "invalid_input",
      `gpu.excludedTypes: '${stranger}' is in none of the pools; their cards are ${cards.join(", ")}`,
    );
  }
  if (cards.every((id) => excluded.includes(id))) {
    throw new ServiceError("invalid_input", "gpu.excludedTypes: must leave at least one card of the pools");
  }
}

function scalerOf({ scaling }: Combined): object {
  if (!scaling) return {};
  const scalerValue = scaling.type === "QUEUE_DELAY" ? Math.ceil(scaling.queueDelay) : scaling.requestCount;
  return { scalerType: scaling.type, scalerValue };
}

function missingImage(): ServiceError {
  const issue = "image: is required, unless templateId names a template";
  return new ServiceError("invalid_input", issue, { issues: [issue] });
}
