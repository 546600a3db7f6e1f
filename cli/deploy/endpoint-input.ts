/** Converts an endpoint of a manifest to the input of the management API. */
import { SCALER_VALUE_DEFAULT } from "../../src/contract/endpoint.ts";
import { EXECUTION_TIMEOUT_DEFAULT_MS } from "../../src/contract/limits.ts";
import type { ManifestResource } from "../../src/contract/flash/flash-manifest.ts";

export type Variable = { readonly key: string; readonly value: string };

export type TemplateInput = {
  readonly imageName: string;
  readonly containerDiskInGb: number;
  readonly dockerArgs: string;
  readonly ports: string;
  readonly startScript: string;
  readonly advancedStart: boolean;
  readonly containerRegistryAuthId: string;
  readonly env: readonly Variable[];
};

/** Every key is set, so that removed settings return to their defaults. */
export type EndpointInput = {
  readonly name: string;
  readonly type: "QB" | "LB";
  /** Empty for an endpoint on CPUs. */
  readonly gpuIds: string;
  readonly gpuCount: number;
  readonly instanceIds: readonly string[];
  readonly workersMin: number;
  readonly workersMax: number;
  /** Seconds. */
  readonly idleTimeout: number;
  readonly scalerType: string;
  readonly scalerValue: number;
  readonly executionTimeoutMs: number;
  readonly locations: string;
  readonly minCudaVersion: string;
  readonly flashBootType: string;
  readonly networkVolumeIds: readonly string[];
  readonly template: TemplateInput;
};

/** Defaults of app code; those of the API differ. */
const WORKERS_MAX = 1;
const IDLE_TIMEOUT_SECONDS = 60;
const CONTAINER_DISK_GB = 64;

/** Changes with the sources, so that a change of code alone makes a new version of the endpoint. */
export const FINGERPRINT_VARIABLE = "_FLASH_SOURCE_FINGERPRINT";

export type InputFacts = {
  /** Fingerprint of the sources; undefined for live endpoints. */
  readonly fingerprint?: string | undefined;
  readonly volumeIds: readonly string[];
};

/** The endpoint that a resource of a manifest describes. */
export function toEndpointInput(
  name: string,
  resource: ManifestResource,
  { fingerprint, volumeIds }: InputFacts,
): EndpointInput {
  const isLoadBalanced = resource.is_load_balanced;
  const instanceIds = resource.instanceIds ?? [];
  const isCpu = instanceIds.length > 0;
  return {
    name,
    type: isLoadBalanced ? "LB" : "QB",
    gpuIds: isCpu ? "" : (resource.gpuIds ?? ""),
    gpuCount: isCpu ? 0 : (resource.gpuCount ?? 1),
    instanceIds,
    workersMin: resource.workersMin ?? 0,
    workersMax: resource.workersMax ?? WORKERS_MAX,
    idleTimeout: resource.idleTimeout ?? IDLE_TIMEOUT_SECONDS,
    scalerType: resource.scalerType ?? (isLoadBalanced ? "REQUEST_COUNT" : "QUEUE_DELAY"),
    scalerValue: resource.scalerValue ?? SCALER_VALUE_DEFAULT,
    executionTimeoutMs: resource.executionTimeoutMs || EXECUTION_TIMEOUT_DEFAULT_MS,
    locations: resource.locations ?? "",
    minCudaVersion: isCpu ? "" : (resource.minCudaVersion ?? ""),
    flashBootType: resource.flashBootType ?? "FLASHBOOT",
    networkVolumeIds: volumeIds,
    template: templateOf(resource, fingerprint),
  };
}

function templateOf(resource: ManifestResource, fingerprint: string | undefined): TemplateInput {
  const { template = {}, env = {} } = resource;
  const variables = new Map([
    ...(template.env ?? []).map(({ key, value }): [string, string] => [key, value]),
    ...Object.entries(env),
  ]);
  // A custom image does not change with the sources.
  if (fingerprint !== undefined && !resource.client_mode) variables.set(FINGERPRINT_VARIABLE, fingerprint);
  return {
    imageName: resource.imageName ?? "",
    containerDiskInGb: template.containerDiskInGb ?? CONTAINER_DISK_GB,
    dockerArgs: template.dockerArgs ?? "",
    ports: withoutBlanks(template.ports ?? ""),
    startScript: template.startScript ?? "",
    advancedStart: template.advancedStart ?? false,
    containerRegistryAuthId: template.containerRegistryAuthId ?? "",
    env: [...variables].map(([key, value]) => ({ key, value })),
  };
}

/** The form in which the service stores a comma-separated list. */
function withoutBlanks(list: string): string {
  const items = list.split(",").map((item) => item.trim());
  return items.filter((item) => item !== "").join(",");
}

/** The input of `saveEndpoint`, without what identifies the endpoint. */
export function toSaveInput({ gpuIds, gpuCount, instanceIds, networkVolumeIds, ...rest }: EndpointInput) {
  return {
    ...rest,
    networkVolumeIds: networkVolumeIds.map((networkVolumeId) => ({ networkVolumeId })),
    ...(instanceIds.length > 0 ? { instanceIds } : { gpuIds, gpuCount }),
  };
}
