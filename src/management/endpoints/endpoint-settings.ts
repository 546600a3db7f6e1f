/** Pure decisions about endpoints: what a patch makes of one, when workers must be replaced, when it may go. */
import type { EndpointRecord, EndpointValues } from "../../db/endpoints.ts";
import { requireStorable } from "../input-schemas.ts";
import { findGpuCard } from "../../catalog/gpu-cards.ts";
import { modelsOfGpuIds } from "../../catalog/gpu-selection.ts";
import { ServiceError } from "../../contract/errors.ts";
import { endpointFields, type EndpointPatch } from "../nouns/endpoint.ts";
import { changesOf, defaultsOf, replacesWorkers } from "../nouns/field.ts";

export type EndpointSettings = Omit<EndpointValues, "templateId">;

type Compute = Pick<EndpointSettings, "gpuIds" | "gpuCount" | "gpuMemoryGb" | "instanceIds">;

/** What a patch makes of a new endpoint. */
export function createSettings(patch: EndpointPatch): EndpointSettings {
  const missing = [
    ...(patch.name === undefined ? ["name"] : []),
    ...(patch.gpuIds === undefined && !patch.instanceIds?.length ? ["gpuIds"] : []),
    ...(patch.templateId === undefined && patch.template === undefined ? ["templateId"] : []),
  ];
  if (patch.name === undefined || missing.length > 0) {
    throw new ServiceError(
      "invalid_input",
      `${missing.join(", ")}: required to create an endpoint (a CPU endpoint has instanceIds instead of gpuIds, ` +
        "and an inline template may stand for templateId)",
    );
  }
  const type = patch.type ?? "QB";
  const scalerType = type === "LB" ? "REQUEST_COUNT" : "QUEUE_DELAY";
  const compute = { gpuIds: null, gpuCount: 0, gpuMemoryGb: 0, instanceIds: [] };
  const defaults = { ...defaultsOf(endpointFields), flashBuildId: null };
  return mergeSettings({ ...defaults, name: patch.name, type, scalerType, ...compute }, patch);
}

/** Merges a patch into an endpoint's settings; what the patch omits stays. */
export function mergeSettings(stored: EndpointSettings, patch: EndpointPatch): EndpointSettings {
  if (patch.type !== undefined && patch.type !== stored.type) {
    throw new ServiceError("invalid_input", `type: is fixed at creation; this endpoint is ${stored.type}`);
  }
  const { templateId: _, ...changes } = changesOf(endpointFields, { ...patch, ...volumeChanges(patch) });
  const merged: EndpointSettings = { ...stored, ...changes, ...mergeCompute(stored, patch) };
  if (merged.workersMin > merged.workersMax) {
    throw new ServiceError(
      "invalid_input",
      `workersMin: ${merged.workersMin} must not be above the maximum, which is ${merged.workersMax}`,
    );
  }
  if (merged.type === "LB" && merged.scalerType !== "REQUEST_COUNT") {
    throw new ServiceError("invalid_input", "scalerType: must be REQUEST_COUNT for a load-balanced endpoint");
  }
  requireStorable(merged);
  return merged;
}

/** One volume and a list of volumes replace each other, unless both are sent. */
function volumeChanges({ networkVolumeId, networkVolumeIds }: EndpointPatch) {
  const hasList = Boolean(networkVolumeIds?.length);
  return {
    networkVolumeId: networkVolumeId === undefined && hasList ? null : networkVolumeId,
    networkVolumeIds: networkVolumeIds === undefined && networkVolumeId ? [] : networkVolumeIds,
  };
}

/** Returns whether an endpoint would get other network volumes. */
export function changesVolumes(before: EndpointSettings, after: EndpointSettings): boolean {
  const volumesOf = (settings: EndpointSettings) => [settings.networkVolumeId, settings.networkVolumeIds];
  return JSON.stringify(volumesOf(before)) !== JSON.stringify(volumesOf(after));
}

/** GPUs and CPU instances replace each other. */
function mergeCompute(stored: Compute, patch: EndpointPatch): Compute {
  const instanceIds = patch.instanceIds?.length ? patch.instanceIds : stored.instanceIds;
  if (patch.gpuIds === undefined && instanceIds.length > 0) {
    if (patch.gpuMemoryGb)
      throw new ServiceError("invalid_input", "gpuMemoryGb: needs gpuIds, for CPUs have none");
    return { gpuIds: null, gpuCount: 0, gpuMemoryGb: 0, instanceIds };
  }

  const gpuCount = patch.gpuCount ?? (stored.gpuCount || 1);
  if (gpuCount === 0) throw new ServiceError("invalid_input", "gpuCount: must be at least 1");
  const gpuIds = patch.gpuIds ?? stored.gpuIds;
  const gpuMemoryGb = patch.gpuMemoryGb ?? stored.gpuMemoryGb;
  requireGpuMemory(gpuMemoryGb, gpuIds ?? "", gpuCount);
  return { gpuIds, gpuCount, gpuMemoryGb, instanceIds: [] };
}

/** Workers share one GPU each; one of the GPUs that they may have must be large enough. */
function requireGpuMemory(gpuMemoryGb: number, gpuIds: string, gpuCount: number): void {
  if (gpuMemoryGb === 0) return;
  if (gpuCount > 1)
    throw new ServiceError(
      "invalid_input",
      `gpuMemoryGb: needs gpuCount 1, for a worker shares one GPU only; gpuCount is ${gpuCount}`,
    );
  const memories = modelsOfGpuIds(gpuIds).map((model) => findGpuCard(model)?.memoryGb ?? 0);
  const most = Math.max(0, ...memories);
  if (gpuMemoryGb > most)
    throw new ServiceError(
      "invalid_input",
      `gpuMemoryGb: ${gpuMemoryGb} is more than any GPU of gpuIds has; the largest has ${most}`,
    );
}

/** Returns whether running workers must be replaced. Limits, scaler and timeouts need no new workers. */
export function needsNewVersion(before: EndpointValues, after: EndpointValues): boolean {
  return before.flashBuildId !== after.flashBuildId || replacesWorkers(endpointFields, before, after);
}

/** Endpoints whose life a tool owns are deleted with their workers; all others need both limits at 0. */
export function isDeletable(endpoint: EndpointRecord): boolean {
  const isOwnedByTool = endpoint.flashEnvironmentId !== null || endpoint.name.startsWith("live-");
  return isOwnedByTool || (endpoint.workersMin === 0 && endpoint.workersMax === 0);
}
