/** Cards, their prices and their stock. */
import * as z from "zod";
import { GPU_CARDS, type GpuCard, GPU_TIER_NAMES } from "../../catalog/gpu-cards.ts";
import { offerOf, type GpuOffer, type HostStock } from "../../domain/placement/stock.ts";
import { optional, optionalNonEmpty, stringSchema, wholeNumber } from "../input-schemas.ts";
import { presentStock, type CatalogContext } from "./present-stock.ts";
import { gpuPrice, readGpuPrices } from "./prices.ts";

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
};

/** Cards by id or tier; an unknown name matches no card. Hosts have no network for clusters, so a search for their cards is empty. */
export async function listGpus(context: CatalogContext, filter: GpuFilter = {}): Promise<ListedGpu[]> {
  const prices = readGpuPrices(context.env.GPU_PRICES);
  const cards = filter.cluster ? [] : GPU_CARDS.filter((card) => matchesFilter(card, filter));
  if (cards.length === 0) return [];
  const hosts = await presentStock(context);
  return cards.map((card) => ({ card, price: gpuPrice(card, prices), hosts }));
}

/** What is to be had of a card, asked as in GraphQL. */
export function gpuOffer({ card, hosts }: ListedGpu, question: OfferQuestion): GpuOffer {
  const { gpuCount = 1, secureCloud, isCluster, countryCode, minMemoryInGb, ...rest } = question;
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
export function largestCount({ card, hosts }: ListedGpu): number {
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
