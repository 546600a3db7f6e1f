/** Pure decisions about endpoints: what a patch makes of one, when workers must be replaced, when it may go. */
import { EXECUTION_TIMEOUT_DEFAULT_MS, QUEUE_DEPTH_MAX } from "../../contract/limits.ts";
import type { EndpointRecord, EndpointValues } from "../../db/endpoints.ts";
import { requireStorable } from "../input-schemas.ts";
import { OperationError } from "../errors.ts";
import { inOrderOfKeys, withoutUndefined } from "./template-values.ts";
import type { EndpointPatch } from "./endpoint-patch.ts";
import {
  IDLE_TIMEOUT_DEFAULT_SECONDS,
  SCALER_VALUE_DEFAULT,
  WORKERS_MAX_DEFAULT,
} from "../../contract/endpoint.ts";

export type EndpointSettings = Omit<EndpointValues, "templateId">;

type Compute = Pick<EndpointSettings, "gpuIds" | "gpuCount" | "instanceIds">;

const DEFAULTS = {
  idleTimeoutSeconds: IDLE_TIMEOUT_DEFAULT_SECONDS,
  locations: null,
  networkVolumeId: null,
  networkVolumeIds: [],
  flashEnvironmentId: null,
  flashBuildId: null,
  scalerValue: SCALER_VALUE_DEFAULT,
  workersMin: 0,
  workersMax: WORKERS_MAX_DEFAULT,
  workersPfbTarget: 0,
  env: [],
  allowedCudaVersions: null,
  minCudaVersion: null,
  executionTimeoutMs: EXECUTION_TIMEOUT_DEFAULT_MS,
  queueDepthMax: QUEUE_DEPTH_MAX,
  flashBootType: null,
  compliance: [],
} satisfies Partial<EndpointSettings>;

/** What a patch makes of a new endpoint. */
export function createSettings(patch: EndpointPatch): EndpointSettings {
  const missing = [
    ...(patch.name === undefined ? ["name"] : []),
    ...(patch.gpuIds === undefined && !patch.instanceIds?.length ? ["gpuIds"] : []),
    ...(patch.templateId === undefined && patch.template === undefined ? ["templateId"] : []),
  ];
  if (patch.name === undefined || missing.length > 0) {
    throw new OperationError(
      "INVALID_INPUT",
      `${missing.join(", ")}: required to create an endpoint (a CPU endpoint has instanceIds instead of gpuIds, ` +
        "and an inline template may stand for templateId)",
    );
  }
  const type = patch.type ?? "QB";
  const scalerType = type === "LB" ? "REQUEST_COUNT" : "QUEUE_DELAY";
  return mergeSettings(
    { ...DEFAULTS, name: patch.name, type, scalerType, gpuIds: null, gpuCount: 0, instanceIds: [] },
    patch,
  );
}

/** Merges a patch into an endpoint's settings; what the patch omits stays. */
export function mergeSettings(stored: EndpointSettings, patch: EndpointPatch): EndpointSettings {
  if (patch.type !== undefined && patch.type !== stored.type) {
    throw new OperationError("INVALID_INPUT", `type: is fixed at creation; this endpoint is ${stored.type}`);
  }
  const merged: EndpointSettings = { ...stored, ...changesOf(patch), ...mergeCompute(stored, patch) };
  if (merged.workersMin > merged.workersMax) {
    throw new OperationError(
      "INVALID_INPUT",
      `workersMin: ${merged.workersMin} must not be above workersMax, which is ${merged.workersMax}`,
    );
  }
  if (merged.type === "LB" && merged.scalerType !== "REQUEST_COUNT") {
    throw new OperationError(
      "INVALID_INPUT",
      "scalerType: must be REQUEST_COUNT for a load-balanced endpoint",
    );
  }
  requireStorable(merged);
  return merged;
}

function changesOf(patch: EndpointPatch): Partial<EndpointSettings> {
  return withoutUndefined({
    name: patch.name,
    idleTimeoutSeconds: patch.idleTimeout,
    locations: patch.locations,
    ...volumeChanges(patch),
    flashEnvironmentId: patch.flashEnvironmentId,
    scalerType: patch.scalerType,
    scalerValue: patch.scalerValue,
    workersMin: patch.workersMin,
    workersMax: patch.workersMax,
    workersPfbTarget: patch.workersPFBTarget,
    env: patch.env,
    allowedCudaVersions: patch.allowedCudaVersions,
    minCudaVersion: patch.minCudaVersion,
    executionTimeoutMs: patch.executionTimeoutMs,
    queueDepthMax: patch.queueDepthMax,
    flashBootType: patch.flashBootType,
    compliance: patch.compliance,
  });
}

/** One volume and a list of volumes replace each other, unless both are sent. */
function volumeChanges({ networkVolumeId, networkVolumeIds }: EndpointPatch) {
  const hasList = Boolean(networkVolumeIds?.length);
  return {
    networkVolumeId: networkVolumeId === undefined && hasList ? null : networkVolumeId,
    networkVolumeIds:
      networkVolumeIds === null || (networkVolumeIds === undefined && networkVolumeId)
        ? []
        : networkVolumeIds,
  };
}

/** Says whether an endpoint would get other network volumes. */
export function changesVolumes(before: EndpointSettings, after: EndpointSettings): boolean {
  const volumesOf = (settings: EndpointSettings) => [settings.networkVolumeId, settings.networkVolumeIds];
  return JSON.stringify(volumesOf(before)) !== JSON.stringify(volumesOf(after));
}

/** GPUs and CPU instances replace each other. */
function mergeCompute(stored: Compute, patch: EndpointPatch): Compute {
  const instanceIds = patch.instanceIds?.length ? patch.instanceIds : stored.instanceIds;
  if (patch.gpuIds === undefined && instanceIds.length > 0) return { gpuIds: null, gpuCount: 0, instanceIds };

  const gpuCount = patch.gpuCount ?? (stored.gpuCount || 1);
  if (gpuCount === 0) throw new OperationError("INVALID_INPUT", "gpuCount: must be at least 1");
  return { gpuIds: patch.gpuIds ?? stored.gpuIds, gpuCount, instanceIds: [] };
}

/** Says whether running workers must be replaced. Limits, scaler and timeouts need no new workers. */
export function needsNewVersion(before: EndpointValues, after: EndpointValues): boolean {
  return JSON.stringify(workerTraits(before)) !== JSON.stringify(workerTraits(after));
}

function workerTraits(values: EndpointValues): unknown {
  return [
    values.templateId,
    inOrderOfKeys(values.env),
    values.gpuIds,
    values.gpuCount,
    values.instanceIds,
    values.allowedCudaVersions,
    values.minCudaVersion,
    values.locations,
    values.networkVolumeId,
    values.networkVolumeIds,
    values.flashBootType,
    values.flashEnvironmentId,
    values.flashBuildId,
  ];
}

/** Endpoints whose life a tool owns are deleted with their workers; all others need both limits at 0. */
export function isDeletable(endpoint: EndpointRecord): boolean {
  const isOwnedByTool = endpoint.flashEnvironmentId !== null || endpoint.name.startsWith("live-");
  return isOwnedByTool || (endpoint.workersMin === 0 && endpoint.workersMax === 0);
}
