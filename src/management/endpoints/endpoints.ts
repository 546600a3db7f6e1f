/** Saving and deleting endpoints. */
import {
  deleteEndpointIfUnchanged,
  findOwnEndpoint,
  insertEndpointIfAllowed,
  isEndpointRemovalOpen,
  listEndpoints,
  listEndpointsOfTemplate,
  updateEndpointIfUnchanged,
  type EndpointNeeds,
  type EndpointRecord,
  type EndpointValues,
} from "../../db/endpoints.ts";
import {
  deleteTemplateIfUnused,
  findTemplate,
  type TemplateChange,
  type TemplateRecord,
} from "../../db/templates.ts";
import { listReleases, type ReleaseRecord } from "../../db/releases.ts";
import { randomRowId } from "../../db/row-id.ts";
import { requireQuota } from "../quota.ts";
import { authorOf, retryOnConflict, type RequestContext } from "../context.ts";
import { ServiceError } from "../../contract/errors.ts";
import {
  checkBoundTemplate,
  planBoundTemplate,
  planTemplateChange,
  refuseTakenName,
  requireServerlessTemplate,
  requireTemplate,
  saveBoundTemplate,
} from "./templates.ts";
import { warnOfMissingSecrets } from "../secrets/secrets.ts";
import { attachedIds, requireAttachable } from "./volumes.ts";
import { announceEndpoint, announceRemoval } from "./endpoint-announcement.ts";
import { endListedDeployment } from "../flash/listed-deployment.ts";
import { findNamesake, requireMembership, withBuild } from "./endpoint-environment.ts";
import { containerFields } from "../nouns/container.ts";
import type { EndpointPatch } from "../nouns/endpoint.ts";
import { changesOf } from "../nouns/field.ts";
import type { InlineTemplate } from "../nouns/template.ts";
import {
  changesVolumes,
  createSettings,
  isDeletable,
  mergeSettings,
  needsNewVersion,
  type EndpointSettings,
} from "./endpoint-settings.ts";
import { plannedCanary } from "./canary.ts";
import { type Canary, CONTAINER_DISK_DEFAULT_GB } from "../../contract/endpoint.ts";

export type { EndpointRecord, ReleaseRecord };

/** The endpoints of the calling account. */
export async function listOwnEndpoints({
  db,
  principal,
}: RequestContext): Promise<readonly EndpointRecord[]> {
  return await listEndpoints(db, principal.accountId);
}

/** The releases of an endpoint of the calling account, the newest first. */
export async function listOwnReleases(
  { db, principal }: RequestContext,
  endpointId: string,
): Promise<readonly ReleaseRecord[]> {
  return await listReleases(db, principal.accountId, [endpointId]);
}

// Saving

/** Throws the error that `createEndpoint` would; not for a flash environment, where it may change an endpoint. */
export async function checkEndpointCreation(context: RequestContext, patch: EndpointPatch): Promise<void> {
  if (patch.flashEnvironmentId !== undefined) {
    throw new ServiceError("invalid_input", "dryRun: does not check endpoints of a flash environment");
  }
  const settings = createSettings(patch);
  await requireNeeds(context, undefined, settings, patch);
  await requireQuota(context, "endpoint");
  if (patch.template) await checkBoundTemplate(context, withDefaults(patch.template, settings.name));
  else await requireServerlessTemplate(context, patch.templateId ?? "");
}

/** In a flash environment the name identifies the endpoint: an existing one is changed. */
export async function createEndpoint(context: RequestContext, patch: EndpointPatch): Promise<EndpointRecord> {
  const present = await findNamesake(context, patch);
  if (present !== undefined) return await changeEndpoint(context, present.id, patch);
  const settings = createSettings(patch);
  const inline = patch.template && withDefaults(patch.template, settings.name);
  const { record, isNew } = await retryOnConflict(async () => {
    const concurrent = await findNamesake(context, patch);
    if (concurrent !== undefined) return { record: concurrent, isNew: false };
    const needs = await requireNeeds(context, undefined, settings, patch);
    await requireQuota(context, "endpoint");
    const { id: templateId } = inline
      ? await saveBoundTemplate(context, inline)
      : await requireServerlessTemplate(context, patch.templateId ?? "");
    const values = { ...(await withBuild(context, settings)), templateId };
    const inserted = await insertEndpointIfAllowed(context.db, authorOf(context), values, needs);
    return inserted && { record: inserted, isNew: true };
  });
  if (!isNew) return await changeEndpoint(context, record.id, patch);
  if (patch.flashEnvironmentId !== undefined) await endListedDeployment(context, patch.flashEnvironmentId);
  await announceEndpoint(context, record);
  await warnOfMissingSecrets(context, secretUseOf(patch));
  return record;
}

export type ChangeOptions = {
  /** What the inline template of the patch omits stays as it is, also where the endpoint gets a template of its own. */
  readonly keepsContainer?: boolean;
  /** The build of the new version, if not the one that is active in its flash environment. */
  readonly flashBuildId?: string | null;
  /** Why there is a new version. */
  readonly reason?: string;
};

export async function changeEndpoint(
  context: RequestContext,
  endpointId: string,
  patch: EndpointPatch,
  options: ChangeOptions = {},
): Promise<EndpointRecord> {
  const found = await requireEndpoint(context, endpointId);
  const merged = mergeSettings(found, patch); // A patch that will be refused must not take over a template first.
  await requireNeeds(context, found, merged, patch);

  const { changed, before } = await retryOnConflict(async () => {
    const read = await requireEndpoint(context, endpointId);
    const { templateId, change, created } = await patchedTemplate(context, read, patch, options);
    const merged = { ...mergeSettings(read, patch), templateId };
    // A template and settings that change together are one new version.
    const isOther = (values: EndpointValues) =>
      change?.isNewVersion === true || needsNewVersion(read, values);
    // A call that only scales does not move workers to a build whose variables the template does not have yet.
    const mayNeedNewVersion = patch.flashEnvironmentId !== undefined || isOther(merged);
    const { flashBuildId } = options;
    const withOwnBuild = flashBuildId === undefined ? undefined : { ...merged, flashBuildId };
    const values = withOwnBuild ?? (mayNeedNewVersion ? await withBuild(context, merged) : merged);
    const needs = await requireNeeds(context, read, values, patch);
    const updated = await updateEndpointIfUnchanged(context.db, authorOf(context), read, values, {
      ...needs,
      isNewVersion: isOther(values),
      canary: await canaryAfter(context, read, values, { patch, isNewVersion: isOther(values) }),
      reason: options.reason,
      templateChange: change,
      newTemplate: created,
    });
    if (updated === undefined && change) await refuseTakenName(context, change.values.name, templateId);
    return updated && { changed: updated, before: read };
  });
  if (changed.templateId !== before.templateId) await dropOrphan(context, before.templateId);
  if (patch.flashEnvironmentId !== undefined) await endListedDeployment(context, patch.flashEnvironmentId);
  await announceEndpoint(context, changed);
  await warnOfMissingSecrets(context, secretUseOf(patch));
  return changed;
}

/** Undefined leaves it as it is; a version that is not on trial ends the trial of the one before. */
async function canaryAfter(
  context: RequestContext,
  read: EndpointRecord,
  values: EndpointValues,
  { patch, isNewVersion }: { readonly patch: EndpointPatch; readonly isNewVersion: boolean },
): Promise<Canary | null | undefined> {
  if (isNewVersion) return await plannedCanary(context, read, values, patch.canaryPercent);
  return patch.canaryPercent === 0 ? null : undefined;
}

/** All that a patch brings, for the endpoint and for its inline template. */
function secretUseOf({ env = [], template }: EndpointPatch) {
  return { env: [...env, ...(template?.env ?? [])], modelTokenSecret: template?.modelTokenSecret };
}

/** Rejects settings that an endpoint cannot have; returns what it newly needs. */
async function requireNeeds(
  context: RequestContext,
  before: EndpointRecord | undefined,
  after: EndpointSettings,
  { flashEnvironmentId }: EndpointPatch,
): Promise<EndpointNeeds> {
  const needsVolumes = before === undefined || changesVolumes(before, after);
  if (needsVolumes) await requireAttachable(context, after);
  const isMoved = before?.flashEnvironmentId !== after.flashEnvironmentId || before.name !== after.name;
  const isDeployed = isMoved || flashEnvironmentId !== undefined; // to an environment that may have ended meanwhile
  return {
    volumeIds: needsVolumes ? attachedIds(after) : [],
    environmentId: isDeployed ? await requireMembership(context, after, before?.id) : null,
  };
}

/** An inline template goes with the last endpoint that uses it. */
async function dropOrphan(context: RequestContext, templateId: string): Promise<void> {
  const template = await findTemplate(context.db, context.principal.accountId, templateId);
  if (template?.isBound) await deleteTemplateIfUnused(context.db, authorOf(context), template);
}

/** Gives an endpoint another template of the account, and nothing else. */
export async function changeEndpointTemplate(
  context: RequestContext,
  change: { readonly endpointId: string; readonly templateId: string },
): Promise<EndpointRecord> {
  const { endpointId, templateId } = change;
  await requireEndpoint(context, endpointId, "endpointId");
  return await changeEndpoint(context, endpointId, { templateId });
}

type PatchedTemplate = {
  readonly templateId: string;
  /** How that template changes with the endpoint. */
  readonly change?: TemplateChange & { readonly isNewVersion: boolean };
  /** That template, where it is inserted with the endpoint. */
  readonly created?: TemplateRecord | undefined;
};

/** The template that an endpoint has after a patch. */
async function patchedTemplate(
  context: RequestContext,
  { accountId, name, templateId }: EndpointRecord,
  patch: EndpointPatch,
  { keepsContainer = false }: ChangeOptions,
): Promise<PatchedTemplate> {
  // The template that it has already may be older than the rule that it must be a Serverless one.
  if (patch.templateId === templateId) return { templateId };
  if (patch.templateId !== undefined) {
    return { templateId: (await requireServerlessTemplate(context, patch.templateId)).id };
  }
  if (patch.template === undefined) return { templateId };

  const current = await requireTemplate(context, templateId);
  const users = await listEndpointsOfTemplate(context.db, accountId, templateId);
  // A template that other endpoints use as well stays as it is: this endpoint gets one of its own.
  if (!current.isBound || users.length > 1) {
    const inline = keepsContainer ? withContainer(current, patch.template) : patch.template;
    const { stored, created } = await planBoundTemplate(context, withDefaults(inline, name));
    return { templateId: (stored ?? created).id, created };
  }
  return { templateId, change: await planTemplateChange(context, templateId, patch.template) };
}

/** With the container of another template where the inline one says nothing. */
function withContainer(base: TemplateRecord, template: InlineTemplate): InlineTemplate {
  return { ...template, ...changesOf(containerFields, base), ...changesOf(containerFields, template) };
}

function withDefaults(template: InlineTemplate, endpointName: string): InlineTemplate {
  return {
    ...template,
    name: template.name ?? `${endpointName}__template_${randomRowId()}`,
    containerDiskInGb: template.containerDiskInGb ?? CONTAINER_DISK_DEFAULT_GB,
  };
}

// Deleting

/** `with-workers` deletes an endpoint that may still have workers; they are drained. */
export async function deleteEndpoint(
  context: RequestContext,
  endpointId: string,
  mode: "without-workers" | "with-workers" = "without-workers",
): Promise<void> {
  const { accountId } = context.principal;
  await retryOnConflict(async () => {
    const read = await findOwnEndpoint(context.db, accountId, endpointId);
    if (read === undefined) {
      // One that has just been deleted may not be announced yet.
      if (await isEndpointRemovalOpen(context.db, accountId, endpointId)) return true;
      throw endpointNotFound(endpointId);
    }
    if (mode === "without-workers" && !isDeletable(read)) throw hasWorkers(endpointId);
    return (await deleteEndpointIfUnchanged(context.db, authorOf(context), read)) || undefined;
  });
  await announceRemoval(context, { id: endpointId, accountId });
}

/** Finds an endpoint of the calling account, or refuses. */
export async function requireEndpoint(
  context: RequestContext,
  endpointId: string,
  field = "id",
): Promise<EndpointRecord> {
  const endpoint = await findOwnEndpoint(context.db, context.principal.accountId, endpointId);
  if (endpoint === undefined) throw endpointNotFound(endpointId, field);
  return endpoint;
}

function endpointNotFound(endpointId: string, field = "id"): ServiceError {
  return new ServiceError("endpoint_not_found", `${field}: endpoint '${endpointId}' was not found`);
}

function hasWorkers(endpointId: string): ServiceError {
  return new ServiceError(
    "endpoint_has_workers",
    `Endpoint ${endpointId} cannot be deleted: set workersMin and workersMax to 0 first.`,
  );
}
