/** What a worker of an endpoint is made of, with references in the place of secrets. */
import type { Assignment } from "../../contract/agent/agent.ts";
import { LIVE_TOKEN_VARIABLE, LIVE_VARIABLE } from "../../contract/flash/flash-live.ts";
import { openDatabase } from "../../db/database.ts";
import { findEndpointWithTemplate, volumesOf } from "../../db/endpoints.ts";
import { findVersionSettings } from "../../db/version-settings.ts";
import type { EnvironmentVariable } from "../../db/schema.ts";
import { START_LIMIT_VARIABLE, startLimitMs } from "../../domain/scaling/start-limit.ts";
import type { Env } from "../../env.ts";
import { findFlashSettings } from "./flash-settings.ts";
import { modelNeeds, type ModelNeeds } from "./model-needs.ts";

/** A variable before its references are filled. */
export type RawVariable = {
  readonly key: string;
  readonly value: string;
  /** For messages: "template 'x'". */
  readonly owner: string;
};

export type Blueprint = {
  readonly fixed: Pick<
    Assignment,
    | "endpointId"
    | "type"
    | "imageName"
    | "dockerArgs"
    | "containerDiskInGb"
    | "startLimitMs"
    | "networkVolumeIds"
    | "artifact"
    | "pod"
  >;
  readonly variables: readonly RawVariable[];
  readonly registryAuthId: string | null;
  /** Names the credential; for messages: "template 'x'". */
  readonly registryAuthOwner: string;
  /** Models that its host must have. */
  readonly models?: ModelNeeds;
  /** There is a newer release; where the settings of the requested one are not stored, the blueprint is of that. */
  readonly isSuperseded?: true;
  /** The pod that the worker is, whose key it gets. */
  readonly podId?: string;
  /** The flash environment whose key the worker gets. */
  readonly callsWithin?: string;
  /** That environment is a session, whose token the worker gets as well. */
  readonly isLive?: true;
  /** Why no worker may be started, whatever its secrets are. */
  readonly problem?: string;
};

/** That of a version whose settings are stored, or else of the present one; undefined when the endpoint is gone. */
export async function loadBlueprint(env: Env, accountId: string, endpointId: string, wanted?: number) {
  const database = openDatabase(env.DB);
  const found = await findEndpointWithTemplate(database, accountId, endpointId);
  if (!found) return undefined;
  const { version } = found.endpoint;
  const settings =
    wanted !== undefined && wanted < version
      ? await findVersionSettings(database, accountId, endpointId, wanted)
      : undefined;
  // Both of one release: a save between two reads would mix two.
  const endpoint = { ...found.endpoint, ...settings?.endpoint };
  const template = { ...found.template, ...settings?.template };
  const flash = await findFlashSettings(database, endpoint, template);
  const variables = lastOfEachKey([
    ...owned(flash.variables, "its flash environment"),
    ...owned(withoutLive(template.env), `template '${template.name}'`),
    ...owned(withoutLive(endpoint.env), `endpoint '${endpoint.name}'`),
  ]);
  const volumeIds = volumesOf(endpoint);
  const { artifact, callsWithin, isLive, problem } = flash;
  const blueprint: Blueprint = {
    fixed: {
      endpointId,
      type: endpoint.type,
      imageName: template.imageName,
      dockerArgs: template.dockerArgs,
      containerDiskInGb: template.containerDiskInGb,
      ...(volumeIds.length > 0 && { networkVolumeIds: [...volumeIds] }),
      ...(artifact && { artifact }),
      startLimitMs: startLimitMs(variables.find(({ key }) => key === START_LIMIT_VARIABLE)?.value),
    },
    variables,
    registryAuthId: template.containerRegistryAuthId,
    registryAuthOwner: `template '${template.name}'`,
    ...(callsWithin !== undefined && { callsWithin }),
    ...(isLive && { isLive }),
    ...modelNeeds(env, template),
    ...(problem !== undefined && { problem }),
  };
  return { version, blueprint };
}

/** Only the edge decides which workers run code that is sent to them. */
function withoutLive(variables: readonly EnvironmentVariable[]): readonly EnvironmentVariable[] {
  return variables.filter(({ key }) => key !== LIVE_VARIABLE && key !== LIVE_TOKEN_VARIABLE);
}

function owned(variables: readonly EnvironmentVariable[], owner: string): readonly RawVariable[] {
  return variables.map((variable) => ({ ...variable, owner }));
}

function lastOfEachKey(variables: readonly RawVariable[]): readonly RawVariable[] {
  return [...new Map(variables.map((variable) => [variable.key, variable])).values()];
}
