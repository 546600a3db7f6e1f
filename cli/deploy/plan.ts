/** What a deployment has to change: the endpoints that are wanted beside those that the environment has. */
import type { PresentEndpoint } from "../service/endpoint-operations.ts";
import { FINGERPRINT_VARIABLE, type EndpointInput, type Variable } from "./endpoint-input.ts";

export type PlannedEndpoint =
  | { readonly action: "create"; readonly wanted: EndpointInput }
  | {
      readonly action: "update";
      readonly id: string;
      readonly wanted: EndpointInput;
      /** Names of what changes, as the API spells them; "code" for other sources. */
      readonly changes: readonly string[];
    }
  | { readonly action: "unchanged"; readonly id: string; readonly wanted: EndpointInput };

export type Plan = {
  readonly endpoints: readonly PlannedEndpoint[];
  /** In the environment, but no longer in the app. */
  readonly removed: readonly PresentEndpoint[];
  /** Same name, other type: they must be deleted and made anew. */
  readonly ofOtherType: readonly PresentEndpoint[];
};

/** An endpoint, with the build that its workers shall run; null for an image of one's own. */
export type WantedEndpoint = { readonly input: EndpointInput; readonly buildId: string | null };

/** Variables that the platform sets in templates; they stay unless the app has said otherwise before. */
const PLATFORM_VARIABLES = ["PORT", "PORT_HEALTH"];

export type PlanOptions = {
  /** Variables that the app itself had set at its last deployment, by endpoint. */
  readonly ownVariablesBefore?: Readonly<Record<string, readonly string[]>>;
};

export function planDeployment(
  wanted: readonly WantedEndpoint[],
  present: readonly PresentEndpoint[],
  { ownVariablesBefore = {} }: PlanOptions = {},
): Plan {
  const presentByName = new Map(present.map((endpoint) => [endpoint.name, endpoint]));
  const names = new Set(wanted.map(({ input }) => input.name));
  const typeOf = new Map(wanted.map(({ input }) => [input.name, input.type]));
  return {
    endpoints: wanted.map(({ input, buildId }) => {
      const found = presentByName.get(input.name);
      if (found === undefined || found.type !== input.type) return { action: "create", wanted: input };
      const kept = withPlatformVariables(input, found, ownVariablesBefore[input.name] ?? []);
      const changes = changesOf(kept, buildId, found);
      return changes.length === 0
        ? { action: "unchanged", id: found.id, wanted: kept }
        : { action: "update", id: found.id, wanted: kept, changes };
    }),
    removed: present.filter(({ name }) => !names.has(name)),
    ofOtherType: present.filter(({ name, type }) => names.has(name) && typeOf.get(name) !== type),
  };
}

function withPlatformVariables(
  input: EndpointInput,
  present: PresentEndpoint,
  ownBefore: readonly string[],
): EndpointInput {
  const { template } = input;
  const kept = (present.template?.env ?? []).filter(
    ({ key }) =>
      PLATFORM_VARIABLES.includes(key) &&
      !ownBefore.includes(key) &&
      !template.env.some((variable) => variable.key === key),
  );
  return kept.length === 0 ? input : { ...input, template: { ...template, env: [...template.env, ...kept] } };
}

function changesOf(
  wanted: EndpointInput,
  buildId: string | null,
  present: PresentEndpoint,
): readonly string[] {
  const { template } = present;
  const volumes = present.networkVolumeId
    ? [present.networkVolumeId]
    : present.networkVolumeIds.map(({ networkVolumeId }) => networkVolumeId);
  const isSame: Readonly<Record<string, boolean>> = {
    code: (buildId === null || present.activeBuildid === buildId) && sameFingerprint(wanted, present),
    gpuIds: wanted.gpuIds === (present.gpuIds ?? ""),
    gpuCount: wanted.gpuCount === present.gpuCount,
    instanceIds: isSameList(wanted.instanceIds, present.instanceIds),
    workersMin: wanted.workersMin === present.workersMin,
    workersMax: wanted.workersMax === present.workersMax,
    idleTimeout: wanted.idleTimeout === present.idleTimeout,
    scalerType: wanted.scalerType === present.scalerType,
    scalerValue: wanted.scalerValue === present.scalerValue,
    executionTimeoutMs: wanted.executionTimeoutMs === present.executionTimeoutMs,
    locations: wanted.locations === (present.locations ?? ""),
    minCudaVersion: wanted.minCudaVersion === (present.minCudaVersion ?? ""),
    flashBootType: wanted.flashBootType === (present.flashBootType ?? "OFF"),
    networkVolumeIds: isSameList(wanted.networkVolumeIds, volumes),
    imageName: wanted.template.imageName === template?.imageName,
    containerDiskInGb: wanted.template.containerDiskInGb === template?.containerDiskInGb,
    dockerArgs: wanted.template.dockerArgs === template?.dockerArgs,
    startScript: wanted.template.startScript === template?.startScript,
    advancedStart: wanted.template.advancedStart === template?.advancedStart,
    containerRegistryAuthId:
      wanted.template.containerRegistryAuthId === (template?.containerRegistryAuthId ?? ""),
    env: isSameEnvironment(wanted.template.env, template?.env ?? []),
  };
  return Object.keys(isSame).filter((name) => !isSame[name]);
}

function fingerprintOf(variables: readonly Variable[]): string | undefined {
  return variables.find(({ key }) => key === FINGERPRINT_VARIABLE)?.value;
}

function sameFingerprint(wanted: EndpointInput, present: PresentEndpoint): boolean {
  return fingerprintOf(wanted.template.env) === fingerprintOf(present.template?.env ?? []);
}

/** The fingerprint counts as code. */
function isSameEnvironment(wanted: readonly Variable[], present: readonly Variable[]): boolean {
  const lines = (variables: readonly Variable[]) =>
    variables
      .filter(({ key }) => key !== FINGERPRINT_VARIABLE)
      .map(({ key, value }) => `${key}=${value}`)
      .toSorted();
  return isSameList(lines(wanted), lines(present));
}

function isSameList(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((element, index) => element === other[index]);
}
