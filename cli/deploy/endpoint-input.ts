/** Converts an endpoint of a manifest to the input of the management API. */
import {
  containerSettings,
  endpointSettings,
  settingsOf,
  type ContainerSettings,
  type EndpointSettings,
} from "../../src/contract/flash/app-settings.ts";
import type { ManifestResource } from "../../src/contract/flash/flash-manifest.ts";

export type Variable = { readonly key: string; readonly value: string };

export type TemplateInput = ContainerSettings & {
  readonly imageName: string;
  readonly env: readonly Variable[];
};

/** Every key is set, so that removed settings return to their defaults. */
export type EndpointInput = EndpointSettings & {
  readonly name: string;
  readonly type: "QB" | "LB";
  readonly networkVolumeIds: readonly string[];
  readonly template: TemplateInput;
};

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
  const { is_load_balanced: isLoadBalanced, executionTimeoutMs } = resource;
  const isCpu = (resource.instanceIds ?? []).length > 0;
  return {
    name,
    type: isLoadBalanced ? "LB" : "QB",
    ...settingsOf(endpointSettings, {
      ...resource,
      scalerType: resource.scalerType ?? (isLoadBalanced ? "REQUEST_COUNT" : undefined),
      executionTimeoutMs: executionTimeoutMs === 0 ? undefined : executionTimeoutMs,
      ...(isCpu && { gpuIds: "", gpuCount: 0, minCudaVersion: "" }),
    }),
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
    ...settingsOf(containerSettings, {
      ...template,
      ports: withoutBlanks(template.ports ?? ""),
      models: [...new Set(template.models)].toSorted(), // as the service stores them
    }),
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
