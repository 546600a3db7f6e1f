/** What a deployment has to change: the endpoints that are wanted beside those that the environment has. */
import type { PresentEndpoint } from "../service/endpoint-operations.ts";
import { FINGERPRINT_VARIABLE, type EndpointInput } from "./endpoint-input.ts";

export type PlannedEndpoint =
  | { readonly action: "create"; readonly input: EndpointInput }
  | {
      readonly action: "update";
      readonly id: string;
      readonly input: EndpointInput;
      /** Names of what changes, as the API spells them; "code" for other sources. */
      readonly changes: readonly string[];
    }
  | { readonly action: "unchanged"; readonly id: string; readonly input: EndpointInput };

export type Plan = {
  readonly endpoints: readonly PlannedEndpoint[];
  /** In the environment, but no longer in the app. */
  readonly removed: readonly PresentEndpoint[];
  /** Same name, other type: they must be deleted and made anew. */
  readonly ofOtherType: readonly PresentEndpoint[];
};

/** An endpoint, with the build that its workers shall run; null for an image of one's own. */
export type DesiredEndpoint = { readonly input: EndpointInput; readonly buildId: string | null };

/** Variables that the platform sets in templates; they stay unless the app has said otherwise before. */
const PLATFORM_VARIABLES = ["PORT", "PORT_HEALTH"];

export type PlanOptions = {
  /** Variables that the app itself had set at its last deployment, by endpoint. */
  readonly ownVariablesBefore?: Readonly<Record<string, readonly string[]>>;
};

export function planDeployment(
  desired: readonly DesiredEndpoint[],
  present: readonly PresentEndpoint[],
  { ownVariablesBefore = {} }: PlanOptions = {},
): Plan {
  const presentByName = new Map(present.map((endpoint) => [endpoint.name, endpoint]));
  const names = new Set(desired.map(({ input }) => input.name));
  const typeOf = new Map(desired.map(({ input }) => [input.name, input.type]));
  return {
    endpoints: desired.map(({ input, buildId }) => {
      const found = presentByName.get(input.name);
      if (found === undefined || found.type !== input.type) return { action: "create", input: input };
      const merged = withPlatformVariables(input, found, ownVariablesBefore[input.name] ?? []);
      const changes = changesOf(merged, buildId, found);
      return changes.length === 0
        ? { action: "unchanged", id: found.id, input: merged }
        : { action: "update", id: found.id, input: merged, changes };
    }),
    removed: present.filter(({ name }) => !names.has(name)).toSorted(byName),
    ofOtherType: present.filter(({ name, type }) => names.has(name) && typeOf.get(name) !== type),
  };
}

function byName(one: PresentEndpoint, other: PresentEndpoint): number {
  return one.name < other.name ? -1 : 1;
}

function withPlatformVariables(
  input: EndpointInput,
  present: PresentEndpoint,
  ownBefore: readonly string[],
): EndpointInput {
  const { template } = input;
  const platformVariables = (present.template?.env ?? []).filter(
    ({ key }) =>
      PLATFORM_VARIABLES.includes(key) &&
      !ownBefore.includes(key) &&
      !template.env.some((variable) => variable.key === key),
  );
  return platformVariables.length === 0
    ? input
    : { ...input, template: { ...template, env: [...template.env, ...platformVariables] } };
}

/** Names of what differs, as the API spells them; "code" for another build or other sources. */
function changesOf(
  desired: EndpointInput,
  buildId: string | null,
  present: PresentEndpoint,
): readonly string[] {
  const before = traitsOf(asInput(present));
  const after = traitsOf(desired);
  const changed = Object.keys(after).filter((name) => after[name] !== before[name]);
  const isOtherBuild = buildId !== null && buildId !== present.activeBuildid;
  return isOtherBuild && !changed.includes("code") ? ["code", ...changed] : changed;
}

function asInput(present: PresentEndpoint): EndpointInput {
  const { template, networkVolumeId, networkVolumeIds } = present;
  return {
    ...present,
    gpuIds: present.gpuIds ?? "",
    locations: present.locations ?? "",
    minCudaVersion: present.minCudaVersion ?? "",
    flashBootType: present.flashBootType ?? "OFF",
    networkVolumeIds: networkVolumeId
      ? [networkVolumeId]
      : networkVolumeIds.map((one) => one.networkVolumeId),
    template: {
      imageName: template?.imageName ?? "",
      containerDiskInGb: template?.containerDiskInGb ?? 0,
      dockerArgs: template?.dockerArgs ?? "",
      ports: template?.ports ?? "",
      startScript: template?.startScript ?? "",
      advancedStart: template?.advancedStart ?? false,
      containerRegistryAuthId: template?.containerRegistryAuthId ?? "",
      env: template?.env ?? [],
    },
  };
}

/** Everything by its name, each as one comparable text; the fingerprint counts as code, not as a variable. */
function traitsOf({ template, ...input }: EndpointInput): Readonly<Record<string, string>> {
  const { env, ...rest } = template;
  const lines = env
    .filter(({ key }) => key !== FINGERPRINT_VARIABLE)
    .map(({ key, value }) => `${key}=${value}`);
  const traits = {
    code: env.find(({ key }) => key === FINGERPRINT_VARIABLE)?.value,
    gpuIds: input.gpuIds,
    gpuCount: input.gpuCount,
    instanceIds: input.instanceIds,
    workersMin: input.workersMin,
    workersMax: input.workersMax,
    idleTimeout: input.idleTimeout,
    scalerType: input.scalerType,
    scalerValue: input.scalerValue,
    executionTimeoutMs: input.executionTimeoutMs,
    locations: input.locations,
    minCudaVersion: input.minCudaVersion,
    flashBootType: input.flashBootType,
    networkVolumeIds: input.networkVolumeIds,
    imageName: rest.imageName,
    containerDiskInGb: rest.containerDiskInGb,
    dockerArgs: rest.dockerArgs,
    ports: rest.ports,
    startScript: rest.startScript,
    advancedStart: rest.advancedStart,
    containerRegistryAuthId: rest.containerRegistryAuthId,
    env: lines.toSorted(),
  };
  return Object.fromEntries(
    Object.entries(traits).map(([name, value]) => [name, JSON.stringify(value ?? null)]),
  );
}
