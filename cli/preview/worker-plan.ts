/** What the worker of each endpoint is made of, in the layers of a deployed one. */
import type { ServerSettings } from "../../node-agent/journal/journal.ts";
import { readServerSettings, serverVariables } from "../../node-agent/worker/lifecycle/server-settings.ts";
import type { WorkerLimits } from "../../node-agent/runtime/interface/runtime.ts";
import { readCpuInstance } from "../../src/catalog/cpu-flavors.ts";
import { LIVE_TOKEN_VARIABLE, LIVE_VARIABLE } from "../../src/contract/flash/flash-live.ts";
import type { FlashManifest, ManifestResource } from "../../src/contract/flash/flash-manifest.ts";
import { toEndpointInput } from "../deploy/endpoint-input.ts";
import { Failure } from "../core/failure.ts";
import { fillVariables } from "./secret-values.ts";

/** Name of the environment that workers of a preview are in. */
export const PREVIEW_ENVIRONMENT = "preview";

const MEGABYTES_PER_GB = 1_000;

export type WorkerPlan = {
  readonly name: string;
  readonly endpointId: string;
  readonly imageName: string;
  readonly dockerArgs: string;
  /** Without those by which it reaches this process. */
  readonly variables: Readonly<Record<string, string>>;
  /** Of a load-balanced endpoint; null for one with a queue. */
  readonly server: ServerSettings | null;
  /** It gets the files of the app. */
  readonly hasArtifact: boolean;
  /** GPUs that it asks for. */
  readonly gpuCount: number;
  readonly limits: WorkerLimits | undefined;
  /** Name of its network volume. */
  readonly volume: string | undefined;
  readonly executionTimeoutMs: number;
};

export type PlanSources = {
  readonly manifest: FlashManifest;
  /** Of the preview. */
  readonly id: string;
  /** Where workers call others, and with which key; only those get them whose code does. */
  readonly calls: { readonly url: string; readonly key: string };
  readonly secrets: Readonly<Record<string, string | undefined>>;
};

export function endpointIdOf(name: string): string {
  return `preview-${name}`;
}

/** Throws a Failure where a secret is missing, or a port is none. */
export function planWorkers(sources: PlanSources): {
  readonly plans: readonly WorkerPlan[];
  /** To be shown to nobody. */
  readonly secrets: readonly string[];
} {
  const { manifest } = sources;
  const inputs = Object.entries(manifest.resources).map(([name, resource]) => ({
    name,
    resource,
    input: toEndpointInput(name, resource, { fingerprint: manifest.source_fingerprint ?? "", volumeIds: [] }),
  }));
  const declared = new Map(inputs.map(({ name, input }) => [name, input.template.env]));
  const filled = fillVariables(declared, sources.secrets);
  const plans = inputs.map(({ name, resource, input }) => {
    const variables = variablesOf(name, resource, sources, filled.variables.get(name) ?? {});
    const server = resource.is_load_balanced ? serverOf(name, variables) : null;
    return {
      name,
      endpointId: endpointIdOf(name),
      imageName: input.template.imageName,
      dockerArgs: input.template.dockerArgs,
      variables: { ...variables, ...(server && serverVariables(server)) },
      server,
      hasArtifact: resource.client_mode !== true,
      gpuCount: input.gpuCount,
      limits: limitsOf(input.instanceIds),
      volume: volumeOf(resource),
      executionTimeoutMs: input.executionTimeoutMs,
    };
  });
  return { plans, secrets: filled.secrets };
}

/** What the endpoint declares wins over what its environment gives it, but that nothing here is in live mode. */
function variablesOf(
  name: string,
  resource: ManifestResource,
  { manifest, id, calls }: PlanSources,
  { [LIVE_VARIABLE]: _live, [LIVE_TOKEN_VARIABLE]: _token, ...declared }: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return {
    ...(resource.makes_remote_calls && {
      SVC_API_KEY: calls.key,
      RUNPOD_API_KEY: calls.key,
      EDGERUN_URL: calls.url,
    }),
    FLASH_ENVIRONMENT_ID: endpointIdOf(id),
    FLASH_APP: manifest.project_name ?? "",
    FLASH_ENV: PREVIEW_ENVIRONMENT,
    FLASH_RESOURCE_NAME: name,
    FLASH_ENDPOINT_TYPE: resource.is_load_balanced ? "lb" : "qb",
    ...declared,
  };
}

function serverOf(name: string, variables: Readonly<Record<string, string>>): ServerSettings {
  const read = readServerSettings(variables);
  if (read.kind === "settings") return read.settings;
  throw new Failure(`The endpoint ${name} cannot be started. ${read.problem}`);
}

/** Of the first CPU instance that is asked for: the one that a host would be looked for first. */
function limitsOf([first]: readonly string[]): WorkerLimits | undefined {
  const read = first === undefined ? undefined : readCpuInstance(first);
  if (read?.kind !== "instance") return undefined;
  const { vcpus, memoryGb } = read.instance;
  return { cpuMilli: vcpus * 1_000, memoryMb: memoryGb * MEGABYTES_PER_GB };
}

function volumeOf({ networkVolume, networkVolumes, networkVolumeId }: ManifestResource): string | undefined {
  const [first = networkVolume] = networkVolumes ?? [];
  return first?.name ?? first?.id ?? networkVolumeId;
}
