/** CPU instances, their prices and their stock. */
import * as z from "zod";
import {
  CPU_FLAVOR_VCPUS_MIN,
  CPU_FLAVORS,
  readCpuInstance,
  type CpuFlavor,
} from "../../catalog/cpu-flavors.ts";
import { cpuStatus, type Product, type StockStatus } from "../../domain/placement/stock.ts";
import { optionalNonEmpty, stringSchema } from "../input-schemas.ts";
import { presentStock, type CatalogContext } from "./present-stock.ts";
import { cpuPrice } from "../../domain/costs/nominal-prices.ts";

export const cpuFilterSchema = z.object({ id: optionalNonEmpty(stringSchema) });
export const cpuQuestionSchema = z.object({
  dataCenterId: optionalNonEmpty(stringSchema),
  instanceId: optionalNonEmpty(stringSchema),
});
type CpuQuestion = z.output<typeof cpuQuestionSchema> & {
  readonly products?: readonly Product[] | undefined;
};

/** Flavors, or the one of this id. */
export function listCpuFlavors({ id }: z.output<typeof cpuFilterSchema>): readonly CpuFlavor[] {
  return id === undefined ? CPU_FLAVORS : CPU_FLAVORS.filter((flavor) => flavor.id === id);
}

export type CpuOffer = {
  readonly status: StockStatus;
  /** Dollars per hour; null when there is no such size. */
  readonly price: number | null;
};

/** Answers for the requested instance, or for the smallest one of the flavor. */
export async function cpuOffer(
  context: CatalogContext,
  flavor: CpuFlavor,
  { instanceId, ...question }: CpuQuestion,
): Promise<CpuOffer> {
  const size = instanceId === undefined ? smallest(flavor) : sizeOf(flavor, instanceId);
  if (size === undefined) return { status: null, price: null };
  const status = cpuStatus(await presentStock(context), size, question);
  return { status, price: cpuPrice(size.vcpus) };
}

function smallest({ memoryGbPerVcpu }: CpuFlavor) {
  return { vcpus: CPU_FLAVOR_VCPUS_MIN, memoryGb: CPU_FLAVOR_VCPUS_MIN * memoryGbPerVcpu };
}

function sizeOf(flavor: CpuFlavor, instanceId: string) {
  const reading = readCpuInstance(instanceId);
  return reading.kind === "instance" && reading.instance.flavor.id === flavor.id
    ? reading.instance
    : undefined;
}
