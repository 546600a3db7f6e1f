/**
 * The grammar of an endpoint's `gpuIds`: a comma list, in order of preference, of
 *
 *   ADA_24                    a tier
 *   NVIDIA L4                 one GPU model: its tier, without the tier's other models
 *   -NVIDIA A100-SXM4-80GB    leave this model out
 */
import {
  GPU_CARDS,
  GPU_TIERS,
  GPU_TIER_NAMES,
  tierOfModel,
  UNKNOWN_TO_CLIENTS,
  type GpuTier,
} from "./gpu-cards.ts";

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
  const terms = termsOf(model);
  const ranked = GPU_CARDS.map(({ id }) => {
    const others = termsOf(id);
    const shared = terms.filter((word) => others.includes(word)).length;
    return { id, shared, strange: others.length - shared };
  }).toSorted((a, b) => b.shared - a.shared || a.strange - b.strange);
  const [best] = ranked;
  return best !== undefined && best.shared > 0 ? best.id : undefined;
}

const MAKER_TERMS = ["nvidia", "amd", "geforce", "rtx"];

function termsOf(name: string): readonly string[] {
  return name
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "" && !MAKER_TERMS.includes(word));
}

/** Reads `gpuIds`; blanks around the commas and empty entries do not matter. */
export function readGpuIds(gpuIds: string): GpuSelectionReading {
  const tokens = tokensOf(gpuIds);
  const included = tokens.filter((token) => !token.startsWith("-"));
  const excluded = tokens.filter((token) => token.startsWith("-")).map((token) => token.slice(1).trim());

  const unknown = included.find((token) => tierOfToken(token) === undefined);
  if (unknown !== undefined) return { kind: "unknown-gpu", token: unknown };
  const notAModel = excluded.find((model) => model === "" || isTier(model));
  if (notAModel !== undefined) return { kind: "unknown-gpu", token: `-${notAModel}` };
  if (included.length === 0) return { kind: "no-gpu" };

  const tiers = [...new Set(included.flatMap((token) => tierOfToken(token) ?? []))];
  return {
    kind: "selection",
    tiers,
    excludedModels: [...new Set([...excluded, ...unselectedModels(tiers, included)])],
  };
}

function tokensOf(gpuIds: string): readonly string[] {
  return gpuIds
    .split(",")
    .map((token) => token.trim())
    .filter((token) => token !== "");
}

/** Models of tiers that are wanted for some of their models only. */
function unselectedModels(tiers: readonly GpuTier[], included: readonly string[]): readonly string[] {
  return tiers
    .filter((tier) => !included.includes(tier))
    .flatMap((tier) => GPU_TIERS[tier].models.filter((model) => !included.includes(model)));
}

function tierOfToken(token: string): GpuTier | undefined {
  return isTier(token) ? token : tierOfModel(token);
}

function isTier(name: string): name is GpuTier {
  return (GPU_TIER_NAMES as readonly string[]).includes(name);
}

/** The GPU models that `gpuIds` stands for, in order of preference; of a tier those that clients know. */
export function modelsOfGpuIds(gpuIds: string): readonly string[] {
  const reading = readGpuIds(gpuIds);
  if (reading.kind !== "selection") return [];
  const included = gpuIds.split(",").map((token) => token.trim());
  const models = included.flatMap((token) => (isTier(token) ? knownModels(token) : [token]));
  return [...new Set(models)].filter(
    (model) => tierOfModel(model) !== undefined && !reading.excludedModels.includes(model),
  );
}

function knownModels(tier: GpuTier): readonly string[] {
  return GPU_TIERS[tier].models.filter((model) => !UNKNOWN_TO_CLIENTS.includes(model));
}
