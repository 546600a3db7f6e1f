/**
 * The grammar of an endpoint's `gpuIds`: a comma list, in order of preference, of
 *
 *   ADA_24                    a tier
 *   NVIDIA L4                 one GPU model: its tier, without the tier's other models
 *   -NVIDIA A100-SXM4-80GB    leave this model out
 */
import { GPU_CARDS } from "../contract/gpu-catalog.ts";
import { GPU_TIERS, GPU_TIER_NAMES, tierOfModel, type GpuTier } from "../contract/gpu-tiers.ts";

export type GpuSelection = {
  readonly tiers: readonly GpuTier[];
  readonly excludedModels: readonly string[];
};

export type GpuSelectionReading =
  | ({ readonly kind: "selection" } & GpuSelection)
  | { readonly kind: "unknown-gpu"; readonly token: string }
  | { readonly kind: "no-gpu" };

export type UnknownExclusion = { readonly model: string; readonly nearest: string | undefined };

/**
 * The first model that `gpuIds` leaves out although no card has that name, so that nothing would be left out.
 * Stored selections may have such an exclusion; new ones are refused.
 */
export function unknownExclusion(gpuIds: string): UnknownExclusion | undefined {
  const model = tokensOf(gpuIds)
    .filter((token) => token.startsWith("-"))
    .map((token) => token.slice(1).trim())
    .find((excluded) => !GPU_CARDS.some(({ id }) => id === excluded));
  return model === undefined ? undefined : { model, nearest: nearestCard(model) };
}

/** The card that has most of the words; undefined when none has any but the maker's. */
function nearestCard(model: string): string | undefined {
  const words = wordsOf(model);
  const ranked = GPU_CARDS.map(({ id }) => {
    const others = wordsOf(id);
    const shared = words.filter((word) => others.includes(word)).length;
    return { id, shared, strange: others.length - shared };
  }).toSorted((a, b) => b.shared - a.shared || a.strange - b.strange);
  const [best] = ranked;
  return best !== undefined && best.shared > 0 ? best.id : undefined;
}

const MAKER_WORDS = ["nvidia", "amd", "geforce", "rtx"];

function wordsOf(name: string): readonly string[] {
  return name
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "" && !MAKER_WORDS.includes(word));
}

/** Reads `gpuIds`; blanks around the commas and empty entries do not matter. */
export function readGpuIds(gpuIds: string): GpuSelectionReading {
  const tokens = tokensOf(gpuIds);
  const wanted = tokens.filter((token) => !token.startsWith("-"));
  const excluded = tokens.filter((token) => token.startsWith("-")).map((token) => token.slice(1).trim());

  const unknown = wanted.find((token) => tierOfToken(token) === undefined);
  if (unknown !== undefined) return { kind: "unknown-gpu", token: unknown };
  const notAModel = excluded.find((model) => model === "" || isTier(model));
  if (notAModel !== undefined) return { kind: "unknown-gpu", token: `-${notAModel}` };
  if (wanted.length === 0) return { kind: "no-gpu" };

  const tiers = [...new Set(wanted.flatMap((token) => tierOfToken(token) ?? []))];
  return {
    kind: "selection",
    tiers,
    excludedModels: [...new Set([...excluded, ...unwantedModels(tiers, wanted)])],
  };
}

function tokensOf(gpuIds: string): readonly string[] {
  return gpuIds
    .split(",")
    .map((token) => token.trim())
    .filter((token) => token !== "");
}

/** Models of tiers that are wanted for some of their models only. */
function unwantedModels(tiers: readonly GpuTier[], wanted: readonly string[]): readonly string[] {
  return tiers
    .filter((tier) => !wanted.includes(tier))
    .flatMap((tier) => GPU_TIERS[tier].models.filter((model) => !wanted.includes(model)));
}

function tierOfToken(token: string): GpuTier | undefined {
  return isTier(token) ? token : tierOfModel(token);
}

function isTier(name: string): name is GpuTier {
  return (GPU_TIER_NAMES as readonly string[]).includes(name);
}

/** The GPU models that `gpuIds` stands for, in order of preference. */
export function modelsOfGpuIds(gpuIds: string): readonly string[] {
  const reading = readGpuIds(gpuIds);
  if (reading.kind !== "selection") return [];
  const wanted = gpuIds.split(",").map((token) => token.trim());
  const models = wanted.flatMap((token) => (isTier(token) ? GPU_TIERS[token].models : [token]));
  return [...new Set(models)].filter(
    (model) => tierOfModel(model) !== undefined && !reading.excludedModels.includes(model),
  );
}
