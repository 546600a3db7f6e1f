/**
 * GPU memory that workers declare, and what of the cards of a host is taken.
 *
 * M1  A worker that declares none has its cards to itself.
 * M2  Those that declare some share a card as long as together they declare no more than it has.
 * M3  A device that is a part of a card (MIG) goes only to workers that declare what they need.
 */
import { GPU_TIERS, type GpuTier } from "../../catalog/gpu-cards.ts";
import type { Gpu } from "../../contract/agent/agent.ts";

const BYTES_PER_GB = 1e9;
const BYTES_PER_MIB = 2 ** 20;
const MIB_PER_GIB = 1_024;

/** Of each card, as nvidia-smi counts: in MiB. A nominal GB is less, so parts that make up a card fit on it. */
export function gpuMemoryMbOf({
  gpuMemoryGb = 0,
}: {
  readonly gpuMemoryGb?: number | undefined;
}): number | undefined {
  return gpuMemoryGb > 0 ? Math.floor((gpuMemoryGb * BYTES_PER_GB) / BYTES_PER_MIB) : undefined;
}

/** What a worker takes of its cards, in cards: 0 for one without any. */
export function cardsTaken(
  { gpuIndexes, size }: { readonly gpuIndexes: readonly number[]; readonly size: GpuSize | null },
  gpus: readonly Gpu[],
): number {
  const own = gpus.filter(({ index }) => gpuIndexes.includes(index));
  return own.reduce((sum, gpu) => sum + cardsOf(gpu) * partOf(size?.gpuMemoryMb, gpu.memoryMb), 0);
}

/** Of a whole card 1; of a part of one as much as its memory is of a card of the tier. */
export function cardsOf({ tier, memoryMb, migUuid }: Gpu): number {
  if (migUuid === undefined || tier === null || !Object.hasOwn(GPU_TIERS, tier)) return 1;
  return Math.min(1, memoryMb / (GPU_TIERS[tier as GpuTier].memoryGb * MIB_PER_GIB));
}

/** What part of a GPU so much of its memory is; all of it where the GPU does not say how much it has. */
export function partOf(declaredMb: number | undefined, memoryMb: number): number {
  return declaredMb === undefined || memoryMb <= 0 ? 1 : Math.min(1, declaredMb / memoryMb);
}

/** MiB that a worker has declared of each of its cards; absent: it has them to itself. */
type GpuSize = { readonly gpuMemoryMb?: number | undefined };

/** What is taken of the cards of a host. */
export class GpuUse {
  /** MiB by index; all of one that a worker has to itself. */
  readonly #takenMb: Map<number, number>;

  constructor(from?: GpuUse) {
    this.#takenMb = new Map(from ? from.#takenMb : []);
  }

  get isEmpty(): boolean {
    return this.#takenMb.size === 0;
  }

  take(gpuIndexes: readonly number[], { gpuMemoryMb = Infinity }: GpuSize): void {
    for (const index of gpuIndexes) this.#takenMb.set(index, this.takenMbOf(index) + gpuMemoryMb);
  }

  takenMbOf(index: number): number {
    return this.#takenMb.get(index) ?? 0;
  }

  /** Whether nobody has any of it. */
  isFree({ index }: Pick<Gpu, "index">): boolean {
    return !this.#takenMb.has(index);
  }

  /** M1, M2 */
  fitsOn({ index, memoryMb }: Pick<Gpu, "index" | "memoryMb">, { gpuMemoryMb }: GpuSize): boolean {
    if (gpuMemoryMb === undefined) return this.isFree({ index });
    return this.takenMbOf(index) + gpuMemoryMb <= memoryMb;
  }
}
