/** What a deployment has to change: the desired endpoints compared with those of the environment. */
import type { PresentEndpoint } from "../service/endpoint-operations.ts";
import { FINGERPRINT_VARIABLE, type EndpointInput, type Variable } from "./endpoint-input.ts";

export type PlannedEndpoint =
  | { readonly action: "create"; readonly input: EndpointInput }
  | {
      readonly action: "update";
      readonly id: string;
      readonly input: EndpointInput;
      /** Names of what changes, as the API spells them; "code" for other sources. */
      readonly changes: readonly string[];
    }
  | {
      readonly action: "unchanged";
      readonly id: string;
      readonly version: number;
      readonly input: EndpointInput;
    };

export type Plan = {
  readonly endpoints: readonly PlannedEndpoint[];
  /** In the environment, but no longer in the app. */
  readonly removed: readonly PresentEndpoint[];
  /** Same name, other type: they must be deleted and created again. */
  readonly ofOtherType: readonly PresentEndpoint[];
};

/** An endpoint, with the build that its workers shall run; null for a custom image. */
export type DesiredEndpoint = { readonly input: EndpointInput; readonly buildId: string | null };

/** Variables that the platform sets in templates; they stay unless the app has set them before. */
const PLATFORM_VARIABLES = ["PORT", "PORT_HEALTH"];

export type PlanOptions = {
  /** Variables that the app itself set at its last deployment, by endpoint. */
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
        ? { action: "unchanged", id: found.id, version: found.version, input: merged }
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
  const { template, networkVolumeId, networkVolumeIds, flashBootType } = present;
  const before = traitsOf({
    ...present,
    flashBootType: flashBootType ?? "OFF",
    networkVolumeIds: networkVolumeId
      ? [networkVolumeId]
      : networkVolumeIds.map((volume) => volume.networkVolumeId),
    template: template ?? { env: [] },
  });
  const changed = [...traitsOf(desired)]
    .filter(([name, value]) => value !== before.get(name))
    .map(([name]) => name);
  const isOtherBuild = buildId !== null && buildId !== present.activeBuildid;
  return isOtherBuild && !changed.includes("code") ? ["code", ...changed] : changed;
}

type Settings = Readonly<Record<string, unknown>> & {
  readonly template: { readonly env: readonly Variable[] };
};

/** Every setting as a comparable string, where null is an empty one; the fingerprint counts as code, not as a variable. */
function traitsOf(endpoint: Settings): ReadonlyMap<string, string> {
  const { name: _name, type: _type, template, ...settings } = endpoint;
  const { env, ...container } = template;
  const code = env.find(({ key }) => key === FINGERPRINT_VARIABLE)?.value;
  const lines = env
    .filter(({ key }) => key !== FINGERPRINT_VARIABLE)
    .map(({ key, value }) => `${key}=${value}`);
  const traits = { code, ...settings, ...container, env: lines.toSorted() };
  return new Map(Object.entries(traits).map(([trait, value]) => [trait, JSON.stringify(value ?? "")]));
}
