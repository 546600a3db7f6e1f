/** Environments of flash apps: found, made, deployed to and deleted. */
import {
  activateFlashBuild,
  endFlashDeployment,
  findFlashEnvironment,
  findFlashEnvironmentByName,
  findFlashEnvironmentOfEndpoint,
  insertFlashEnvironmentIfFree,
  mayHaveMoreEnvironments,
  type FlashEnvironmentRecord,
} from "../../db/flash-environments.ts";
import { FLASH_ENVIRONMENTS_MAX } from "../../contract/limits.ts";
import { authorOf, type RequestContext } from "../context.ts";
import { OperationError } from "../operation-error.ts";
import { untilUnchanged } from "../optimistic-write.ts";
import { requireApp } from "./apps.ts";
import { buildNotFound, requireBuild } from "./builds.ts";
import { removeEnvironment } from "./environment-removal.ts";

/** The environment of this id, or that of the endpoint of this id: workers know themselves only. */
export async function findEnvironment(
  { db, principal: { accountId } }: RequestContext,
  id: string,
): Promise<FlashEnvironmentRecord | undefined> {
  return (
    (await findFlashEnvironment(db, accountId, id)) ??
    (await findFlashEnvironmentOfEndpoint(db, accountId, id))
  );
}

export async function createEnvironment(
  context: RequestContext,
  { flashAppId, name }: { readonly flashAppId: string; readonly name: string },
): Promise<FlashEnvironmentRecord> {
  const { db, principal } = context;
  return await untilUnchanged(async () => {
    const app = await requireApp(context, flashAppId);
    const holder = await findFlashEnvironmentByName(db, principal.accountId, app.id, name);
    if (holder !== undefined) throw nameTaken(name, holder);
    if (!(await mayHaveMoreEnvironments(db, app.id))) throw noRoom();
    return await insertFlashEnvironmentIfFree(db, authorOf(context), app, name);
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
  return await untilUnchanged(async () => {
    const environment = await requireOpenEnvironment(context, flashEnvironmentId);
    const build = await requireBuild(context, flashBuildId);
    if (build.appId !== environment.appId) throw buildNotFound(flashBuildId);
    return await activateFlashBuild(context.db, authorOf(context), environment, build.id);
  });
}

/** Says how the deployment of the active build ended. */
export async function finishDeployment(
  context: RequestContext,
  {
    flashEnvironmentId,
    state,
  }: { readonly flashEnvironmentId: string; readonly state: "DEPLOYED" | "FAILED" },
): Promise<FlashEnvironmentRecord> {
  return await untilUnchanged(async () => {
    const environment = await requireOpenEnvironment(context, flashEnvironmentId);
    if (environment.activeBuildId === null) {
      throw new OperationError(
        "INVALID_INPUT",
        "flashEnvironmentId: nothing was deployed to this environment yet; call deployBuildToEnvironment first",
      );
    }
    return await endFlashDeployment(context.db, authorOf(context), environment, state);
  });
}

/** Deletes an environment with its endpoints, workers running or not. */
export async function deleteEnvironment(context: RequestContext, environmentId: string): Promise<void> {
  await removeEnvironment(context, await requireEnvironment(context, environmentId));
}

async function requireOpenEnvironment(
  context: RequestContext,
  environmentId: string,
): Promise<FlashEnvironmentRecord> {
  const environment = await requireEnvironment(context, environmentId);
  if (environment.state === "DELETING") throw environmentNotFound(environmentId, "is being deleted");
  return environment;
}

async function requireEnvironment(
  { db, principal }: RequestContext,
  environmentId: string,
): Promise<FlashEnvironmentRecord> {
  const environment = await findFlashEnvironment(db, principal.accountId, environmentId);
  if (environment === undefined) throw environmentNotFound(environmentId, "was not found");
  return environment;
}

function environmentNotFound(environmentId: string, fate: string): OperationError {
  return new OperationError(
    "FLASH_ENVIRONMENT_NOT_FOUND",
    `flashEnvironmentId: flash environment '${environmentId}' ${fate}`,
  );
}

function nameTaken(name: string, { state }: FlashEnvironmentRecord): OperationError {
  const fate = state === "DELETING" ? " and is being deleted; delete it again to finish that" : "";
  return new OperationError(
    "FLASH_ENVIRONMENT_NAME_TAKEN",
    `name: an environment named '${name}' already exists in this app${fate}`,
  );
}

function noRoom(): OperationError {
  return new OperationError(
    "LIMIT_REACHED",
    `The app has ${FLASH_ENVIRONMENTS_MAX} environments, which is as many as it may have. Delete what is not used any more.`,
  );
}
