/** Going back to an earlier version: a change like any other, which makes a new version of the earlier settings. */
import { ServiceError } from "../../contract/errors.ts";
import type { EndpointRecord } from "../../db/endpoints.ts";
import { findFlashBuild } from "../../db/flash/builds.ts";
import { findVersionSettings, type VersionSettings } from "../../db/version-settings.ts";
import { VERSIONS_RETAINED } from "../../db/releases.ts";
import type { TemplateRecord } from "../../db/templates.ts";
import type { RequestContext } from "../context.ts";
import type { EndpointPatch } from "../nouns/endpoint.ts";
import { changeEndpoint, requireEndpoint } from "./endpoints.ts";
import { requireTemplate } from "./templates.ts";

export type RollbackOrder = {
  readonly endpointId: string;
  /** Absent for the last version before the present one. */
  readonly version?: number | undefined;
  /** By default it names the version. */
  readonly reason?: string;
};

/** Other settings, such as limits and timeouts, stay as they are. */
export async function rollbackEndpoint(
  context: RequestContext,
  { endpointId, version, reason }: RollbackOrder,
): Promise<EndpointRecord> {
  const endpoint = await requireEndpoint(context, endpointId, "endpointId");
  const target = version ?? endpoint.version - 1;
  const settings = await requireSettings(context, endpoint, target);
  const { flashBuildId } = settings.endpoint;
  await requireBuild(context, flashBuildId);
  const template = await requireTemplate(context, endpoint.templateId);
  return await changeEndpoint(context, endpointId, toPatch(settings, template), {
    keepsContainer: true,
    flashBuildId,
    reason: reason ?? `rollback to v${target}`,
  });
}

async function requireSettings(
  { db }: RequestContext,
  { id, accountId, version: present }: EndpointRecord,
  version: number,
): Promise<VersionSettings> {
  const settings = await findVersionSettings(db, accountId, id, version);
  if (settings !== undefined) return settings;
  throw new ServiceError(
    "invalid_input",
    `version: the settings of version ${version} of endpoint '${id}', whose version is ${present}, are not stored; ` +
      `those of the last ${VERSIONS_RETAINED} versions are, unless they have more than 64 KB`,
  );
}

async function requireBuild({ db, principal }: RequestContext, buildId: string | null): Promise<void> {
  if (buildId === null || (await findFlashBuild(db, principal.accountId, buildId))) return;
  throw new ServiceError("flash_build_not_found", `version: its build '${buildId}' is no longer stored`);
}

function toPatch({ endpoint, template }: VersionSettings, present: TemplateRecord): EndpointPatch {
  const { flashBuildId: _, instanceIds, gpuIds, gpuCount, gpuMemoryGb, ...others } = endpoint;
  const compute = gpuIds === null ? { instanceIds: [...instanceIds] } : { gpuIds, gpuCount, gpuMemoryGb };
  const { networkVolumeIds, env, ...rest } = others;
  const lists = { env: [...template.env], models: [...template.models] };
  const config = template.config as NonNullable<EndpointPatch["template"]>["config"];
  const container = { ...template, ...lists, config, isServerless: true, volumeInGb: 0 };
  return {
    ...rest,
    ...compute,
    networkVolumeIds: [...networkVolumeIds],
    env: [...env],
    // An endpoint whose template has not changed keeps it, also one that others use.
    ...(!isAsIn(container, present) && { template: container }),
  };
}

function isAsIn(container: object, present: TemplateRecord): boolean {
  return Object.entries(container).every(
    ([name, value]) => JSON.stringify(value) === JSON.stringify(Reflect.get(present, name)),
  );
}
