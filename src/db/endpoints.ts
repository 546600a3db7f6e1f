import { and, asc, eq, exists, isNotNull, notExists, sql, type SQL } from "drizzle-orm";
import type { Canary, EndpointConfig } from "../contract/endpoint.ts";
import { filesContent, imageContent, modelContent } from "../contract/content.ts";
import { readModelReference } from "../contract/model.ts";
import { readGpuIds } from "../catalog/gpu-selection.ts";
import { isWithinQuota } from "./quotas.ts";
import { changedFields, auditIfChanged, type Author, type AuditSubject, writeAudited } from "./audit-log.ts";
import { isOneOf, rowIf, type Database, isOwn } from "./database.ts";
import { takesEndpoints } from "./flash/environments.ts";
import { changesBetween, recordReleases } from "./releases.ts";
import { randomRowId } from "./row-id.ts";
import { endpoint, endpointRemoval, networkVolume, splitList, template } from "./schema.ts";
import {
  changeTemplateAsWell,
  insertTemplateAsWell,
  mayChangeTemplate,
  type TemplateChange,
  type TemplateRecord,
} from "./templates.ts";

export type EndpointRecord = typeof endpoint.$inferSelect;

/** What a client decides about an endpoint. */
export type EndpointValues = Omit<
  EndpointRecord,
  "id" | "accountId" | "version" | "canary" | "rowVersion" | "createdAt" | "updatedAt"
>;

// Reading

/** Finds an endpoint of any account; the caller must compare the account. */
export async function findEndpoint(db: Database, endpointId: string): Promise<EndpointRecord | undefined> {
  return await db.select().from(endpoint).where(eq(endpoint.id, endpointId)).get();
}

/** An endpoint of the account with its template, both as they are at one moment. */
export async function findEndpointWithTemplate(
  db: Database,
  accountId: string,
  endpointId: string,
): Promise<{ readonly endpoint: EndpointRecord; readonly template: TemplateRecord } | undefined> {
  const isItsOwn = and(eq(template.id, endpoint.templateId), eq(template.accountId, endpoint.accountId));
  return await db
    .select({ endpoint, template })
    .from(endpoint)
    .innerJoin(template, isItsOwn)
    .where(isOwn(endpoint, accountId, endpointId))
    .get();
}

export async function findOwnEndpoint(
  db: Database,
  accountId: string,
  endpointId: string,
): Promise<EndpointRecord | undefined> {
  return await db
    .select()
    .from(endpoint)
    .where(isOwn(endpoint, accountId, endpointId))
    .get();
}

/** Those of the ids that are endpoints of the account, in any order. */
export async function findOwnEndpoints(
  db: Database,
  accountId: string,
  endpointIds: readonly string[],
): Promise<EndpointRecord[]> {
  const isRequested = isOneOf(endpoint.id, endpointIds);
  return await db
    .select()
    .from(endpoint)
    .where(and(eq(endpoint.accountId, accountId), isRequested));
}

/** The endpoint of this name in a flash environment of the account. */
export async function findEndpointOfEnvironment(
  db: Database,
  accountId: string,
  environmentId: string,
  name: string,
): Promise<EndpointRecord | undefined> {
  const isNamed = and(eq(endpoint.flashEnvironmentId, environmentId), eq(endpoint.name, name));
  return await db
    .select()
    .from(endpoint)
    .where(and(eq(endpoint.accountId, accountId), isNamed))
    .get();
}

export async function listEndpoints(db: Database, accountId: string): Promise<EndpointRecord[]> {
  return await db
    .select()
    .from(endpoint)
    .where(eq(endpoint.accountId, accountId))
    .orderBy(asc(endpoint.createdAt), asc(endpoint.id));
}

export async function listEndpointsOfEnvironment(
  db: Database,
  accountId: string,
  environmentId: string,
): Promise<EndpointRecord[]> {
  return await db
    .select()
    .from(endpoint)
    .where(and(eq(endpoint.accountId, accountId), eq(endpoint.flashEnvironmentId, environmentId)));
}

export async function listEndpointsOfTemplate(
  db: Database,
  accountId: string,
  templateId: string,
): Promise<EndpointRecord[]> {
  return await db
    .select()
    .from(endpoint)
    .where(and(eq(endpoint.accountId, accountId), eq(endpoint.templateId, templateId)));
}

/**
 * The configuration that objects get; without the template they do not know the disk that it needs, nor what hosts may
 * have of it. `artifact`: SHA-256 of the files of its app.
 */
export function toEndpointConfig(
  record: EndpointRecord,
  template?: Pick<TemplateRecord, "containerDiskInGb" | "imageName" | "models">,
  artifact?: string,
): EndpointConfig {
  const gpus = readGpuIds(record.gpuIds ?? "");
  const isGpu = gpus.kind === "selection";
  return {
    endpointId: record.id,
    accountId: record.accountId,
    name: record.name,
    type: record.type,
    version: record.version,
    workersMin: record.workersMin,
    workersMax: record.workersMax,
    idleTimeoutSeconds: record.idleTimeoutSeconds,
    scalerType: record.scalerType,
    scalerValue: record.scalerValue,
    executionTimeoutMs: record.executionTimeoutMs,
    queueDepthMax: record.queueDepthMax,
    gpuTiers: isGpu ? gpus.tiers : [],
    excludedGpuModels: isGpu ? gpus.excludedModels : [],
    gpuCount: isGpu ? record.gpuCount : 0,
    gpuMemoryGb: isGpu ? record.gpuMemoryGb : 0,
    locations: splitList(record.locations),
    instanceIds: record.instanceIds,
    networkVolumeIds: volumesOf(record),
    allowedCudaVersions: splitList(record.allowedCudaVersions),
    minCudaVersion: record.minCudaVersion,
    flashBootType: record.flashBootType,
    workersPfbTarget: record.workersPfbTarget,
    shareWeight: record.shareWeight,
    sharePriority: record.sharePriority,
    ...(record.canary && { canary: record.canary }),
    ...(template && {
      containerDiskInGb: template.containerDiskInGb,
      contents: contentsOf(template, artifact),
    }),
  };
}

function contentsOf(
  { imageName, models }: Pick<TemplateRecord, "imageName" | "models">,
  artifact: string | undefined,
): readonly string[] {
  const ids = new Set(models.map((reference) => readModelReference(reference).id));
  const files = artifact === undefined ? [] : [filesContent(artifact)];
  return [imageContent(imageName), ...files, ...[...ids].map(modelContent)];
}

/** Volumes of an endpoint, from both of its fields. */
export function volumesOf({ networkVolumeId, networkVolumeIds }: EndpointRecord): readonly string[] {
  return networkVolumeId ? [...new Set([networkVolumeId, ...networkVolumeIds])] : networkVolumeIds;
}

// Writing

/** What must exist for an endpoint to be written. */
export type EndpointNeeds = {
  /** Network volumes that must be there when the endpoint is written. */
  readonly volumeIds: readonly string[];
  /** The flash environment that must be there and take endpoints, if any. */
  readonly environmentId: string | null;
};

/**
 * Inserts an endpoint; undefined when its template, a volume or its flash environment is gone, when that
 * has one of this name, or when the quota of the account is used up.
 */
export async function insertEndpointIfAllowed(
  db: Database,
  author: Author,
  values: EndpointValues,
  needs: EndpointNeeds,
): Promise<EndpointRecord | undefined> {
  const { accountId, now } = author;
  const record = {
    ...values,
    accountId,
    id: randomRowId(),
    version: 1,
    canary: null,
    rowVersion: 1,
    createdAt: now,
    updatedAt: now,
  };
  const condition = and(isWithinQuota("endpoint", accountId), hasNeeds(accountId, values.templateId, needs));
  const [[inserted]] = await db.batch([
    db
      .insert(endpoint)
      .select(rowIf(endpoint, record, condition))
      .onConflictDoNothing()
      .returning(),
    auditIfChanged(db, author, subjectOf(record)),
    ...recordReleases(db, author, eq(endpoint.id, record.id), []),
  ]);
  return inserted;
}

export type EndpointChange = EndpointNeeds & {
  readonly isNewVersion: boolean;
  /** How the new version is tried; absent: a new version is not, and of another one nothing changes. */
  readonly canary?: Canary | null | undefined;
  /** Why there is a new version, where its settings do not say so. */
  readonly reason?: string | undefined;
  /** The change of its inline template, which no other endpoint may use then. */
  readonly templateChange?: TemplateChange | undefined;
  /** The inline template that it gets, not stored yet. */
  readonly newTemplate?: TemplateRecord | undefined;
};

/**
 * Changes an endpoint if it still is as it was read, if its template and the volumes are there, and if its name is
 * free in a new flash environment; its inline template is inserted or changes with it, or neither
 * is.
 */
export async function updateEndpointIfUnchanged(
  db: Database,
  author: Author,
  read: EndpointRecord,
  values: EndpointValues,
  { isNewVersion, canary, reason, templateChange, newTemplate, ...needs }: EndpointChange,
): Promise<EndpointRecord | undefined> {
  const update = db
    .update(endpoint)
    .set({
      ...values,
      version: isNewVersion ? read.version + 1 : read.version,
      canary: canary === undefined && !isNewVersion ? read.canary : (canary ?? null),
      rowVersion: read.rowVersion + 1,
      updatedAt: author.now,
    })
    .where(
      and(
        isOwn(endpoint, author.accountId, read.id),
        eq(endpoint.rowVersion, read.rowVersion),
        hasNeeds(author.accountId, values.templateId, needs),
        isNameFree(values, read),
        templateChange && mayChangeOwnTemplate(db, read, templateChange),
      ),
    )
    .returning();
  const fields = changedFields(read, values);
  const audit = auditIfChanged(db, author, { ...subjectOf({ ...read, ...values }), fields });
  const isUpdated = and(
    isOwn(endpoint, author.accountId, read.id),
    eq(endpoint.version, read.version + 1),
    eq(endpoint.updatedAt, author.now),
  );
  const changes = [
    ...changesBetween(read, values),
    ...(templateChange ? changesBetween(templateChange.read, templateChange.values, "template.") : []),
  ];
  const insertion = newTemplate && insertTemplateAsWell(db, author, newTemplate);
  const others = [
    ...(fields.length === 0 ? [] : [audit]),
    ...(insertion ? [insertion.behind] : []),
    ...(templateChange ? changeTemplateAsWell(db, author, templateChange) : []),
    ...(isNewVersion ? recordReleases(db, author, isUpdated, changes, reason) : []),
  ];
  if (!insertion) return (await db.batch([update, ...others]))[0][0];
  const [, [updated]] = await db.batch([insertion.before, update, ...others, insertion.atEnd]);
  return updated;
}

/** All workers shall run the version that was on trial; undefined when the endpoint has another one, or none on trial. */
export async function endCanary(
  db: Database,
  author: Author,
  read: EndpointRecord,
): Promise<EndpointRecord | undefined> {
  const update = db
    .update(endpoint)
    .set({ canary: null, rowVersion: sql`${endpoint.rowVersion} + 1`, updatedAt: author.now })
    .where(
      and(
        isOwn(endpoint, author.accountId, read.id),
        eq(endpoint.version, read.version),
        isNotNull(endpoint.canary),
      ),
    )
    .returning();
  return await writeAudited(db, author, update, { ...subjectOf(read), fields: ["canary"] });
}

/** Whether a template may be changed, and no other endpoint uses it. */
function mayChangeOwnTemplate(db: Database, { id }: EndpointRecord, change: TemplateChange): SQL | undefined {
  const changeable = db
    .select({ one: sql`1` })
    .from(template)
    .where(mayChangeTemplate(db, change));
  return and(
    exists(changeable),
    sql`NOT EXISTS (SELECT 1 FROM ${endpoint} AS other WHERE other.template_id = ${change.read.id} AND other.id <> ${id})`,
  );
}

// Deleting

/**
 * Deletes an endpoint if it still is as it was read, and its inline template with the last endpoint that
 * uses it. Inserts a removal, which records that the endpoint's object must still be emptied.
 */
export async function deleteEndpointIfUnchanged(
  db: Database,
  author: Author,
  read: EndpointRecord,
): Promise<boolean> {
  const isUnchanged = and(
    isOwn(endpoint, author.accountId, read.id),
    eq(endpoint.rowVersion, read.rowVersion),
  );
  const removal = db
    .select({
      endpointId: endpoint.id,
      accountId: endpoint.accountId,
      deletedAt: sql<number>`${author.now}`.as("deleted_at"),
    })
    .from(endpoint)
    .where(isUnchanged);
  const isUnusedAndBound = and(
    eq(template.accountId, read.accountId),
    eq(template.id, read.templateId),
    eq(template.isBound, true),
    notExists(
      db
        .select({ one: sql`1` })
        .from(endpoint)
        .where(eq(endpoint.templateId, read.templateId)),
    ),
  );
  const [, deleted] = await db.batch([
    db.insert(endpointRemoval).select(removal),
    db.delete(endpoint).where(isUnchanged).returning({ id: endpoint.id }),
    auditIfChanged(db, author, subjectOf(read)),
    db.delete(template).where(isUnusedAndBound),
  ]);
  return deleted.length > 0;
}

export async function isEndpointRemovalOpen(
  db: Database,
  accountId: string,
  endpointId: string,
): Promise<boolean> {
  const removal = await db
    .select()
    .from(endpointRemoval)
    .where(and(eq(endpointRemoval.accountId, accountId), eq(endpointRemoval.endpointId, endpointId)))
    .get();
  return removal !== undefined;
}

/** Removals of all accounts whose object has not confirmed, in random order, so that no failing one blocks the others. */
export async function listOpenRemovals(
  db: Database,
  limit: number,
): Promise<{ readonly id: string; readonly accountId: string }[]> {
  return await db
    .select({ id: endpointRemoval.endpointId, accountId: endpointRemoval.accountId })
    .from(endpointRemoval)
    .orderBy(sql`random()`)
    .limit(limit);
}

/** Forgets a removal once the endpoint's object is empty. */
export async function closeEndpointRemoval(
  db: Database,
  accountId: string,
  endpointId: string,
): Promise<void> {
  await db
    .delete(endpointRemoval)
    .where(and(eq(endpointRemoval.accountId, accountId), eq(endpointRemoval.endpointId, endpointId)));
}

/** Whether the account has the template and all else that is needed at the moment of the write. */
function hasNeeds(
  accountId: string,
  templateId: string,
  { volumeIds, environmentId }: EndpointNeeds,
): SQL | undefined {
  const ofTemplate = sql`EXISTS (SELECT 1 FROM ${template} WHERE ${template.accountId} = ${accountId} AND ${template.id} = ${templateId})`;
  const ofEnvironment = environmentId === null ? undefined : takesEndpoints(accountId, environmentId);
  if (volumeIds.length === 0) return and(ofTemplate, ofEnvironment);
  const isNamed = isOneOf(networkVolume.id, volumeIds);
  const found = sql`(SELECT count(*) FROM ${networkVolume} WHERE ${networkVolume.accountId} = ${accountId} AND ${isNamed})`;
  return and(ofTemplate, ofEnvironment, sql`${found} = ${volumeIds.length}`);
}

/** Whether no other endpoint of the flash environment has the name. */
function isNameFree({ flashEnvironmentId, name }: EndpointValues, { id }: EndpointRecord): SQL | undefined {
  if (flashEnvironmentId === null) return undefined;
  return sql`NOT EXISTS (SELECT 1 FROM ${endpoint} AS other WHERE other.flash_environment_id = ${flashEnvironmentId}
    AND other.name = ${name} AND other.id <> ${id})`;
}

function subjectOf({ id, name }: EndpointRecord): AuditSubject {
  return { kind: "endpoint", id, name };
}
