/**
 * Endpoints: `/v2/serverless`. An endpoint carries the settings of its container itself: they are stored as a template
 * of its own, into which those of a named template are copied.
 */
import * as z from "zod";
import { CPU_FLAVORS } from "../../catalog/cpu-flavors.ts";
import { GPU_TIER_NAMES } from "../../catalog/gpu-cards.ts";
import { ServiceError } from "../../contract/errors.ts";
import {
  changeEndpoint,
  createEndpoint,
  deleteEndpoint,
  listOwnEndpoints,
  requireEndpoint,
  type EndpointRecord,
} from "../../management/endpoints/endpoints.ts";
import {
  findOwnTemplates,
  requireServerlessTemplate,
  requireTemplate,
  type TemplateRecord,
} from "../../management/endpoints/templates.ts";
import { attachedIds } from "../../management/endpoints/volumes.ts";
import type { RequestContext } from "../../management/context.ts";
import { oneOf, stringSchema, wholeNumber } from "../../management/input-schemas.ts";
import { endpointFields, endpointPatchSchema, type EndpointPatch } from "../../management/nouns/endpoint.ts";
import {
  fromNested,
  nestedInput,
  nestedNames,
  nestedOutput,
  toNested,
} from "../../management/nouns/field.ts";
import { inlineTemplateFields } from "../../management/nouns/template.ts";
import { nest, nestedAnswer, nestedBody } from "./nesting.ts";
import { parseNested, withPlaces, type Places } from "./patch.ts";
import { pageOf, pageQuerySchema, pageSchema } from "./page.ts";
import { CHANGE, CREATE, FIND, REMOVE, v2Route } from "./route.ts";

/** The settings of a container that an endpoint has. */
const { imageName, containerDiskInGb, dockerArgs, env, ports, containerRegistryAuthId } =
  inlineTemplateFields;
const container = { imageName, containerDiskInGb, dockerArgs, env, ports, containerRegistryAuthId };

const containerPlaces = nestedNames(container);
const places: Places = {
  ...nestedNames(endpointFields),
  gpuIds: "gpu",
  instanceIds: "cpu",
  scalerType: "scaling.type",
  scalerValue: "scaling",
};
const allPlaces = { ...containerPlaces, ...places };

// Bodies

const cpuSchema = z.strictObject({
  id: oneOf(CPU_FLAVORS.map(({ id }) => id)),
  vcpuCount: wholeNumber(1, 32),
});

const scalingSchema = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("QUEUE_DELAY"),
    queueDelay: wholeNumber(1).meta({ description: "Seconds that a job may wait." }),
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
  "gpu.excludedTypes": z.array(stringSchema).optional().meta({
    description: "Cards of these pools that are left out.",
  }),
  cpu: z.array(cpuSchema).min(1).optional().meta({ description: "Instead of gpu: sizes of a CPU worker." }),
  templateId: stringSchema.min(1).optional().meta({
    description: "A Serverless template whose container settings are copied; those of the body win.",
  }),
};

const combinedSchema = z.object({
  gpu: z
    .object({
      pools: combined["gpu.pools"],
      excludedTypes: combined["gpu.excludedTypes"],
      allowedCudaVersions: z.array(z.string()).optional(),
      minCudaVersion: z.string().optional(),
    })
    .optional(),
  cpu: combined.cpu,
  templateId: combined.templateId,
  scaling: scalingSchema.optional(),
});
type Combined = z.output<typeof combinedSchema>;

const creationSchema = nestedBody({
  ...nestedInput(endpointFields, "creation"),
  ...nestedInput(container, "creation"),
  ...combined,
  scaling: scalingSchema,
}).meta({ id: "CreateServerlessInput" });

const updateSchema = nestedBody({
  ...nestedInput(endpointFields, "update"),
  ...nestedInput(container, "update"),
  ...combined,
  scaling: scalingSchema.optional(),
}).meta({ id: "UpdateServerlessInput" });

const url = z.url();
const answerSchema = nestedAnswer({
  id: z.string().meta({ example: "jpnw0v75y3qoql" }),
  ...nestedOutput(endpointFields),
  ...nestedOutput(container),
  requestUrls: z.union([
    z.object({
      run: url,
      runSync: url,
      status: z.string(),
      stream: z.string(),
      cancel: z.string(),
      retry: z.string(),
      purgeQueue: url,
      health: url,
    }),
    z.object({ base: url, health: url }),
  ]),
  "gpu.pools": z.array(z.string()),
  "gpu.excludedTypes": z.array(z.string()).optional(),
  cpu: z
    .array(z.object({ id: z.string(), vcpuCount: z.int(), memory: z.int() }))
    .optional()
    .meta({ description: "Of a CPU endpoint, which has no gpu." }),
  scaling: scalingSchema,
  createdAt: z.iso.datetime(),
})
  .partial({ gpu: true })
  .meta({ id: "ServerlessEndpoint" });

// Routes

export const endpointRoutes = [
  v2Route({
    on: "GET /serverless",
    id: "listServerless",
    summary: "List endpoints",
    query: pageQuerySchema,
    errors: [400, 422],
    answer: pageSchema("endpoints", answerSchema),
    serve: async (request, { query }) => {
      const page = pageOf(await listOwnEndpoints(request), query);
      return { endpoints: await showAll(request, page.entries), pagination: page.pagination };
    },
  }),
  v2Route({
    on: "POST /serverless",
    id: "createServerless",
    summary: "Create an endpoint",
    details: "Either gpu or cpu, and an image or a templateId.",
    errors: CREATE,
    body: creationSchema,
    example: {
      name: "sdxl",
      type: "QUEUE",
      image: "ghcr.io/acme/worker:1.4",
      gpu: { pools: ["ADA_24"] },
      workers: { max: 3 },
      scaling: { type: "QUEUE_DELAY", queueDelay: 4 },
    },
    answer: answerSchema,
    serve: async (request, { body }) =>
      await withPlaces(allPlaces, async () => {
        const patch = await creationPatch(request, body);
        return await showOne(request, await createEndpoint(request, patch));
      }),
  }),
  v2Route({
    on: "GET /serverless/{id}",
    id: "getServerless",
    summary: "Get an endpoint",
    errors: FIND,
    answer: answerSchema,
    serve: async (request, { params }) => await showOne(request, await requireEndpoint(request, params.id)),
  }),
  v2Route({
    on: "PATCH /serverless/{id}",
    id: "updateServerless",
    summary: "Change an endpoint",
    details: "Omitted fields are left unchanged.",
    errors: CHANGE,
    body: updateSchema,
    example: { workers: { max: 5 } },
    answer: answerSchema,
    serve: async (request, { params, body }) =>
      await withPlaces(allPlaces, async () => {
        const patch = await updatePatch(request, await requireEndpoint(request, params.id), body);
        return await showOne(request, await changeEndpoint(request, params.id, patch));
      }),
  }),
  v2Route({
    on: "DELETE /serverless/{id}",
    id: "deleteServerless",
    summary: "Delete an endpoint",
    details: "Its workers are drained and its jobs cancelled.",
    errors: REMOVE,
    serve: async (request, { params }) => await deleteEndpoint(request, params.id, "with-workers"),
  }),
];

// Reading

async function creationPatch(request: RequestContext, body: object): Promise<EndpointPatch> {
  const { templateId, ...read } = combinedSchema.parse(body);
  const source = templateId === undefined ? undefined : await requireServerlessTemplate(request, templateId);
  const sent = fromNested(container, body, source ? "update" : "creation");
  if (!source && sent["imageName"] === undefined) throw missingImage();
  if (!read.gpu && !read.cpu) {
    throw new ServiceError("invalid_input", "gpu: must be sent, or cpu: an endpoint runs on GPUs or on CPUs");
  }
  return parseEndpoint({
    ...fromNested(endpointFields, body, "creation"),
    ...cudaVersionsOf(read, source),
    ...computeOf(read, undefined),
    ...scalerOf(read),
    template: withSource(sent, source),
  });
}

async function updatePatch(
  request: RequestContext,
  stored: EndpointRecord,
  body: object,
): Promise<EndpointPatch> {
  const { templateId, ...read } = combinedSchema.parse(body);
  const sent = fromNested(container, body, "update");
  const source =
    templateId === undefined
      ? await requireTemplate(request, stored.templateId)
      : await requireServerlessTemplate(request, templateId);
  const changesContainer = templateId !== undefined || Object.keys(sent).length > 0;
  // A template of the endpoint alone takes the change; of any other one it gets a copy.
  const isOwn = templateId === undefined && source.isBound;
  return parseEndpoint({
    ...fromNested(endpointFields, body, "update"),
    ...computeOf(read, stored),
    ...scalerOf(read),
    ...(sent["env"] !== undefined && { env: [] }),
    ...(changesContainer && {
      template: isOwn ? sent : withSource(sent, source, templateId !== undefined),
    }),
  });
}

/** Those of the template, where the body of a GPU endpoint sets nothing about CUDA. */
function cudaVersionsOf({ gpu }: Combined, source: TemplateRecord | undefined): object {
  const isUnset = gpu && gpu.allowedCudaVersions === undefined && !gpu.minCudaVersion;
  return isUnset && source?.allowedCudaVersions ? { allowedCudaVersions: source.allowedCudaVersions } : {};
}

function parseEndpoint(patch: object): EndpointPatch {
  return parseNested(endpointPatchSchema, patch, places, containerPlaces);
}

/** Settings of a container over those of a template; variables are merged where `mergesEnv`, else replaced. */
function withSource(
  sent: Readonly<Record<string, unknown>>,
  source: TemplateRecord | undefined,
  mergesEnv = true,
): object {
  if (!source) return sent;
  const variables = Array.isArray(sent["env"]) ? (sent["env"] as TemplateRecord["env"]) : undefined;
  return {
    imageName: source.imageName,
    containerDiskInGb: source.containerDiskInGb,
    dockerArgs: source.dockerArgs,
    ports: source.ports,
    containerRegistryAuthId: source.containerRegistryAuthId ?? "",
    ...sent,
    env: variables === undefined ? source.env : mergesEnv ? mergeVariables(source.env, variables) : variables,
  };
}

function mergeVariables(base: TemplateRecord["env"], over: TemplateRecord["env"]): TemplateRecord["env"] {
  const values = new Map([...base, ...over].map(({ key, value }) => [key, value]));
  return [...values].map(([key, value]) => ({ key, value }));
}

/** GPUs or CPUs; which of them an endpoint has never changes. */
function computeOf({ gpu, cpu }: Combined, stored: EndpointRecord | undefined): object {
  if (gpu && cpu) throw new ServiceError("invalid_input", "cpu: must not be sent together with gpu");
  const isCpu = stored ? stored.gpuIds === null : cpu !== undefined;
  if (gpu && isCpu) throw new ServiceError("invalid_input", "gpu: is not possible for a CPU endpoint");
  if (cpu && !isCpu) throw new ServiceError("invalid_input", "cpu: is not possible for a GPU endpoint");
  if (cpu) return { instanceIds: cpu.map(instanceId) };
  if (gpu?.allowedCudaVersions?.length && gpu.minCudaVersion) {
    throw new ServiceError(
      "invalid_input",
      "gpu.minCudaVersion: must not be sent together with allowedCudaVersions",
    );
  }
  if (gpu?.excludedTypes?.length && !gpu.pools && stored) {
    throw new ServiceError("invalid_input", "gpu.excludedTypes: must be sent together with pools");
  }
  if (isCpu || (stored && !gpu?.pools)) return {};
  return {
    gpuIds: [...(gpu?.pools ?? GPU_TIER_NAMES), ...(gpu?.excludedTypes ?? []).map((id) => `-${id}`)].join(
      ",",
    ),
  };
}

function instanceId({ id, vcpuCount }: z.output<typeof cpuSchema>): string {
  const memoryGb = vcpuCount * (CPU_FLAVORS.find((flavor) => flavor.id === id)?.memoryGbPerVcpu ?? 0);
  return `${id}-${vcpuCount}-${memoryGb}`;
}

function scalerOf({ scaling }: Combined): object {
  if (!scaling) return {};
  const scalerValue = scaling.type === "QUEUE_DELAY" ? scaling.queueDelay : scaling.requestCount;
  return { scalerType: scaling.type, scalerValue };
}

function missingImage(): ServiceError {
  const issue = "image: is required, unless templateId names a template";
  return new ServiceError("invalid_input", issue, { issues: [issue] });
}

// Showing

async function showOne(request: RequestContext, endpoint: EndpointRecord): Promise<object> {
  const [shown = {}] = await showAll(request, [endpoint]);
  return shown;
}

async function showAll(request: RequestContext, endpoints: readonly EndpointRecord[]): Promise<object[]> {
  const templates = await findOwnTemplates(request, [
    ...new Set(endpoints.map(({ templateId }) => templateId)),
  ]);
  const byId = new Map(templates.map((template) => [template.id, template]));
  return endpoints.flatMap((endpoint) => {
    const template = byId.get(endpoint.templateId);
    return template ? [show(request, endpoint, template)] : [];
  });
}

function show({ origin }: RequestContext, endpoint: EndpointRecord, template: TemplateRecord): object {
  const isCpu = endpoint.gpuIds === null;
  const own = Object.entries(toNested(endpointFields, endpoint));
  const variables = mergeVariables(template.env, endpoint.env);
  return nest({
    id: endpoint.id,
    ...Object.fromEntries(own.filter(([place]) => !isCpu || !place.startsWith("gpu."))),
    ...toNested(container, { ...template, env: variables }),
    ...(isCpu ? { cpu: endpoint.instanceIds.map(showInstance) } : showPools(endpoint.gpuIds ?? "")),
    networkVolumes: attachedIds(endpoint),
    scaling: showScaler(endpoint),
    requestUrls: showUrls(origin, endpoint, variables),
    createdAt: new Date(endpoint.createdAt).toISOString(),
  });
}

function showInstance(id: string) {
  const [flavor = "", vcpuCount, memory] = id.split("-");
  return { id: flavor, vcpuCount: Number(vcpuCount), memory: Number(memory) };
}

function showPools(gpuIds: string) {
  const tokens = gpuIds
    .split(",")
    .map((token) => token.trim())
    .filter((token) => token !== "");
  const excluded = tokens.filter((token) => token.startsWith("-")).map((token) => token.slice(1).trim());
  return {
    "gpu.pools": tokens.filter((token) => !token.startsWith("-")),
    ...(excluded.length > 0 && { "gpu.excludedTypes": excluded }),
  };
}

function showScaler({ scalerType: type, scalerValue: value }: EndpointRecord) {
  return type === "QUEUE_DELAY" ? { type, queueDelay: value } : { type, requestCount: value };
}

/** The path that the edge asks whether a worker of a load-balanced endpoint is healthy. */
const HEALTH_PATH_VARIABLE = "HEALTH_CHECK_PATH";
const HEALTH_PATH_DEFAULT = "/ping";

function showUrls(origin: string, { id, type }: EndpointRecord, variables: TemplateRecord["env"]) {
  if (type === "LB") {
    const base = `${origin}/lb/${id}`;
    const path = variables.find(({ key }) => key === HEALTH_PATH_VARIABLE)?.value ?? HEALTH_PATH_DEFAULT;
    return { base, health: `${base}${path.startsWith("/") ? "" : "/"}${path}` };
  }
  const base = `${origin}/v2/${id}`;
  const ofJob = (operation: string) => `${base}/${operation}/{job_id}`;
  return {
    run: `${base}/run`,
    runSync: `${base}/runsync`,
    status: ofJob("status"),
    stream: ofJob("stream"),
    cancel: ofJob("cancel"),
    retry: ofJob("retry"),
    purgeQueue: `${base}/purge-queue`,
    health: `${base}/health`,
  };
}
