/** Flash apps: finding, creating and deleting them. */
import {
  deleteFlashAppIfEmpty,
  findFlashApp,
  findFlashAppByName,
  insertFlashAppIfFree,
  makeFlashAppPermanent,
  type FlashAppRecord,
} from "../../db/flash/apps.ts";
import { listFlashEnvironments } from "../../db/flash/environments.ts";
import { requireQuota } from "../quota.ts";
import { authorOf, retryOnConflict, type RequestContext } from "../context.ts";
import { ServiceError } from "../../contract/errors.ts";
import { removeArtifactsOfApp } from "./artifact-removal.ts";
import { removeEnvironment } from "./environment-removal.ts";
import type { AppCreation } from "./flash-input.ts";

export type { FlashAppRecord };

/** Finds an app of the calling account, or refuses. */
export async function requireApp(
  { db, principal }: RequestContext,
  appId: string,
  field = "flashAppId",
): Promise<FlashAppRecord> {
  const app = await findFlashApp(db, principal.accountId, appId);
  if (app === undefined) throw appNotFound(field, appId);
  return app;
}

export async function requireAppByName(
  { db, principal }: RequestContext,
  name: string,
): Promise<FlashAppRecord> {
  const app = await findFlashAppByName(db, principal.accountId, name);
  if (app === undefined) throw appNotFound("flashAppName", name);
  return app;
}

/** Makes an app permanent that was created for sessions. */
export async function createApp(
  context: RequestContext,
  { name, isForSessions }: AppCreation,
): Promise<FlashAppRecord> {
  const { db, principal } = context;
  const values = { name, isForSessions: isForSessions ?? false };
  return await retryOnConflict(async () => {
    const holder = await findFlashAppByName(db, principal.accountId, name);
    if (holder?.isForSessions && !values.isForSessions) {
      return await makeFlashAppPermanent(db, authorOf(context), holder);
    }
    if (holder !== undefined) {
      throw new ServiceError("app_name_taken", `name: a flash app named '${name}' already exists`);
    }
    await requireQuota(context, "flashApp");
    return await insertFlashAppIfFree(db, authorOf(context), values);
  });
}

/** Deletes an app with its environments and their endpoints, workers running or not, and with its builds. */
export async function deleteApp(context: RequestContext, appId: string): Promise<void> {
  const { db, principal } = context;
  await retryOnConflict(async () => {
    const app = await requireApp(context, appId);
    for (const environment of await listFlashEnvironments(db, principal.accountId, [appId])) {
      await removeEnvironment(context, environment);
    }
    await removeArtifactsOfApp(context, appId);
    return (await deleteFlashAppIfEmpty(db, authorOf(context), app)) || undefined;
  });
}

/** Clients create an app when they read this message. */
function appNotFound(field: string, name: string): ServiceError {
  return new ServiceError("app_not_found", `${field}: app not found: '${name}'`);
}
