/** What there is to run on, and where: `/v2/catalog`. */
import * as z from "zod";
import { CPU_FLAVOR_VCPUS_MAX, CPU_FLAVOR_VCPUS_MIN, type CpuFlavor } from "../../catalog/cpu-flavors.ts";
import { DATA_CENTERS, findDataCenter, type DataCenter } from "../../catalog/data-centers.ts";
import { ServiceError } from "../../contract/errors.ts";
import { switchSchema } from "../../contract/rest/rest.ts";
import type { StockStatus } from "../../domain/placement/stock.ts";
import { cpuOffer, listCpuFlavors } from "../../management/catalog/cpu-flavors.ts";
import { gpuOffer, largestCount, listGpus, type ListedGpu } from "../../management/catalog/gpu-types.ts";
import { cpuPrice } from "../../management/catalog/prices.ts";
import type { RequestContext } from "../../management/context.ts";
import { oneOf } from "../../management/input-schemas.ts";
import { FIND, v2Route } from "./route.ts";

const LEVELS = ["NONE", "LOW", "MEDIUM", "HIGH"] as const;
type Level = (typeof LEVELS)[number];

const LEVEL_OF: Readonly<Record<NonNullable<StockStatus>, Level>> = {
  Low: "LOW",
  Medium: "MEDIUM",
  High: "HIGH",
};

function levelOf(status: StockStatus): Level {
  return status === null ? "NONE" : LEVEL_OF[status];
}

// Parameters

/** `A,B`, each one of a list. */
function commaList<Value>(entry: z.ZodType<Value, string>) {
  return z
    .string()
    .max(1_000)
    .transform((list) => list.split(",").map((text) => text.trim()))
    .pipe(z.array(entry))
    .optional()
    .meta({ override: { type: "string" } });
}

const wholeText = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,6}$/, "must be a whole number")
    .transform(Number)
    .pipe(z.int().min(min).max(max))
    .optional()
    .meta({ override: { type: "integer", minimum: min, maximum: max } });

const VERSION = /^\d{1,3}\.\d{1,3}$/;

const gpuQuerySchema = z.strictObject({
  include: commaList(oneOf(["AVAILABILITY"])),
  product: commaList(oneOf(["POD", "CLUSTER", "SERVERLESS"])),
  count: wholeText(1, 64),
  cloud: oneOf(["SECURE", "COMMUNITY"]).optional(),
  countryCodes: commaList(z.string().regex(/^[A-Z]{2}$/, "must be a country code such as FR")),
  cudaVersions: commaList(z.string().regex(VERSION, "must be a version such as 12.8")),
  minCudaVersion: z
    .string()
    .regex(/^\d{1,3}(?:\.\d{1,3})?$/, "must be a version such as 12 or 12.8")
    .optional(),
});
type GpuQuery = z.output<typeof gpuQuerySchema>;

const cpuQuerySchema = z.strictObject({
  include: commaList(oneOf(["AVAILABILITY"])),
  product: commaList(oneOf(["POD", "SERVERLESS"])),
  vcpuCount: wholeText(CPU_FLAVOR_VCPUS_MIN, CPU_FLAVOR_VCPUS_MAX),
});
type CpuQuery = z.output<typeof cpuQuerySchema>;

const includeSchema = commaList(oneOf(["GPU_AVAILABILITY", "CPU_AVAILABILITY"]));
const REGIONS = [
  ...["NORTH_AMERICA", "SOUTH_AMERICA", "EUROPE", "ASIA", "MIDDLE_EAST", "AFRICA", "OCEANIA"],
  ...["ANTARCTICA", "UNKNOWN"],
];
const dataCentersQuerySchema = z.strictObject({
  include: includeSchema,
  regions: commaList(oneOf(REGIONS)),
  networkVolumeTypes: commaList(oneOf(["STANDARD", "HIGH_PERFORMANCE"])),
  compliance: commaList(z.string().max(100)),
  globalNetwork: switchSchema,
});

/** Availability depends on the product, and the other parameters narrow it: none of them has a meaning alone. */
function requireProduct({ include, product, ...rest }: GpuQuery | CpuQuery): void {
  const isIncluded = include?.includes("AVAILABILITY") ?? false;
  if (isIncluded && !product?.length) {
    throw new ServiceError("invalid_input", "product: must be sent together with include=AVAILABILITY");
  }
  const [lone] = isIncluded
    ? []
    : Object.entries({ product, ...rest }).filter(([, value]) => value !== undefined);
  if (lone)
    throw new ServiceError("invalid_input", `${lone[0]}: must be sent together with include=AVAILABILITY`);
}

// GPUs

const levelSchema = z.enum(LEVELS);
const placesSchema = z
  .array(z.object({ id: z.string(), name: z.string(), availability: levelSchema }))
  .optional();
const gpuSchema = z
  .object({
    id: z.string().meta({ example: "NVIDIA L4" }),
    name: z.string(),
    pool: z.string().nullable(),
    manufacturer: z.enum(["NVIDIA", "AMD"]),
    memory: z.int().meta({ description: "GB." }),
    secure: z.boolean(),
    community: z.boolean(),
    price: z
      .object({ secure: z.number(), community: z.number(), serverless: z.number().optional() })
      .meta({ description: "Nominal, in dollars per hour of one." }),
    maxCount: z.object({ secure: z.int(), community: z.int() }),
    availability: levelSchema.optional(),
    dataCenters: placesSchema,
    cudaVersions: z.array(z.object({ version: z.string(), available: z.boolean() })).optional(),
  })
  .meta({ id: "CatalogGpu" });

async function showGpus(request: RequestContext, query: GpuQuery, id?: string): Promise<object[]> {
  requireProduct(query);
  if (query.cudaVersions && query.minCudaVersion !== undefined) {
    throw new ServiceError("invalid_input", "minCudaVersion: must not be sent together with cudaVersions");
  }
  const gpus = await listGpus(request, id === undefined ? {} : { id });
  return gpus.map((gpu) => ({ ...showCard(gpu), ...(query.include && showStock(gpu, query)) }));
}

function showCard(gpu: ListedGpu) {
  const { card, price } = gpu;
  return {
    id: card.id,
    name: card.displayName,
    pool: card.tier,
    manufacturer: card.manufacturer.toUpperCase(),
    memory: card.memoryGb,
    secure: true,
    community: false,
    price: { secure: price, community: 0, ...(card.tier !== null && { serverless: price }) },
    maxCount: { secure: largestCount(gpu), community: 0 },
  };
}

/** Workers of endpoints are all that runs on hosts: there is no stock for pods and clusters. */
function showStock(gpu: ListedGpu, query: GpuQuery) {
  const { count = 1, cloud, product, countryCodes } = query;
  const hosts = gpu.hosts.filter(
    ({ dataCenterId, cudaVersion }) =>
      (countryCodes?.includes(findDataCenter(dataCenterId)?.countryCode ?? "") ?? true) &&
      isRequestedCuda(cudaVersion, query),
  );
  const isOffered = product?.includes("SERVERLESS") === true && cloud !== "COMMUNITY";
  const here = { ...gpu, hosts: isOffered ? hosts : [] };
  const offer = gpuOffer(here, { gpuCount: count });
  const dataCenters = offer.dataCenterIds.map((id) => ({
    id,
    name: id,
    availability: levelOf(gpuOffer(here, { gpuCount: count, dataCenterId: id }).status),
  }));
  return {
    availability: levelOf(offer.status),
    ...(dataCenters.length > 0 && { dataCenters }),
    cudaVersions: showCudaVersions(here, count),
  };
}

function isRequestedCuda(version: string | null, { cudaVersions, minCudaVersion }: GpuQuery): boolean {
  if (cudaVersions) return version !== null && cudaVersions.includes(version);
  if (minCudaVersion === undefined) return true;
  return version !== null && compareVersions(version, minCudaVersion) >= 0;
}

function compareVersions(one: string, other: string): number {
  const [major = 0, minor = 0] = one.split(".").map(Number);
  const [otherMajor = 0, otherMinor = 0] = other.split(".").map(Number);
  return major - otherMajor || minor - otherMinor;
}

function showCudaVersions(gpu: Pick<ListedGpu, "card" | "hosts">, count: number) {
  const having = gpu.hosts.filter(({ gpus }) => gpus.some(({ model }) => model === gpu.card.id));
  const versions = [...new Set(having.flatMap(({ cudaVersion }) => cudaVersion ?? []))].toSorted(
    compareVersions,
  );
  return versions
    .filter((version) => VERSION.test(version))
    .map((version) => {
      const hosts = having.filter(({ cudaVersion }) => cudaVersion === version);
      return { version, available: gpuOffer({ card: gpu.card, hosts }, { gpuCount: count }).status !== null };
    });
}

// CPUs

const cpuSchema = z
  .object({
    id: z.string().meta({ example: "cpu5c" }),
    name: z.string(),
    group: z.string(),
    vcpu: z.object({ min: z.int(), max: z.int() }),
    ramGbPerVcpu: z.number(),
    price: z
      .object({ securePerVcpu: z.number(), serverlessPerVcpu: z.number() })
      .meta({ description: "Nominal, in dollars per hour." }),
    availability: levelSchema.optional(),
    dataCenters: placesSchema,
  })
  .meta({ id: "CatalogCpu" });

async function showCpus(request: RequestContext, query: CpuQuery, id?: string): Promise<object[]> {
  requireProduct(query);
  const flavors = listCpuFlavors({ id });
  return await Promise.all(
    flavors.map(async (flavor) => ({
      ...showFlavor(flavor),
      ...(query.include && (await showCpuStock(request, flavor, query))),
    })),
  );
}

function showFlavor({ id, displayName, generation, memoryGbPerVcpu }: CpuFlavor) {
  return {
    id,
    name: displayName,
    group: `Gen ${generation}`,
    vcpu: { min: CPU_FLAVOR_VCPUS_MIN, max: CPU_FLAVOR_VCPUS_MAX },
    ramGbPerVcpu: memoryGbPerVcpu,
    price: { securePerVcpu: cpuPrice(1), serverlessPerVcpu: cpuPrice(1) },
  };
}

async function showCpuStock(
  request: RequestContext,
  flavor: CpuFlavor,
  { vcpuCount = CPU_FLAVOR_VCPUS_MIN, product }: CpuQuery,
) {
  if (!product?.includes("SERVERLESS")) return { availability: "NONE" };
  const instanceId = `${flavor.id}-${vcpuCount}-${vcpuCount * flavor.memoryGbPerVcpu}`;
  const statusAt = async (dataCenterId?: string) =>
    levelOf((await cpuOffer(request, flavor, { instanceId, dataCenterId })).status);
  const places = await Promise.all(
    DATA_CENTERS.map(async ({ id }) => ({ id, name: id, availability: await statusAt(id) })),
  );
  const dataCenters = places.filter(({ availability }) => availability !== "NONE");
  return { availability: await statusAt(), ...(dataCenters.length > 0 && { dataCenters }) };
}

// Data centers

const resourcesSchema = placesSchema;
const dataCenterSchema = z
  .object({
    id: z.string().meta({ example: "EU-RO-1" }),
    name: z.string(),
    region: z.enum(REGIONS),
    globalNetwork: z.boolean(),
    networkVolumeTypes: z.array(z.enum(["STANDARD", "HIGH_PERFORMANCE"])),
    compliance: z.array(z.string()),
    gpuAvailability: resourcesSchema,
    cpuAvailability: resourcesSchema,
  })
  .meta({ id: "CatalogDataCenter" });

type DataCenterQuery = z.output<typeof includeSchema>;

async function showDataCenter(request: RequestContext, { id, region }: DataCenter, include: DataCenterQuery) {
  const gpus = include?.includes("GPU_AVAILABILITY") ? await gpusIn(request, id) : [];
  const cpus = include?.includes("CPU_AVAILABILITY") ? await cpusIn(request, id) : [];
  return {
    ...{ id, name: id, region, globalNetwork: false, networkVolumeTypes: ["STANDARD"], compliance: [] },
    ...(gpus.length > 0 && { gpuAvailability: gpus }),
    ...(cpus.length > 0 && { cpuAvailability: cpus }),
  };
}

/** The cards that hosts in a data center have, free or not. */
async function gpusIn(request: RequestContext, dataCenterId: string) {
  return (await listGpus(request)).flatMap((gpu) => {
    const { total, status } = gpuOffer(gpu, { dataCenterId });
    return total === 0
      ? []
      : [{ id: gpu.card.id, name: gpu.card.displayName, availability: levelOf(status) }];
  });
}

async function cpusIn(request: RequestContext, dataCenterId: string) {
  const offers = await Promise.all(
    listCpuFlavors({}).map(async (flavor) => ({
      id: flavor.id,
      name: flavor.displayName,
      availability: levelOf((await cpuOffer(request, flavor, { dataCenterId })).status),
    })),
  );
  return offers.filter(({ availability }) => availability !== "NONE");
}

// Routes

function requireFound<Value>(kind: string, id: string, found: Value | undefined): Value {
  if (found !== undefined) return found;
  throw new ServiceError(
    "not_found",
    `id: there is no ${kind} '${id}'; the list of the catalog has all that there are`,
  );
}

const availability = "Availability is of workers of endpoints; for pods and clusters it is NONE.";

export const catalogRoutes = [
  v2Route({
    on: "GET /catalog/gpus",
    id: "listGpuTypes",
    summary: "List GPU types",
    details: availability,
    errors: [400, 422, 503],
    query: gpuQuerySchema,
    answer: z.object({ gpus: z.array(gpuSchema) }),
    serve: async (request, { query }) => {
      const gpus = await showGpus(request, query);
      return { gpus: query.countryCodes ? gpus.filter((gpu) => "dataCenters" in gpu) : gpus };
    },
  }),
  v2Route({
    on: "GET /catalog/gpus/{id}",
    id: "getGpuType",
    summary: "Get a GPU type",
    details: availability,
    errors: [400, 404, 422, 503],
    query: gpuQuerySchema,
    answer: gpuSchema,
    serve: async (request, { params: { id }, query }) => {
      const [found] = await showGpus(request, query, id);
      return requireFound("GPU type", id, found);
    },
  }),
  v2Route({
    on: "GET /catalog/cpus",
    id: "listCpuTypes",
    summary: "List CPU types",
    errors: [400, 422, 503],
    query: cpuQuerySchema,
    answer: z.object({ cpus: z.array(cpuSchema) }),
    serve: async (request, { query }) => ({ cpus: await showCpus(request, query) }),
  }),
  v2Route({
    on: "GET /catalog/cpus/{id}",
    id: "getCpuType",
    summary: "Get a CPU type",
    errors: [400, 404, 422, 503],
    query: cpuQuerySchema,
    answer: cpuSchema,
    serve: async (request, { params: { id }, query }) => {
      const [found] = await showCpus(request, query, id);
      return requireFound("CPU type", id, found);
    },
  }),
  v2Route({
    on: "GET /catalog/datacenters",
    id: "listDataCenters",
    summary: "List data centers",
    errors: [400, 422, 503],
    query: dataCentersQuerySchema,
    answer: z.object({ dataCenters: z.array(dataCenterSchema) }),
    serve: async (request, { query }) => {
      const { include, regions, networkVolumeTypes, compliance, globalNetwork } = query;
      // None has other storage, a certificate, or a network to other data centers.
      const isEmpty = networkVolumeTypes?.includes("HIGH_PERFORMANCE") || compliance?.length || globalNetwork;
      const found = isEmpty ? [] : DATA_CENTERS.filter(({ region }) => regions?.includes(region) ?? true);
      return { dataCenters: await Promise.all(found.map((one) => showDataCenter(request, one, include))) };
    },
  }),
  v2Route({
    on: "GET /catalog/datacenters/{id}",
    id: "getDataCenter",
    summary: "Get a data center",
    errors: [...FIND, 400, 422, 503],
    query: z.strictObject({ include: includeSchema }),
    answer: dataCenterSchema,
    serve: async (request, { params: { id }, query: { include } }) =>
      await showDataCenter(request, requireFound("data center", id, findDataCenter(id)), include),
  }),
];
