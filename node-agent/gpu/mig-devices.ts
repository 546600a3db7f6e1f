/**
 * Parts of GPUs that their owner has divided (MIG). Each is a GPU of the inventory in place of the card, with the tier of
 * the card and an index that no card has.
 */
import type { Gpu } from "../../src/contract/agent/agent.ts";
import { tierOfModel } from "../../src/catalog/gpu-cards.ts";

/** Cards of one machine have lower indexes, and a card has fewer parts. */
const INDEXES_PER_CARD = 1_000;
/** Of the GB that the name of a part has, this much is there at least, in MiB. */
const MIB_PER_NAMED_GB = 972.8;

const CARD = /^GPU (\d+): /;
const PART = /^\s+MIG (\S+)\s+Device\s+(\d+): \(UUID: (MIG-[^)\s]+)\)/;
/** In the name of a part, such as 1g.10gb. */
const NAMED_GB = /\.(\d{1,4})gb/;

/** The GPUs with the parts that `nvidia-smi -L` lists in place of divided cards. */
export function withMigDevices(gpus: readonly Gpu[], listing: string): readonly Gpu[] {
  const parts = Map.groupBy(parseParts(listing), ({ card }) => card);
  return gpus.flatMap((gpu) => {
    const own = parts.get(gpu.index);
    if (!own) return [gpu];
    const tier = tierOfModel(gpu.name) ?? null;
    return own.map(({ profile, memoryMb, device, migUuid }) => ({
      index: INDEXES_PER_CARD * (gpu.index + 1) + device,
      name: `${gpu.name} MIG ${profile}`,
      ...{ tier, memoryMb, isSimulated: false, migUuid },
    }));
  });
}

type Part = {
  /** Index of its card. */
  readonly card: number;
  readonly profile: string;
  readonly memoryMb: number;
  readonly device: number;
  readonly migUuid: string;
};

function parseParts(listing: string): readonly Part[] {
  let card = -1;
  return listing.split("\n").flatMap((line) => {
    card = Number(CARD.exec(line)?.[1] ?? card);
    const [, profile = "", device = "", migUuid] = PART.exec(line) ?? [];
    if (migUuid === undefined) return [];
    const memoryMb = Math.floor(Number(NAMED_GB.exec(profile)?.[1] ?? 0) * MIB_PER_NAMED_GB);
    return { card, profile, memoryMb, device: Number(device), migUuid };
  });
}
