/** Endpoints as REST v2 shows them: with the settings of their containers. */
import * as z from "zod";
import { tierOfModel } from "../../catalog/gpu-cards.ts";
import { readGpuIds } from "../../catalog/gpu-selection.ts";
import type { EndpointRecord } from "../../management/endpoints/endpoints.ts";
import { findOwnTemplates, type TemplateRecord } from "../../management/endpoints/templates.ts";
import { attachedIds } from "../../management/endpoints/volumes.ts";
import type { RequestContext } from "../../management/context.ts";
import { containerFields } from "../../management/nouns/container.ts";
import { endpointFields } from "../../management/nouns/endpoint.ts";
import { nestedOutput, toNested } from "../../management/nouns/field.ts";
import { mergeVariables } from "../../management/nouns/variables.ts";
import { scalingSchema } from "./endpoint-bodies.ts";
import { nest, nestedAnswer } from "./nesting.ts";

const url = z.url();
export const endpointSchema = nestedAnswer({
  id: z.string().meta({ example: "jpnw0v75y3qoql" }),
  ...nestedOutput(endpointFields),
  ...nestedOutput(containerFields),
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

export async function showOne(request: RequestContext, endpoint: EndpointRecord): Promise<object> {
  const [shown = {}] = await showAll(request, [endpoint]);
  return shown;
}

export async function showAll(
  request: RequestContext,
  endpoints: readonly EndpointRecord[],
): Promise<object[]> {
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
    ...toNested(containerFields, { ...template, env: variables }),
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

/** In the form that a body takes: a single card is its pool without the others, and only cards of the pools are out. */
function showPools(gpuIds: string) {
  const reading = readGpuIds(gpuIds);
  const { tiers, excludedModels } =
    reading.kind === "selection" ? reading : { tiers: [], excludedModels: [] };
  const excluded = excludedModels.filter((model) => tiers.some((tier) => tier === tierOfModel(model)));
  return { "gpu.pools": tiers, ...(excluded.length > 0 && { "gpu.excludedTypes": excluded }) };
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
