/** Types of GPUs: `/v2/catalog/gpus`. */
import * as z from "zod";
import { ServiceError } from "../../../contract/errors.ts";
import { CLOUDS, cudaStockOf, offerOf, PRODUCTS } from "../../../domain/placement/stock.ts";
import { largestCount, listGpus, type ListedGpu } from "../../../management/catalog/gpu-types.ts";
import type { RequestContext } from "../../../management/context.ts";
import { oneOf } from "../../../management/input-schemas.ts";
import { v2Route } from "../route.ts";
import {
  commaList,
  includeSchema,
  levelOf,
  levelSchema,
  placesSchema,
  requireFound,
  requireProduct,
  wholeText,
} from "./availability.ts";

const VERSION = /^\d{1,3}\.\d{1,3}$/;

const querySchema = z.strictObject({
  include: includeSchema,
  product: commaList(oneOf(PRODUCTS)),
  count: wholeText(1, 64),
  cloud: oneOf(CLOUDS).optional(),
  countryCodes: commaList(z.string().regex(/^[A-Z]{2}$/, "must be a country code such as FR")),
  cudaVersions: commaList(z.string().regex(VERSION, "must be a version such as 12.8")),
  minCudaVersion: z
    .string()
    .regex(/^\d{1,3}(?:\.\d{1,3})?$/, "must be a version such as 12 or 12.8")
    .optional(),
});
type GpuQuery = z.output<typeof querySchema>;

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

function showStock({ card, hosts }: ListedGpu, query: GpuQuery) {
  const { count: gpuCount = 1, product: products, ...hostQuestion } = query;
  const question = { ...hostQuestion, products, gpuCount };
  const offer = offerOf(card, hosts, question);
  const dataCenters = offer.dataCenterIds.map((id) => ({
    id,
    name: id,
    availability: levelOf(offerOf(card, hosts, { ...question, dataCenterId: id }).status),
  }));
  return {
    availability: levelOf(offer.status),
    ...(dataCenters.length > 0 && { dataCenters }),
    cudaVersions: cudaStockOf(card, hosts, question)
      .filter(({ version }) => VERSION.test(version))
      .map(({ version, isAvailable }) => ({ version, available: isAvailable })),
  };
}

export const gpuRoutes = [
  v2Route({
    on: "GET /catalog/gpus",
    id: "listGpuTypes",
    summary: "List GPU types",
    errors: [400, 422, 503],
    query: querySchema,
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
    errors: [400, 404, 422, 503],
    query: querySchema,
    answer: gpuSchema,
    serve: async (request, { params: { id }, query }) => {
      const [found] = await showGpus(request, query, id);
      return requireFound("GPU type", id, found);
    },
  }),
];
