/** Removing what lies in the bucket and is no longer needed. Objects go before their rows, so that none is forgotten. */
import { ignoreFailure } from "../../std/errors.ts";
import { ORPHAN_RETENTION_MS } from "../../db/templates.ts";
import { MAINTENANCE_ROWS_MAX } from "../../db/database.ts";
import type { Database } from "../../db/database.ts";
import { listFlashBuilds, listSurplusFlashBuilds, removeFlashBuildsIfUnused } from "../../db/flash/builds.ts";
import {
  deleteFlashUploads,
  listEndedFlashUploads,
  listFlashUploadsOfApp,
  type FlashUploadRecord,
} from "../../db/flash/uploads.ts";
import type { Env } from "../../env.ts";
import type { RequestContext } from "../context.ts";

/** Builds of an app that no environment uses: the newest are kept, so that a user can roll back. */
export const FLASH_BUILDS_RETAINED = 20;

/** Objects of uploads that ended which one maintenance run removes at most. */
const ARTIFACTS_REMOVED_AT_ONCE = 100;

type Place = { readonly env: Pick<Env, "ARTIFACTS">; readonly db: Database; readonly now: number };

/** Removes all builds and uploads of an app that has no environment any more. */
export async function removeArtifactsOfApp(context: RequestContext, appId: string): Promise<void> {
  const { db, now, principal } = context;
  const builds = await listFlashBuilds(db, principal.accountId, [appId]);
  await removeFlashBuildsIfUnused(
    db,
    builds.map(({ id }) => id),
    now,
  );
  const next = () => listFlashUploadsOfApp(db, principal.accountId, appId, ARTIFACTS_REMOVED_AT_ONCE);
  for (let uploads = await next(); uploads.length > 0; uploads = await next()) {
    await removeUploads(context, uploads);
  }
}

/** Removes builds of all accounts that nothing uses, but for the newest of each app; returns how many. */
export async function removeSurplusBuilds({ db, now }: Place): Promise<number> {
  const surplus = await listSurplusFlashBuilds(db, FLASH_BUILDS_RETAINED, MAINTENANCE_ROWS_MAX);
  return await removeFlashBuildsIfUnused(db, surplus, now);
}

/** Removes uploads of all accounts that ended a while ago, when no request works on them any more; returns how many. */
export async function removeEndedUploads(place: Place): Promise<number> {
  const before = place.now - ORPHAN_RETENTION_MS;
  const ended = await listEndedFlashUploads(place.db, before, ARTIFACTS_REMOVED_AT_ONCE);
  await removeUploads(place, ended);
  return ended.length;
}

async function removeUploads({ env, db }: Place, uploads: readonly FlashUploadRecord[]): Promise<void> {
  for (const { objectKey, multipartId } of uploads) {
    if (multipartId === null) continue;
    // One that was completed or aborted before is not there any more.
    await env.ARTIFACTS.resumeMultipartUpload(objectKey, multipartId).abort().catch(ignoreFailure);
  }
  if (uploads.length > 0) await env.ARTIFACTS.delete(uploads.map(({ objectKey }) => objectKey));
  await deleteFlashUploads(
    db,
    uploads.map(({ id }) => id),
  );
}
