/** Cards, their prices and their stock. */
import * as z from "zod";
import { findDataCenter, type DataCenter } from "../../catalog/data-centers.ts";
import { GPU_CARDS, type GpuCard, GPU_TIER_NAMES } from "../../catalog/gpu-cards.ts";
import { clusterPlacesOf, offerOf, type GpuOffer, type HostStock } from "../../domain/placement/stock.ts";
import { optional, optionalNonEmpty, stringSchema, wholeNumber } from "../input-schemas.ts";
import { presentStock, type CatalogContext } from "./present-stock.ts";
import { gpuPrice } from "../../domain/costs/nominal-prices.ts";
import { readGpuPrices } from "./prices.ts";

export const gpuFilterSchema = z.object({
  id: optionalNonEmpty(stringSchema),
  ids: optional(z.array(stringSchema.nullable())),
  cluster: optional(z.boolean()),
});
export type GpuFilter = Partial<z.output<typeof gpuFilterSchema>>;

export const offerQuestionSchema = z.object({
  gpuCount: optional(wholeNumber(1)),
  secureCloud: optional(z.boolean()),
  isCluster: optional(z.boolean()),
  dataCenterId: optionalNonEmpty(stringSchema),
  countryCode: optionalNonEmpty(stringSchema),
  minVcpuCount: optional(wholeNumber(0)),
  minMemoryInGb: optional(wholeNumber(0)),
});
export type OfferQuestion = Partial<z.output<typeof offerQuestionSchema>>;

/** A card with what there is to say of it at this moment. */
export type ListedGpu = {
  readonly card: GpuCard;
  /** Dollars per hour of one. */
  readonly price: number;
  readonly hosts: readonly HostStock[];
  /** The hosts are those for clusters. */
  readonly isForClusters: boolean;
};

/**
 * Cards by id or tier; an unknown name matches no card. A search for cards of clusters finds those that are on hosts
 * where pods of a cluster reach each other, and tells of these hosts alone.
 */
export async function listGpus(context: CatalogContext, filter: GpuFilter = {}): Promise<ListedGpu[]> {
  const prices = readGpuPrices(context.env.GPU_PRICES);
  const cards = GPU_CARDS.filter((card) => matchesFilter(card, filter));
  if (cards.length === 0) return [];
  const present = await presentStock(context);
  const isForClusters = filter.cluster === true;
  const hosts = isForClusters ? present.filter(({ canJoinClusters }) => canJoinClusters) : present;
  const gpus = cards.map((card) => ({ card, price: gpuPrice(card, prices), hosts, isForClusters }));
  return isForClusters ? gpus.filter((gpu) => clusterDataCenters(gpu).length > 0) : gpus;
}

/** Where clusters of the card can be made, whether or not it is free there at the moment. */
export function clusterDataCenters({ card, hosts }: ListedGpu): readonly DataCenter[] {
  return clusterPlacesOf(card, hosts).flatMap((id) => findDataCenter(id) ?? []);
}

/**
 * What is to be had of a card, asked as in GraphQL. Readers of cluster cards always ask for 8 GPUs, to learn what
 * comes with a whole host: where the largest host has fewer, all of its GPUs are meant.
 */
export function gpuOffer(gpu: ListedGpu, question: OfferQuestion): GpuOffer {
  const { card, hosts, isForClusters } = gpu;
  const { gpuCount: requested = 1, secureCloud, isCluster, countryCode, minMemoryInGb, ...rest } = question;
  const gpuCount = isForClusters ? Math.min(requested, largestCount(gpu)) : requested;
  return offerOf(card, hosts, {
    ...rest,
    gpuCount,
    products: isCluster ? ["CLUSTER"] : undefined,
    cloud: secureCloud === false ? "COMMUNITY" : undefined,
    countryCodes: countryCode === undefined ? undefined : [countryCode],
    minMemoryGb: minMemoryInGb,
  });
}

/** Most GPUs that one worker can have on the largest host; 1 where there is none. */
export function largestCount({ card, hosts }: Pick<ListedGpu, "card" | "hosts">): number {
  return Math.max(1, offerOf(card, hosts, { gpuCount: 1 }).largestTotal);
}

/** The tiers in which endpoints ask for GPUs, with the cards of each. */
export function listTiers(): { readonly id: string; readonly gpuTypeIds: readonly string[] }[] {
  return GPU_TIER_NAMES.map((id) => {
    const cards = GPU_CARDS.filter(({ tier }) => tier === id);
    return { id, gpuTypeIds: cards.map((card) => card.id) };
  });
}

function matchesFilter(card: GpuCard, { id, ids }: GpuFilter): boolean {
  if (id !== undefined && card.id !== id) return false;
  const names = ids?.filter((name) => name !== null && name !== "") ?? [];
  return names.length === 0 || names.includes(card.id) || (card.tier !== null && names.includes(card.tier));
}
