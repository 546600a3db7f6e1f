/**
 * Nominal prices: hosts belong to the operator, so a price orders cards by their memory. GPU_PRICES sets others, in
 * dollars per hour, by card or by tier.
 */
import { findGpuCard, GPU_TIERS, type GpuCard, type GpuTier } from "../../catalog/gpu-cards.ts";

/** Clients drop entries that cost nothing. */
const GPU_PRICE_PER_GB_HOUR = 0.001;

const VCPU_PRICE_PER_HOUR = 0.001;

export type GpuPrices = { readonly [cardOrTier: string]: number };

/** Dollars per hour of one GPU. */
export function gpuPrice(card: GpuCard, prices: GpuPrices): number {
  const byTier = card.tier === null ? undefined : prices[card.tier];
  return prices[card.id] ?? byTier ?? roundPrice(card.memoryGb * GPU_PRICE_PER_GB_HOUR);
}

/** The same by the model that the driver names; one that the catalog does not know costs what its tier does. */
export function modelPrice(model: string, tier: string | null, prices: GpuPrices): number {
  const card = findGpuCard(model);
  if (card) return gpuPrice(card, prices);
  if (tier === null || !Object.hasOwn(GPU_TIERS, tier)) return 0;
  return prices[tier] ?? GPU_TIERS[tier as GpuTier].memoryGb * GPU_PRICE_PER_GB_HOUR;
}

/** Dollars per hour of a CPU instance. */
export function cpuPrice(vcpus: number): number {
  return roundPrice(vcpus * VCPU_PRICE_PER_HOUR);
}

/** Sums of prices, without the dust of binary fractions. */
export function roundPrice(price: number): number {
  return Number(price.toFixed(4));
}

/** GPU_PRICES where nobody can be shown what is wrong with it: what is no price is left out. */
export function usableGpuPrices(setting: string | undefined): GpuPrices {
  const entries = Object.entries(parseObject(setting ?? ""));
  return Object.fromEntries(entries.filter(isPrice));
}

function parseObject(json: string): object {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}

function isPrice(entry: [string, unknown]): entry is [string, number] {
  const [, price] = entry;
  return typeof price === "number" && Number.isFinite(price) && price >= 0;
}
