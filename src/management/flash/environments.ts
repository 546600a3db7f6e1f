/** Environments of flash apps: finding, creating, deploying to and deleting them. */
import {
  activateFlashBuild,
  endFlashDeployment,
  findFlashEnvironment,
  findFlashEnvironmentByName,
  findFlashEnvironmentOfEndpoint,
  insertFlashEnvironmentIfFree,
  hasEnvironmentQuotaLeft,
  type FlashEnvironmentRecord,
  FLASH_ENVIRONMENTS_MAX,
} from "../../db/flash/environments.ts";
import { isBuildOfEnvironment } from "../../db/flash/deployments.ts";
import { makeFlashAppPermanent } from "../../db/flash/apps.ts";
import { authorOf, retryOnConflict, type RequestContext } from "../context.ts";
import { requireSealingKeys } from "../secrets/sealing-keys.ts";
import { ServiceError } from "../../contract/errors.ts";
import { requireApp } from "./apps.ts";
import { buildNotFound, requireBuild } from "./builds.ts";
import { removeEnvironment } from "./environment-removal.ts";
import type { EnvironmentCreation } from "./flash-input.ts";
import { endListedDeployment } from "./listed-deployment.ts";
import { requireEnvironment, requireOpenEnvironment } from "./open-environment.ts";
import { leaseEnd, removeSession } from "./sessions.ts";

export type { FlashEnvironmentRecord };

/** The environment of this id, or that of the endpoint of this id: workers know only their own endpoint. */
export async function findEnvironment(
  { db, principal: { accountId } }: RequestContext,
  id: string,
): Promise<FlashEnvironmentRecord | undefined> {
  return (
    (await findFlashEnvironment(db, accountId, id)) ??
    (await findFlashEnvironmentOfEndpoint(db, accountId, id))
  );
}

/** The environment of an app that has this name. */
export async function findEnvironmentByName(
  { db, principal }: RequestContext,
  { flashAppId, name }: { readonly flashAppId: string; readonly name: string },
): Promise<FlashEnvironmentRecord | undefined> {
  return await findFlashEnvironmentByName(db, principal.accountId, flashAppId, name);
}

/** Whether a build runs in an environment. */
export async function isBuildOf(
  { db }: RequestContext,
  environmentId: string,
  buildId: string,
): Promise<boolean> {
  return await isBuildOfEnvironment(db, environmentId, buildId);
}

/** With a lease it is a session; without one it lasts, and so does its app. */
export async function createEnvironment(
  context: RequestContext,
  { flashAppId, name, leaseSeconds }: EnvironmentCreation,
): Promise<FlashEnvironmentRecord> {
  const { db, principal, env, now } = context;
  if (leaseSeconds !== undefined) requireSealingKeys(env); // Without keys its workers could not verify that a caller is allowed to send code.
  const leaseExpiresAt = leaseSeconds === undefined ? null : leaseEnd(leaseSeconds, now);
  return await retryOnConflict(async () => {
    const app = await requireApp(context, flashAppId);
    const holder = await findFlashEnvironmentByName(db, principal.accountId, app.id, name);
    if (holder !== undefined) throw nameTaken(name, holder);
    if (!(await hasEnvironmentQuotaLeft(db, app.id))) throw limitReached();
    if (leaseExpiresAt === null && app.isForSessions) await makeFlashAppPermanent(db, authorOf(context), app);
    return await insertFlashEnvironmentIfFree(db, authorOf(context), app, { name, leaseExpiresAt });
  });
}

/** Makes a build of the same app the active one. New workers get its files; older ones at their next release. */
export async function deployBuild(
  context: RequestContext,
  {
    flashEnvironmentId,
    flashBuildId,
  }: { readonly flashEnvironmentId: string; readonly flashBuildId: string },
): Promise<FlashEnvironmentRecord> {
  const deploying = await retryOnConflict(async () => {
    const environment = await requireOpenEnvironment(context, flashEnvironmentId);
    if (environment.leaseExpiresAt !== null) throw takesNoBuild(environment);
    const build = await requireBuild(context, flashBuildId);
    if (build.appId !== environment.appId) throw buildNotFound(flashBuildId);
    return await activateFlashBuild(context.db, authorOf(context), environment, build.id);
  });
  return (await endListedDeployment(context, flashEnvironmentId)) ?? deploying;
}

/** Stores how the deployment of the active build ended. */
export async function finishDeployment(
  context: RequestContext,
  {
    flashEnvironmentId,
    state,
  }: { readonly flashEnvironmentId: string; readonly state: "DEPLOYED" | "FAILED" },
): Promise<FlashEnvironmentRecord> {
  return await retryOnConflict(async () => {
    const environment = await requireOpenEnvironment(context, flashEnvironmentId);
    if (environment.activeBuildId === null) {
      throw new ServiceError(
        "invalid_input",
        "flashEnvironmentId: nothing was deployed to this environment yet; call deployBuildToEnvironment first",
      );
    }
    return await endFlashDeployment(context.db, authorOf(context), environment, state);
  });
}

/** Deletes an environment with its endpoints, workers running or not. */
export async function deleteEnvironment(context: RequestContext, environmentId: string): Promise<void> {
  const environment = await requireEnvironment(context, environmentId);
  await (environment.leaseExpiresAt === null ? removeEnvironment : removeSession)(context, environment);
}

function takesNoBuild({ name }: FlashEnvironmentRecord): ServiceError {
  return new ServiceError(
    "invalid_input",
    `flashEnvironmentId: '${name}' is a session of flash dev, which takes no build; deploy to another environment`,
  );
}

function nameTaken(name: string, { state }: FlashEnvironmentRecord): ServiceError {
  const fate = state === "DELETING" ? " and is being deleted; delete it again to finish that" : "";
  return new ServiceError(
    "flash_environment_name_taken",
    `name: an environment named '${name}' already exists in this app${fate}`,
  );
}

function limitReached(): ServiceError {
  return new ServiceError(
    "limit_reached",
    `The app has ${FLASH_ENVIRONMENTS_MAX} environments, which is as many as it may have. Delete what is not used any more.`,
  );
}
