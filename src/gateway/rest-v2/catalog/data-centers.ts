/** Data centers: `/v2/catalog/datacenters`. */
import * as z from "zod";
import { DATA_CENTERS, findDataCenter, type DataCenter } from "../../../catalog/data-centers.ts";
import { switchSchema } from "../../../contract/rest/rest.ts";
import { offerOf } from "../../../domain/placement/stock.ts";
import { cpuOffer, listCpuFlavors } from "../../../management/catalog/cpu-flavors.ts";
import { listGpus } from "../../../management/catalog/gpu-types.ts";
import type { RequestContext } from "../../../management/context.ts";
import { oneOf } from "../../../management/input-schemas.ts";
import { FIND, v2Route } from "../route.ts";
import { commaList, levelOf, placesSchema, requireFound } from "./availability.ts";

const includeSchema = commaList(oneOf(["GPU_AVAILABILITY", "CPU_AVAILABILITY"]));
const REGIONS = [
  ...["NORTH_AMERICA", "SOUTH_AMERICA", "EUROPE", "ASIA", "MIDDLE_EAST", "AFRICA", "OCEANIA"],
  ...["ANTARCTICA", "UNKNOWN"],
];
const querySchema = z.strictObject({
  include: includeSchema,
  regions: commaList(oneOf(REGIONS)),
  networkVolumeTypes: commaList(oneOf(["STANDARD", "HIGH_PERFORMANCE"])),
  compliance: commaList(z.string().max(100)),
  globalNetwork: switchSchema,
});

const dataCenterSchema = z
  .object({
    id: z.string().meta({ example: "EU-RO-1" }),
    name: z.string(),
    region: z.enum(REGIONS),
    globalNetwork: z.boolean(),
    networkVolumeTypes: z.array(z.enum(["STANDARD", "HIGH_PERFORMANCE"])),
    compliance: z.array(z.string()),
    gpuAvailability: placesSchema,
    cpuAvailability: placesSchema,
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
    const { total, status } = offerOf(gpu.card, gpu.hosts, { gpuCount: 1, dataCenterId });
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

export const dataCenterRoutes = [
  v2Route({
    on: "GET /catalog/datacenters",
    id: "listDataCenters",
    summary: "List data centers",
    errors: [400, 422, 503],
    query: querySchema,
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
