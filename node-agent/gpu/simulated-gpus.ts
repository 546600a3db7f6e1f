import type { Gpu } from "../../src/contract/agent/agent.ts";
import { GPU_TIER_NAMES, GPU_TIERS } from "../../src/catalog/gpu-tiers.ts";

export const SIMULATED_GPUS_PER_TIER = 4;

/** GPUs of every tier for a machine that has none, so that endpoints written for real ones run on it. */
export function simulatedGpus(perTier: number): readonly Gpu[] {
  const tiers = GPU_TIER_NAMES.flatMap((tier) => Array.from({ length: perTier }, () => tier));
  return tiers.map((tier, index) => ({
    index,
    name: GPU_TIERS[tier].models[0],
    tier,
    memoryMb: GPU_TIERS[tier].memoryGb * 1024,
    isSimulated: true,
  }));
}
