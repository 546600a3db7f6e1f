/**
 * The setting GPU_PRICES, in dollars per hour, by card or by tier:
 *
 *   {"NVIDIA L4": 0.43, "ADA_80_PRO": 2.5}
 */
import * as z from "zod";
import { findGpuCard, GPU_TIER_NAMES } from "../../catalog/gpu-cards.ts";
import { ServiceError } from "../../contract/errors.ts";
import { formatIssues } from "../../contract/validation-issues.ts";
import type { GpuPrices } from "../../domain/costs/nominal-prices.ts";

const pricesSchema = z.record(
  z.string().refine(isCardOrTier, "is no GPU type and no tier"),
  z.number("must be a number of dollars per hour").min(0, "must not be negative"),
);

/** The settings are read once per text, since the text changes with a deployment only. */
let latest: { readonly setting: string; readonly prices: GpuPrices } = { setting: "", prices: {} };

/** Reads GPU_PRICES; throws NOT_CONFIGURED with what is wrong with it. */
export function readGpuPrices(setting: string | undefined): GpuPrices {
  if (!setting) return {};
  if (latest.setting !== setting) latest = { setting, prices: parse(setting) };
  return latest.prices;
}

function parse(setting: string): GpuPrices {
  let json: unknown;
  try {
    json = JSON.parse(setting);
  } catch {
    throw notConfigured("it is not JSON");
  }
  const parsed = pricesSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  throw notConfigured(formatIssues(parsed.error, "GPU_PRICES"));
}

function notConfigured(reason: string): ServiceError {
  return new ServiceError(
    "not_configured",
    `GPU_PRICES is not a JSON object of prices by GPU type or tier, such as {"NVIDIA L4": 0.43}: ${reason}. ` +
      "The operator of this installation must correct it.",
  );
}

function isCardOrTier(name: string): boolean {
  return findGpuCard(name) !== undefined || (GPU_TIER_NAMES as readonly string[]).includes(name);
}
