/** The catalog is the same for all callers, also without a key: no resolver may depend on the caller. */
import { CPU_FLAVOR_VCPUS_MAX, CPU_FLAVOR_VCPUS_MIN, type CpuFlavor } from "../../catalog/cpu-flavors.ts";
import { DATA_CENTERS, type DataCenter } from "../../catalog/data-centers.ts";
import type { CatalogContext } from "../../management/catalog/present-stock.ts";
import {
  cpuOffer,
  cpuFilterSchema,
  cpuQuestionSchema,
  listCpuFlavors,
} from "../../management/catalog/cpu-flavors.ts";
import {
  listAvailability,
  listCountryCodes,
  listedDataCenterIds,
} from "../../management/catalog/data-centers.ts";
import {
  clusterDataCenters,
  gpuOffer,
  gpuFilterSchema,
  largestCount,
  listGpus,
  listTiers,
  offerQuestionSchema,
  type ListedGpu,
} from "../../management/catalog/gpu-types.ts";
import { parseInput } from "../../management/input-schemas.ts";

type Arguments = { readonly input?: unknown };

export const catalogResolvers = {
  Query: {
    gpuTypes: async (_parent: unknown, { input }: Arguments, context: CatalogContext): Promise<ListedGpu[]> =>
      await listGpus(context, parseInput(gpuFilterSchema, input)),
    cpuFlavors: (_parent: unknown, { input }: Arguments): readonly CpuFlavor[] =>
      listCpuFlavors(parseInput(cpuFilterSchema, input)),
    dataCenters: (): readonly DataCenter[] => DATA_CENTERS,
    countryCodes: async (_parent: unknown, _args: unknown, context: CatalogContext): Promise<string[]> =>
      await listCountryCodes(context),
    serverlessGpuPools: () => listTiers(),
  },

  GpuType: {
    id: ({ card }: ListedGpu) => card.id,
    displayName: ({ card }: ListedGpu) => card.displayName,
    manufacturer: ({ card }: ListedGpu) => card.manufacturer,
    memoryInGb: ({ card }: ListedGpu) => card.memoryGb,
    cudaCores: ({ card }: ListedGpu) => card.cudaCores,
    secureCloud: () => true,
    communityCloud: () => false,
    securePrice: ({ price }: ListedGpu) => price,
    secureSpotPrice: ({ price }: ListedGpu) => price,
    clusterPrice: ({ price }: ListedGpu) => price,
    maxGpuCount: largestCount,
    maxGpuCountSecureCloud: largestCount,
    maxGpuCountCommunityCloud: () => 0,
    minPodGpuCount: () => 1,
    nodeGroupDatacenters: clusterDataCenters,
    lowestPrice: (gpu: ListedGpu, { input }: Arguments) => showOffer(gpu, input),
  },

  CpuFlavor: {
    groupId: ({ generation }: CpuFlavor) => `cpu${generation}`,
    groupName: ({ generation }: CpuFlavor) => `CPU${generation}`,
    minVcpu: () => CPU_FLAVOR_VCPUS_MIN,
    maxVcpu: () => CPU_FLAVOR_VCPUS_MAX,
    vcpuBurstable: () => false,
    ramMultiplier: ({ memoryGbPerVcpu }: CpuFlavor) => memoryGbPerVcpu,
    diskLimitPerVcpu: ({ diskGbPerVcpu }: CpuFlavor) => diskGbPerVcpu,
    specifics: async (flavor: CpuFlavor, { input }: Arguments, context: CatalogContext) => {
      const { status, price } = await cpuOffer(context, flavor, parseInput(cpuQuestionSchema, input));
      return { stockStatus: status, securePrice: price, slsPrice: price };
    },
  },

  DataCenter: {
    name: ({ id }: DataCenter) => id,
    listed: async ({ id }: DataCenter, _args: unknown, context: CatalogContext) =>
      (await listedDataCenterIds(context)).has(id),
    storageSupport: () => true,
    s3apiEnabled: () => false,
    globalNetwork: () => false,
    compliance: () => [],
    gpuAvailability: async ({ id }: DataCenter, { input }: Arguments, context: CatalogContext) => {
      const availability = await listAvailability(context, id, parseInput(offerQuestionSchema, input));
      return availability.map(({ gpu: { card }, offer }) => ({
        id: card.id,
        gpuTypeId: card.id,
        gpuTypeDisplayName: card.displayName,
        displayName: card.displayName,
        available: offer.status !== null,
        stockStatus: offer.status,
      }));
    },
  },
};

function showOffer(gpu: ListedGpu, input: unknown) {
  const question = parseInput(offerQuestionSchema, input);
  const offer = gpuOffer(gpu, question);
  const price = offer.status === null ? null : gpu.price;
  return {
    gpuName: gpu.card.displayName,
    gpuTypeId: gpu.card.id,
    stockStatus: offer.status,
    uninterruptablePrice: price,
    minimumBidPrice: price,
    clusterPrice: price,
    minVcpu: offer.minVcpuCount,
    minMemory: offer.minMemoryGb,
    totalCount: offer.total,
    rentedCount: offer.total - offer.free,
    rentalPercentage: offer.total === 0 ? 0 : (offer.total - offer.free) / offer.total,
    maxGpuCount: offer.largestTotal,
    maxUnreservedGpuCount: offer.largestFree,
    availableGpuCounts: Array.from({ length: offer.largestFree }, (_, index) => index + 1),
    countryCode: question.countryCode ?? null,
    compliance: [],
    gpuTypeDatacenters: offer.dataCenterIds,
    gpuTypeCudaVersions: [],
  };
}
