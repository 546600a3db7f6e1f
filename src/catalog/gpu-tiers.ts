/** GPU tiers in which endpoints ask for GPUs, with the models that belong to each. */
export const GPU_TIERS = {
  AMPERE_16: {
    memoryGb: 16,
    models: [
      "NVIDIA RTX A4000",
      "NVIDIA RTX A4500",
      "NVIDIA RTX 4000 Ada Generation",
      "NVIDIA RTX 2000 Ada Generation",
    ],
  },
  AMPERE_24: {
    memoryGb: 24,
    models: ["NVIDIA RTX A5000", "NVIDIA L4", "NVIDIA GeForce RTX 3090", "NVIDIA A10", "NVIDIA A30"],
  },
  ADA_24: { memoryGb: 24, models: ["NVIDIA GeForce RTX 4090"] },
  ADA_32_PRO: { memoryGb: 32, models: ["NVIDIA GeForce RTX 5090"] },
  AMPERE_48: { memoryGb: 48, models: ["NVIDIA RTX A6000", "NVIDIA A40"] },
  ADA_48_PRO: { memoryGb: 48, models: ["NVIDIA RTX 6000 Ada Generation", "NVIDIA L40", "NVIDIA L40S"] },
  AMPERE_80: { memoryGb: 80, models: ["NVIDIA A100 80GB PCIe", "NVIDIA A100-SXM4-80GB"] },
  ADA_80_PRO: { memoryGb: 80, models: ["NVIDIA H100 80GB HBM3", "NVIDIA H100 PCIe", "NVIDIA H100 NVL"] },
  HOPPER_141: { memoryGb: 141, models: ["NVIDIA H200", "NVIDIA H200 NVL"] },
  BLACKWELL_96: {
    memoryGb: 96,
    models: [
      "NVIDIA RTX PRO 6000 Blackwell Server Edition",
      "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
      "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition",
    ],
  },
  BLACKWELL_180: { memoryGb: 180, models: ["NVIDIA B200"] },
} as const satisfies Record<string, { memoryGb: number; models: readonly string[] }>;

export type GpuTier = keyof typeof GPU_TIERS;

export const GPU_TIER_NAMES = Object.keys(GPU_TIERS) as readonly GpuTier[];

/** Says which tier a model as named by nvidia-smi belongs to, if any. */
export function tierOfModel(name: string): GpuTier | undefined {
  return GPU_TIER_NAMES.find((tier) => (GPU_TIERS[tier].models as readonly string[]).includes(name));
}
