/** What of its host a worker may use at most. */
import type { Gpu } from "../../contract/agent/agent.ts";
import type { Size } from "../../domain/placement/host-capacity.ts";

export type WorkerLimits = Pick<Size, "cpuMilli" | "memoryMb">;

/**
 * What Fleet has set apart for a worker is what it may use. Workers with simulated GPUs have no limit: their share
 * of GPUs that are not there says nothing. Neither has a worker that asked for nothing in particular.
 */
export function limitsOf(
  { gpuIndexes, size }: { readonly gpuIndexes: readonly number[]; readonly size: Size | null },
  hostGpus: readonly Gpu[],
): WorkerLimits | undefined {
  if (size === null || size.memoryMb === 0) return undefined;
  if (gpuIndexes.length > 0 && hostGpus.some((gpu) => gpu.isSimulated)) return undefined;
  const { cpuMilli, memoryMb } = size;
  return { cpuMilli, memoryMb };
}
