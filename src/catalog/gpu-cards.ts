/** GPU tiers, and the GPU cards of the catalog by the ids that clients use. */

/** Tiers in which endpoints request GPUs, with the models of each. */
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

/** Typed clients do not know these cards: a tier includes them, and is not shown as them. */
export const UNKNOWN_TO_CLIENTS: readonly string[] = ["NVIDIA A10"];

export type GpuTier = keyof typeof GPU_TIERS;

export const GPU_TIER_NAMES = Object.keys(GPU_TIERS) as readonly GpuTier[];

/** The tier of a model as nvidia-smi names it, if any. */
export function tierOfModel(name: string): GpuTier | undefined {
  return GPU_TIER_NAMES.find((tier) => (GPU_TIERS[tier].models as readonly string[]).includes(name));
}

export type GpuCard = {
  /** Its name as nvidia-smi prints it. */
  readonly id: string;
  readonly displayName: string;
  readonly memoryGb: number;
  readonly manufacturer: "Nvidia" | "AMD";
  /** Null where the vendor has no such number. */
  readonly cudaCores: number | null;
  /** Null for a card that endpoints cannot request. */
  readonly tier: GpuTier | null;
};

type Row = readonly [id: string, displayName: string, memoryGb: number, cudaCores: number | null];

const NVIDIA: readonly Row[] = [
  ["NVIDIA A100 80GB PCIe", "A100 PCIe", 80, 6_912],
  ["NVIDIA A100-SXM4-40GB", "A100 SXM 40GB", 40, 6_912],
  ["NVIDIA A100-SXM4-80GB", "A100 SXM", 80, 6_912],
  ["NVIDIA A10", "A10", 24, 9_216],
  ["NVIDIA A30", "A30", 24, 3_584],
  ["NVIDIA A40", "A40", 48, 10_752],
  ["NVIDIA B200", "B200", 180, null],
  ["NVIDIA B300 SXM6 AC", "B300", 288, null],
  ["NVIDIA GeForce RTX 3070", "RTX 3070", 8, 5_888],
  ["NVIDIA GeForce RTX 3080", "RTX 3080", 10, 8_704],
  ["NVIDIA GeForce RTX 3080 Ti", "RTX 3080 Ti", 12, 10_240],
  ["NVIDIA GeForce RTX 3090", "RTX 3090", 24, 10_496],
  ["NVIDIA GeForce RTX 3090 Ti", "RTX 3090 Ti", 24, 10_752],
  ["NVIDIA GeForce RTX 4070 Ti", "RTX 4070 Ti", 12, 7_680],
  ["NVIDIA GeForce RTX 4080", "RTX 4080", 16, 9_728],
  ["NVIDIA GeForce RTX 4080 SUPER", "RTX 4080 SUPER", 16, 10_240],
  ["NVIDIA GeForce RTX 4090", "RTX 4090", 24, 16_384],
  ["NVIDIA GeForce RTX 5080", "RTX 5080", 16, 10_752],
  ["NVIDIA GeForce RTX 5090", "RTX 5090", 32, 21_760],
  ["NVIDIA H100 80GB HBM3", "H100 SXM", 80, 16_896],
  ["NVIDIA H100 NVL", "H100 NVL", 94, 16_896],
  ["NVIDIA H100 PCIe", "H100 PCIe", 80, 14_592],
  ["NVIDIA H200", "H200 SXM", 141, 16_896],
  ["NVIDIA H200 NVL", "H200 NVL", 141, 16_896],
  ["NVIDIA L4", "L4", 24, 7_424],
  ["NVIDIA L40", "L40", 48, 18_176],
  ["NVIDIA L40S", "L40S", 48, 18_176],
  ["NVIDIA RTX 2000 Ada Generation", "RTX 2000 Ada", 16, 2_816],
  ["NVIDIA RTX 4000 Ada Generation", "RTX 4000 Ada", 20, 6_144],
  ["NVIDIA RTX 4000 SFF Ada Generation", "RTX 4000 Ada SFF", 20, 6_144],
  ["NVIDIA RTX 5000 Ada Generation", "RTX 5000 Ada", 32, 12_800],
  ["NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada", 48, 18_176],
  ["NVIDIA RTX A2000", "RTX A2000", 6, 3_328],
  ["NVIDIA RTX A4000", "RTX A4000", 16, 6_144],
  ["NVIDIA RTX A4500", "RTX A4500", 20, 7_168],
  ["NVIDIA RTX A5000", "RTX A5000", 24, 8_192],
  ["NVIDIA RTX A6000", "RTX A6000", 48, 10_752],
  ["NVIDIA RTX PRO 4000 Blackwell", "RTX PRO 4000", 24, 8_960],
  ["NVIDIA RTX PRO 4500 Blackwell", "RTX PRO 4500", 32, 10_496],
  ["NVIDIA RTX PRO 5000 Blackwell", "RTX PRO 5000", 48, 14_080],
  ["NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX PRO 6000", 96, 24_064],
  ["NVIDIA RTX PRO 6000 Blackwell Server Edition MIG 1g.24gb", "PRO 6000 MIG 24GB", 24, null],
  ["NVIDIA RTX PRO 6000 Blackwell Server Edition MIG 2g.48gb", "PRO 6000 MIG 48GB", 48, null],
  ["NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "RTX PRO 6000 WK", 96, 24_064],
  ["NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "RTX PRO 6000 MaxQ", 96, 24_064],
  ["Tesla T4", "T4", 16, 2_560],
  ["Tesla V100-FHHL-16GB", "V100 FHHL", 16, 5_120],
  ["Tesla V100-PCIE-16GB", "Tesla V100", 16, 5_120],
  ["Tesla V100-PCIE-32GB", "V100 PCIe 32GB", 32, 5_120],
  ["Tesla V100-SXM2-16GB", "V100 SXM2", 16, 5_120],
  ["Tesla V100-SXM2-32GB", "V100 SXM2 32GB", 32, 5_120],
];

const AMD: readonly Row[] = [["AMD Instinct MI300X OAM", "MI300X", 192, null]];

export const GPU_CARDS: readonly GpuCard[] = [
  ...AMD.map((row) => toCard(row, "AMD")),
  ...NVIDIA.map((row) => toCard(row, "Nvidia")),
];

const byId = new Map(GPU_CARDS.map((card) => [card.id, card]));

export function findGpuCard(id: string): GpuCard | undefined {
  return byId.get(id);
}

function toCard([id, displayName, memoryGb, cudaCores]: Row, manufacturer: GpuCard["manufacturer"]): GpuCard {
  return { id, displayName, memoryGb, manufacturer, cudaCores, tier: tierOfModel(id) ?? null };
}
