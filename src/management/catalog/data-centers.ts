/** Data centers, and what is in stock in each. */
import { DATA_CENTERS, DEFAULT_DATA_CENTER_ID } from "../../catalog/data-centers.ts";
import { gpuOffer, listGpus, type ListedGpu, type OfferQuestion } from "./gpu-types.ts";
import type { GpuOffer } from "../../domain/placement/stock.ts";
import { presentStock, type CatalogContext } from "./present-stock.ts";

/**
 * Data centers where hosts are; the default one always counts. Clients look closer at listed ones only, which
 * spares hundreds of calls.
 */
export async function listedDataCenterIds(context: CatalogContext): Promise<ReadonlySet<string>> {
  const hosts = await presentStock(context);
  return new Set([DEFAULT_DATA_CENTER_ID, ...hosts.map(({ dataCenterId }) => dataCenterId)]);
}

/** Countries of the listed data centers. */
export async function listCountryCodes(context: CatalogContext): Promise<string[]> {
  const listed = await listedDataCenterIds(context);
  const countries = DATA_CENTERS.filter(({ id }) => listed.has(id)).map(({ countryCode }) => countryCode);
  return [...new Set(countries)].toSorted();
}

/** What a data center has of every card. */
export async function listAvailability(
  context: CatalogContext,
  dataCenterId: string,
  question: OfferQuestion,
): Promise<{ readonly gpu: ListedGpu; readonly offer: GpuOffer }[]> {
  const gpus = await listGpus(context);
  return gpus.map((gpu) => ({ gpu, offer: gpuOffer(gpu, { ...question, dataCenterId }) }));
}
