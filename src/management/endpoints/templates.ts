/** Saving and deleting templates. A changed template makes a new version of every endpoint that uses it. */
import { listEndpointsOfTemplate } from "../../db/endpoints.ts";
import { listPodsUsing } from "../../db/pods.ts";
import {
  deleteTemplateIfUnused,
  findTemplate,
  findTemplateByName,
  findTemplates,
  insertTemplateIfAllowed,
  listPublicTemplates,
  listTemplates,
  listUnboundTemplates,
  newTemplate,
  updateTemplateIfUnchanged,
  type TemplateChange,
  type TemplateRecord,
  type TemplateValues,
} from "../../db/templates.ts";
import { requireQuota } from "../quota.ts";
import { authorOf, retryOnConflict, type RequestContext } from "../context.ts";
import { announceEndpoints } from "./endpoint-announcement.ts";
import { ServiceError } from "../../contract/errors.ts";
import { requireRegistryAuth } from "../secrets/registry-auths.ts";
import { warnOfMissingSecrets } from "../secrets/secrets.ts";
import { requireStorable } from "../input-schemas.ts";
import { changesOf, defaultsOf, replacesWorkers } from "../nouns/field.ts";
import { templateFields, type TemplatePatch } from "../nouns/template.ts";
import { isImageReference } from "./image-reference.ts";

export type { TemplateRecord };

/** The templates of the calling account, with or without those that belong to one endpoint. */
export async function listOwnTemplates(
  { db, principal }: RequestContext,
  includesBound: boolean,
): Promise<readonly TemplateRecord[]> {
  return await (includesBound ? listTemplates : listUnboundTemplates)(db, principal.accountId);
}

/** Those of the templates that the calling account has. */
export async function findOwnTemplates(
  { db, principal }: RequestContext,
  templateIds: readonly string[],
): Promise<readonly TemplateRecord[]> {
  return await findTemplates(db, principal.accountId, templateIds);
}

/** A template of the calling account; throws template_not_found. */
export async function requireTemplate(
  context: RequestContext,
  templateId: string,
  field = "templateId",
): Promise<TemplateRecord> {
  const template = await findTemplate(context.db, context.principal.accountId, templateId);
  if (template === undefined) {
    throw new ServiceError("template_not_found", `${field}: template '${templateId}' was not found`);
  }
  return template;
}

/** Finds a template of the calling account that endpoints can have, or refuses. */
export async function requireServerlessTemplate(
  context: RequestContext,
  templateId: string,
): Promise<TemplateRecord> {
  const template = await requireTemplate(context, templateId);
  if (template.isServerless) return template;
  const issue =
    `templateId: template '${template.name}' is a Pod template; an endpoint needs a Serverless template: ` +
    "save it with isServerless true and volumeInGb 0, or name another one";
  throw new ServiceError("invalid_input", issue, { issues: [issue] });
}

/** Templates of the calling account that it has made public. */
export async function listOwnPublicTemplates({
  db,
  principal,
}: RequestContext): Promise<readonly TemplateRecord[]> {
  return await listPublicTemplates(db, principal.accountId);
}

/** Throws the error that `createTemplate` would. */
export async function checkTemplateCreation(context: RequestContext, patch: TemplatePatch): Promise<void> {
  const { name } = mergeTemplate(undefined, patch);
  await requireNamedCredential(context, patch);
  await requireQuota(context, "template");
  await refuseTakenName(context, name);
}

export async function createTemplate(context: RequestContext, patch: TemplatePatch): Promise<TemplateRecord> {
  const values = mergeTemplate(undefined, patch);
  const created = await retryOnConflict(async () => {
    await requireNamedCredential(context, patch);
    await requireQuota(context, "template");
    const record = newTemplate(authorOf(context), values, { isBound: false });
    const inserted = await insertTemplateIfAllowed(context.db, authorOf(context), record);
    if (inserted === undefined) await refuseTakenName(context, values.name);
    return inserted;
  });
  await warnOfMissingSecrets(context, patch);
  return created;
}

/** Merges a patch into a stored template and notifies every endpoint that uses it. */
export async function changeTemplate(
  context: RequestContext,
  templateId: string,
  patch: TemplatePatch,
): Promise<TemplateRecord> {
  const changed = await retryOnConflict(async () => {
    const { read, values, isNewVersion } = await planTemplateChange(context, templateId, patch);
    const updated = await updateTemplateIfUnchanged(context.db, authorOf(context), read, values, {
      isNewVersion,
    });
    if (updated === undefined) await refuseTakenName(context, values.name, templateId);
    return updated;
  });
  // Also when nothing changed: saving again repairs an endpoint that a change did not reach.
  const users = await listEndpointsOfTemplate(context.db, context.principal.accountId, templateId);
  await announceEndpoints(context, users);
  await warnOfMissingSecrets(context, patch);
  return changed;
}

/** What a patch makes of a stored template; `isNewVersion`: whether workers of its endpoints must be replaced. */
export async function planTemplateChange(
  context: RequestContext,
  templateId: string,
  patch: TemplatePatch,
): Promise<TemplateChange & { readonly isNewVersion: boolean }> {
  const read = await requireTemplate(context, templateId, "id");
  await requireNamedCredential(context, patch);
  const values = mergeTemplate(read, patch);
  if (read.isServerless && !values.isServerless) await refuseLoss(context, read);
  return { read, values, isNewVersion: replacesWorkers(templateFields, read, values) };
}

/** Stores the template that came inline with an endpoint; a name of another inline one is taken over. */
export async function saveBoundTemplate(
  context: RequestContext,
  patch: TemplatePatch,
): Promise<TemplateRecord> {
  return await retryOnConflict(async () => {
    const { stored, created } = await planBoundTemplate(context, patch);
    return stored ?? (await insertTemplateIfAllowed(context.db, authorOf(context), created));
  });
}

type BoundTemplate =
  | { readonly stored: TemplateRecord; readonly created?: undefined }
  | { readonly stored?: undefined; readonly created: TemplateRecord };

/** As `saveBoundTemplate`, but leaves it to the caller to insert the one that is created. */
export async function planBoundTemplate(
  context: RequestContext,
  patch: TemplatePatch,
): Promise<BoundTemplate> {
  const values = mergeTemplate(undefined, patch);
  await requireNamedCredential(context, patch);
  const holder = await findTemplateByName(context.db, context.principal.accountId, values.name);
  if (holder?.isBound) return { stored: await changeTemplate(context, holder.id, patch) };
  if (holder !== undefined) throw nameTaken(values.name);
  await requireQuota(context, "template");
  return { created: newTemplate(authorOf(context), values, { isBound: true }) };
}

/** Throws the error that `saveBoundTemplate` would. */
export async function checkBoundTemplate(context: RequestContext, patch: TemplatePatch): Promise<void> {
  const { name } = mergeTemplate(undefined, patch);
  const holder = await findTemplateByName(context.db, context.principal.accountId, name);
  if (holder?.isBound) await planTemplateChange(context, holder.id, patch);
  else await checkTemplateCreation(context, patch);
}

export async function deleteTemplateByName(context: RequestContext, name: string): Promise<void> {
  await deleteFound(context, async () => {
    const template = await findTemplateByName(context.db, context.principal.accountId, name);
    if (template !== undefined) return template;
    throw new ServiceError("template_not_found", `templateName: template '${name}' was not found`);
  });
}

export async function deleteTemplateById(context: RequestContext, templateId: string): Promise<void> {
  await deleteFound(context, async () => await requireTemplate(context, templateId));
}

async function deleteFound(context: RequestContext, find: () => Promise<TemplateRecord>): Promise<void> {
  await retryOnConflict(async () => {
    const template = await find();
    if (await deleteTemplateIfUnused(context.db, authorOf(context), template)) return template;
    await refuseUsed(context, template);
    return undefined;
  });
}

/** A template of endpoints stays a Serverless one. */
async function refuseLoss({ db, principal }: RequestContext, { id, name }: TemplateRecord): Promise<void> {
  const users = await listEndpointsOfTemplate(db, principal.accountId, id);
  if (users.length === 0) return;
  const userIds = users.map((user) => user.id).join(", ");
  throw new ServiceError(
    "template_in_use",
    `isServerless: must stay true while endpoint ${userIds} uses template '${name}'`,
  );
}

async function refuseUsed({ db, principal }: RequestContext, { id, name }: TemplateRecord): Promise<void> {
  const pods = await listPodsUsing(db, principal.accountId, { templateId: id });
  if (pods.length > 0) {
    throw new ServiceError(
      "template_in_use",
      `Template '${name}' is in use by pod ${pods.join(", ")}: terminate the pod first.`,
    );
  }
  const users = await listEndpointsOfTemplate(db, principal.accountId, id);
  if (users.length === 0) return;
  const userIds = users.map((user) => user.id).join(", ");
  throw new ServiceError(
    "template_in_use",
    `Template '${name}' is in use by endpoint ${userIds}: delete the endpoint or give it another template first.`,
  );
}

async function requireNamedCredential(context: RequestContext, patch: TemplatePatch): Promise<void> {
  const { containerRegistryAuthId: id } = patch;
  if (typeof id === "string") await requireRegistryAuth(context, id, "containerRegistryAuthId");
}

/** `templateId`: of the template that may have the name. */
export async function refuseTakenName(
  context: RequestContext,
  name: string,
  templateId?: string,
): Promise<void> {
  const holder = await findTemplateByName(context.db, context.principal.accountId, name);
  if (holder !== undefined && holder.id !== templateId) throw nameTaken(name);
}

function nameTaken(name: string): ServiceError {
  return new ServiceError(
    "template_name_taken",
    `name: a template named '${name}' already exists; choose another name, or send its id to change it`,
  );
}

const CREATION_FIELDS = ["name", "imageName", "containerDiskInGb", "volumeInGb"] as const;

/**
 * Merges a patch into a stored template, or into the defaults when no template is stored yet. The image of a Pod
 * template may be any string: some clients store a placeholder there and name the image with each pod.
 */
function mergeTemplate(stored: TemplateValues | undefined, patch: TemplatePatch): TemplateValues {
  const values: Partial<TemplateValues> = {
    ...(stored ?? defaultsOf(templateFields)),
    ...changesOf(templateFields, patch),
  };
  if (!isComplete(values)) {
    const missing = CREATION_FIELDS.filter((field) => values[field] === undefined);
    throw new ServiceError("invalid_input", `${missing.join(", ")}: required to create a template`);
  }
  if (values.isServerless && values.volumeInGb !== 0) {
    throw new ServiceError("invalid_input", "volumeInGb: must be 0 for a Serverless template");
  }
  const isNamed = patch.imageName !== undefined || patch.isServerless !== undefined;
  if (isNamed && values.isServerless && !isImageReference(values.imageName)) {
    throw new ServiceError(
      "invalid_input",
      `imageName: '${values.imageName}' is no reference to an image; it must have the form ` +
        "[registry/]repository[:tag][@digest] with a repository in lower case, such as ghcr.io/acme/worker:1.4",
    );
  }
  requireStorable(values);
  return values;
}

function isComplete(values: Partial<TemplateValues>): values is TemplateValues {
  return CREATION_FIELDS.every((field) => values[field] !== undefined);
}
