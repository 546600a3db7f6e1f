/** What workers of an endpoint get because it belongs to a flash environment. */
import type { Artifact } from "../../contract/agent/artifact.ts";
import { LIVE_VARIABLE, sourceCallPython } from "../../contract/flash/flash-live.ts";
import { flashManifestSchema, type ManifestResource } from "../../contract/flash/flash-manifest.ts";
import type { Database } from "../../db/database.ts";
import type { EndpointRecord } from "../../db/endpoints.ts";
import type { TemplateRecord } from "../../db/templates.ts";
import { findDeployedBuild, findDeployedEnvironment } from "../../db/flash/deployments.ts";
import type { EnvironmentVariable, Json } from "../../db/schema.ts";

export type FlashSettings = {
  /** Those of the template and the endpoint win over them. */
  readonly variables: readonly EnvironmentVariable[];
  readonly artifact?: Artifact;
  /** The environment whose key the workers get, since their code calls others of it. */
  readonly callsWithin?: string;
  /** It is a session, whose token the workers get. */
  readonly isLive?: true;
  /** Why no worker may be started. */
  readonly problem?: string;
};

const NOTHING: FlashSettings = { variables: [] };

/** Nothing for an endpoint of no environment that is not live, or of an environment that is gone. */
export async function findFlashSettings(
  db: Database,
  endpoint: EndpointRecord,
  template: Pick<TemplateRecord, "imageName" | "dockerArgs">,
): Promise<FlashSettings> {
  const { accountId, flashEnvironmentId, flashBuildId } = endpoint;
  if (flashEnvironmentId === null) return sourceCallSettings(endpoint, template);
  const environment = await findDeployedEnvironment(db, accountId, flashEnvironmentId);
  if (environment === undefined) return NOTHING;
  const variables = [
    { key: "FLASH_ENVIRONMENT_ID", value: environment.environmentId },
    { key: "FLASH_APP", value: environment.appName },
    { key: "FLASH_ENV", value: environment.environmentName },
    { key: "FLASH_RESOURCE_NAME", value: endpoint.name },
    { key: "FLASH_ENDPOINT_TYPE", value: endpoint.type.toLowerCase() },
  ];
  if (environment.isLive) return sessionSettings(variables, environment.environmentId);
  const build = flashBuildId === null ? undefined : await findDeployedBuild(db, accountId, flashBuildId);
  if (build === undefined) return { variables };
  const { sha256, sizeBytes, manifest } = build;
  const resource = resourceOf(manifest, endpoint.name);
  return {
    variables,
    ...(!resource?.client_mode && { artifact: { sha256, sizeBytes } }),
    ...callsOf(resource, environment.environmentId, endpoint.name),
  };
}

/** An image with its own start command does something else. */
function sourceCallSettings(
  { name, type }: EndpointRecord,
  { imageName, dockerArgs }: Pick<TemplateRecord, "imageName" | "dockerArgs">,
): FlashSettings {
  const pythonVersion = dockerArgs.trim() === "" ? sourceCallPython(imageName) : undefined;
  if (pythonVersion === undefined) return NOTHING;
  return {
    variables: [
      { key: LIVE_VARIABLE, value: "source" },
      { key: "FLASH_RESOURCE_NAME", value: name },
      { key: "FLASH_ENDPOINT_TYPE", value: type.toLowerCase() },
      { key: "FLASH_PYTHON_VERSION", value: pythonVersion },
    ],
  };
}

/** A session has no build: its workers are sent the code that they run, and may call whatever that calls. */
function sessionSettings(variables: readonly EnvironmentVariable[], environmentId: string): FlashSettings {
  const live = { key: LIVE_VARIABLE, value: "true" };
  return { variables: [...variables, live], callsWithin: environmentId, isLive: true };
}

function resourceOf(manifest: Json, name: string): ManifestResource | undefined {
  const { data } = flashManifestSchema.safeParse(manifest);
  return data && Object.hasOwn(data.resources, name) ? data.resources[name] : undefined;
}

/** A worker gets a key where the manifest requests one; where our own code runs, the manifest must state it. */
function callsOf(
  resource: ManifestResource | undefined,
  environmentId: string,
  name: string,
): Pick<FlashSettings, "callsWithin" | "problem"> {
  if (resource?.makes_remote_calls) return { callsWithin: environmentId };
  if (!resource || resource.client_mode || resource.makes_remote_calls === false) return {};
  return {
    problem:
      `The build of endpoint '${name}' does not say whether its code calls other endpoints ` +
      `(resources.${name}.makes_remote_calls in flash_manifest.json). Build and deploy it again.`,
  };
}
