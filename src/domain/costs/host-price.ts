/**
 * What a host costs its owner, and a worker's part of that, in dollars per hour.
 *
 * P1  Prices are finite and not negative, so costs only grow with time.
 * P2  Workers that share a host do not cost more together than the host does.
 */
import { VCPU, type UsedGpus } from "../metrics/worker-usage.ts";
import { cpuPrice, modelPrice, type GpuPrices } from "./nominal-prices.ts";

/** Of a whole host, of each of its GPUs, or by the power that the host draws. */
export type HostPrice =
  | { readonly kind: "host"; readonly perHour: number }
  | { readonly kind: "gpu"; readonly perGpuHour: number }
  | { readonly kind: "power"; readonly watts: number; readonly perKwh: number };

/** Dollars per hour, of a host or of one of its GPUs. */
export const HOST_PRICE_MAX = 10_000;
export const HOST_WATTS_MAX = 1_000_000;
export const HOST_KWH_PRICE_MAX = 100;

/** A price as clients write it: with one of its forms. */
export type WrittenPrice = {
  readonly perHour?: number | null | undefined;
  readonly perGpuHour?: number | null | undefined;
  readonly watts?: number | null | undefined;
  readonly perKwh?: number | null | undefined;
};

/** Undefined unless exactly one form is there, with all of its members. */
export function readHostPrice(written: WrittenPrice): HostPrice | undefined {
  const { perHour, perGpuHour, watts, perKwh } = written;
  const forms: HostPrice[] = [];
  if (isNumber(perHour)) forms.push({ kind: "host", perHour });
  if (isNumber(perGpuHour)) forms.push({ kind: "gpu", perGpuHour });
  if (isNumber(watts) && isNumber(perKwh)) forms.push({ kind: "power", watts, perKwh });
  else if (isNumber(watts) || isNumber(perKwh)) return undefined;
  return forms.length === 1 ? forms[0] : undefined;
}

export function writeHostPrice(price: HostPrice | null): Required<WrittenPrice> | null {
  if (price === null) return null;
  const { kind: _, ...members } = price;
  return { perHour: null, perGpuHour: null, watts: null, perKwh: null, ...members };
}

function isNumber(value: number | null | undefined): value is number {
  return value !== null && value !== undefined;
}

/** What the host of a worker has in all. */
export type HostParts = { readonly gpus: number; readonly vcpus: number };

/** Dollars per hour of a worker that uses this of its host; by nominal prices where the host has no price. */
export function workerPrice(
  price: HostPrice | null,
  used: readonly UsedGpus[],
  host: HostParts,
  nominal: GpuPrices,
): number {
  if (price === null) return nominalPrice(used, nominal);
  if (price.kind === "gpu") return price.perGpuHour * gpusOf(used);
  return hostPerHour(price) * partOf(used, host);
}

export function nominalPrice(used: readonly UsedGpus[], prices: GpuPrices): number {
  const priceOf = ({ model, tier, count }: UsedGpus) =>
    model === VCPU ? cpuPrice(count) : count * modelPrice(model, tier, prices);
  return used.reduce((sum, gpus) => sum + priceOf(gpus), 0);
}

function hostPerHour(price: Exclude<HostPrice, { readonly kind: "gpu" }>): number {
  return price.kind === "host" ? price.perHour : (price.watts / 1_000) * price.perKwh;
}

/** GPUs carry the whole price of their host: a worker without any costs nothing beside them. */
function partOf(used: readonly UsedGpus[], { gpus, vcpus }: HostParts): number {
  if (gpus > 0) return Math.min(1, gpusOf(used) / gpus);
  const count = used.find(({ model }) => model === VCPU)?.count;
  return count === undefined || vcpus <= 0 ? 1 : Math.min(1, count / vcpus);
}

function gpusOf(used: readonly UsedGpus[]): number {
  return used.reduce((sum, { model, count }) => (model === VCPU ? sum : sum + count), 0);
}
