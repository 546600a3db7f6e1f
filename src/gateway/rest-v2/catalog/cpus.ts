/** Types of CPUs: `/v2/catalog/cpus`. */
import * as z from "zod";
import {
  CPU_FLAVOR_VCPUS_MAX,
  CPU_FLAVOR_VCPUS_MIN,
  instanceIdOf,
  type CpuFlavor,
} from "../../../catalog/cpu-flavors.ts";
import { DATA_CENTERS } from "../../../catalog/data-centers.ts";
import { cpuOffer, listCpuFlavors } from "../../../management/catalog/cpu-flavors.ts";
import { cpuPrice } from "../../../domain/costs/nominal-prices.ts";
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

const querySchema = z.strictObject({
  include: includeSchema,
  product: commaList(oneOf(["POD", "SERVERLESS"])),
  vcpuCount: wholeText(CPU_FLAVOR_VCPUS_MIN, CPU_FLAVOR_VCPUS_MAX),
});
type CpuQuery = z.output<typeof querySchema>;

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
  { vcpuCount = CPU_FLAVOR_VCPUS_MIN, product: products }: CpuQuery,
) {
  const instanceId = instanceIdOf(flavor.id, vcpuCount);
  const statusAt = async (dataCenterId?: string) =>
    levelOf((await cpuOffer(request, flavor, { instanceId, dataCenterId, products })).status);
  const places = await Promise.all(
    DATA_CENTERS.map(async ({ id }) => ({ id, name: id, availability: await statusAt(id) })),
  );
  const dataCenters = places.filter(({ availability }) => availability !== "NONE");
  return { availability: await statusAt(), ...(dataCenters.length > 0 && { dataCenters }) };
}

export const cpuRoutes = [
  v2Route({
    on: "GET /catalog/cpus",
    id: "listCpuTypes",
    summary: "List CPU types",
    errors: [400, 422, 503],
    query: querySchema,
    answer: z.object({ cpus: z.array(cpuSchema) }),
    serve: async (request, { query }) => ({ cpus: await showCpus(request, query) }),
  }),
  v2Route({
    on: "GET /catalog/cpus/{id}",
    id: "getCpuType",
    summary: "Get a CPU type",
    errors: [400, 404, 422, 503],
    query: querySchema,
    answer: cpuSchema,
    serve: async (request, { params: { id }, query }) => {
      const [found] = await showCpus(request, query, id);
      return requireFound("CPU type", id, found);
    },
  }),
];
