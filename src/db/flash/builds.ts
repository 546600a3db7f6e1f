import {
  and,
  desc,
  eq,
  getTableColumns,
  inArray,
  notExists,
  sql,
  type SQL,
  type SQLWrapper,
  not,
} from "drizzle-orm";
import type { FlashManifest } from "../../contract/flash/flash-manifest.ts";
import { auditIfChanged, type AuditSubject, type Author } from "../audit-log.ts";
import { isOneOf, rowIf, type Database, isOwn } from "../database.ts";
import { isBuildOfRecentVersion } from "../releases.ts";
import type { FlashUploadRecord } from "./uploads.ts";
import { endpoint, flashBuild, flashEnvironment, flashUpload, type Json } from "../schema.ts";

/** A build without its manifest, which is as large as a body may be. */
export type FlashBuildRecord = Omit<typeof flashBuild.$inferSelect, "manifest">;
export type FlashBuildValues = Pick<
  FlashBuildRecord,
  "id" | "appId" | "objectKey" | "sha256" | "sizeBytes"
> & {
  readonly manifest: FlashManifest;
};

const { manifest: _manifest, ...shown } = getTableColumns(flashBuild);

export async function findFlashBuilds(
  db: Database,
  accountId: string,
  buildIds: readonly string[],
): Promise<FlashBuildRecord[]> {
  return await db
    .select(shown)
    .from(flashBuild)
    .where(and(eq(flashBuild.accountId, accountId), isOneOf(flashBuild.id, buildIds)));
}

export async function findFlashBuild(
  db: Database,
  accountId: string,
  buildId: string,
): Promise<FlashBuildRecord | undefined> {
  return (await findFlashBuilds(db, accountId, [buildId]))[0];
}

/** A build of any account. */
export async function findAnyFlashBuild(
  db: Database,
  buildId: string,
): Promise<FlashBuildRecord | undefined> {
  return await db.select(shown).from(flashBuild).where(eq(flashBuild.id, buildId)).get();
}

export async function findFlashManifests(
  db: Database,
  accountId: string,
  buildIds: readonly string[],
): Promise<{ readonly id: string; readonly manifest: Json }[]> {
  return await db
    .select({ id: flashBuild.id, manifest: flashBuild.manifest })
    .from(flashBuild)
    .where(and(eq(flashBuild.accountId, accountId), isOneOf(flashBuild.id, buildIds)));
}

/** Builds of apps of the account, the newest first. */
export async function listFlashBuilds(
  db: Database,
  accountId: string,
  appIds: readonly string[],
): Promise<FlashBuildRecord[]> {
  return await db
    .select(shown)
    .from(flashBuild)
    .where(and(eq(flashBuild.accountId, accountId), isOneOf(flashBuild.appId, appIds)))
    .orderBy(desc(flashBuild.createdAt), desc(flashBuild.id));
}

/** The newest build of an app that has this artifact, named by its content or by its key in the bucket. */
export async function findFlashBuildOf(
  db: Database,
  accountId: string,
  appId: string,
  artifact: { readonly sha256: string } | { readonly objectKey: string },
): Promise<FlashBuildRecord | undefined> {
  const isIt =
    "sha256" in artifact
      ? eq(flashBuild.sha256, artifact.sha256)
      : eq(flashBuild.objectKey, artifact.objectKey);
  return await db
    .select(shown)
    .from(flashBuild)
    .where(and(eq(flashBuild.accountId, accountId), eq(flashBuild.appId, appId), isIt))
    .orderBy(desc(flashBuild.createdAt))
    .get();
}

/**
 * Makes a build of an artifact, or finds the same one, which counts as new from then on. The upload that brought
 * the artifact ends with it. Returns undefined when the artifact has been removed meanwhile.
 */
export async function insertFlashBuildIfStored(
  db: Database,
  author: Author,
  values: FlashBuildValues,
  upload: FlashUploadRecord | undefined,
): Promise<FlashBuildRecord | undefined> {
  const { accountId, now } = author;
  const { objectKey } = values;
  const record = { ...values, manifest: values.manifest as Json, accountId, createdAt: now };
  // An artifact that maintenance is about to remove no longer counts.
  const isComing = sql`EXISTS (SELECT 1 FROM ${flashUpload}
    WHERE ${flashUpload.objectKey} = ${objectKey} AND ${flashUpload.expiresAt} > ${now})`;
  const isStored = sql`(${hasBuild(objectKey)} OR ${isComing})`;
  const insertion = db
    .insert(flashBuild)
    .select(rowIf(flashBuild, record, isStored))
    .onConflictDoUpdate({ target: flashBuild.id, set: { createdAt: now } })
    .returning(shown);
  const audit = auditIfChanged(db, author, subjectOf(record));
  if (upload === undefined) return (await db.batch([insertion, audit]))[0][0];

  const isUpload = eq(flashUpload.id, upload.id);
  // Bytes that the app had already are now stored twice: maintenance removes the new copy.
  const end =
    upload.objectKey === objectKey
      ? db.delete(flashUpload).where(and(isUpload, hasBuild(objectKey)))
      : db.update(flashUpload).set({ expiresAt: now, sha256: values.sha256 }).where(isUpload);
  return (await db.batch([insertion, audit, end]))[0][0];
}

function hasBuild(objectKey: string): SQL {
  return sql`EXISTS (SELECT 1 FROM ${flashBuild} WHERE ${flashBuild.objectKey} = ${objectKey})`;
}

/**
 * Changes the manifest of a build. `deployedTo`: environments in which this build is being deployed and whose
 * deployment has ended well with it.
 */
export async function changeFlashManifest(
  db: Database,
  author: Author,
  buildId: string,
  manifest: FlashManifest,
  deployedTo: readonly string[],
): Promise<FlashBuildRecord | undefined> {
  const update = db
    .update(flashBuild)
    .set({ manifest: manifest as Json })
    .where(isOwn(flashBuild, author.accountId, buildId))
    .returning(shown);
  const audit = auditIfChanged(db, author, {
    kind: "flash_build",
    id: buildId,
    name: null,
    fields: ["manifest"],
  });
  const ending = db
    .update(flashEnvironment)
    .set({ state: "DEPLOYED", updatedAt: author.now })
    .where(
      and(
        eq(flashEnvironment.accountId, author.accountId),
        isOneOf(flashEnvironment.id, deployedTo),
        eq(flashEnvironment.activeBuildId, buildId),
        eq(flashEnvironment.state, "DEPLOYING"),
      ),
    );
  return (await db.batch([update, audit, ending]))[0][0];
}

/** Whether an environment or an endpoint still needs a build. */
function isUnused(db: Database): SQL | undefined {
  const one = { one: sql`1` };
  return and(
    notExists(db.select(one).from(flashEnvironment).where(eq(flashEnvironment.activeBuildId, flashBuild.id))),
    notExists(db.select(one).from(endpoint).where(eq(endpoint.flashBuildId, flashBuild.id))),
    not(isBuildOfRecentVersion(flashBuild.id)),
  );
}

function subjectOf({ id }: Pick<FlashBuildRecord, "id">): AuditSubject {
  return { kind: "flash_build", id, name: null };
}

/** Removes builds that nothing uses; each object that no other build shares becomes an upload that has ended. */
export async function removeFlashBuildsIfUnused(
  db: Database,
  buildIds: readonly string[],
  now: number,
): Promise<number> {
  if (buildIds.length === 0) return 0;
  const isRemoved = and(isOneOf(flashBuild.id, buildIds), isUnused(db));
  const removed = db.select({ id: flashBuild.id }).from(flashBuild).where(isRemoved);
  const ended = db
    .select({
      id: sql<string>`min(${flashBuild.id})`.as("id"),
      accountId: flashBuild.accountId,
      appId: flashBuild.appId,
      objectKey: flashBuild.objectKey,
      tokenHash: sql<string>`min(${flashBuild.id})`.as("token_hash"),
      sizeBytes: flashBuild.sizeBytes,
      sha256: flashBuild.sha256,
      multipartId: sql<null>`NULL`.as("multipart_id"),
      createdAt: sql<number>`${now}`.as("created_at"),
      expiresAt: sql<number>`${now}`.as("expires_at"),
    })
    .from(flashBuild)
    .where(
      and(
        isRemoved,
        sql`NOT EXISTS (SELECT 1 FROM flash_build AS other WHERE other.object_key = ${flashBuild.objectKey}
          AND other.account_id = ${flashBuild.accountId} AND other.id NOT IN (${removed}))`,
      ),
    )
    .groupBy(flashBuild.objectKey);
  const [, gone] = await db.batch([
    db.insert(flashUpload).select(ended).onConflictDoNothing(),
    db.delete(flashBuild).where(inArray(flashBuild.id, removed)).returning({ id: flashBuild.id }),
  ]);
  return gone.length;
}

/** Builds of all apps that nothing uses, beyond the newest of each app that are kept. */
export async function listSurplusFlashBuilds(
  db: Database,
  retained: number,
  limit: number,
): Promise<readonly string[]> {
  const newer = sql<number>`row_number() OVER (PARTITION BY ${flashBuild.appId} ORDER BY ${flashBuild.createdAt} DESC, ${flashBuild.id} DESC)`;
  const unused = db.$with("unused").as(
    db
      .select({ id: flashBuild.id, place: newer.as("place") })
      .from(flashBuild)
      .where(isUnused(db)),
  );
  const rows = await db
    .with(unused)
    .select({ id: unused.id })
    .from(unused)
    .where(sql`${unused.place} > ${retained}`)
    .limit(limit);
  return rows.map(({ id }) => id);
}

/** An endpoint with its own image uses nothing from the build, and is not released with it. */
function pinnedBuild(environmentId: string | SQLWrapper, endpointName: string | SQLWrapper): SQL {
  const hasOwnImage = sql`EXISTS (SELECT 1 FROM json_each(${flashBuild.manifest}, '$.resources') AS resource
    WHERE resource.key = ${endpointName} AND json_extract(resource.value, '$.client_mode'))`;
  return sql`(SELECT CASE WHEN ${hasOwnImage} THEN NULL ELSE ${flashBuild.id} END
    FROM ${flashEnvironment} JOIN ${flashBuild} ON ${flashBuild.id} = ${flashEnvironment.activeBuildId}
    WHERE ${flashEnvironment.id} = ${environmentId})`;
}

/** The build that an endpoint of this name gets; null for one that gets none. */
export async function findPinnedBuild(
  db: Database,
  environmentId: string,
  endpointName: string,
): Promise<string | null> {
  const build = pinnedBuild(environmentId, endpointName);
  return (await db.get<{ readonly id: string | null }>(sql`SELECT ${build} AS "id"`)).id;
}

/** For an update of endpoints: the build that each of them gets. */
export function buildForNewVersion(): SQL {
  return pinnedBuild(endpoint.flashEnvironmentId, endpoint.name);
}
