/** `flash update`: reconciles the endpoints with the last build, without building. */
import type { FlashManifest } from "../../src/contract/flash/flash-manifest.ts";
import type { Cli } from "../core/cli.ts";
import { openService } from "../configuration/settings.ts";
import { type LocalBuild, findLocalBuild } from "../build/local-build.ts";
import { deployBuildToEnvironment } from "./deploy-build.ts";
import { chooseEnvironment, ensureTarget, findApp } from "./target.ts";
import { uploadWithProgress } from "./upload.ts";
import { Failure } from "../core/failure.ts";
import { appNameOf, checkedName } from "../project/project.ts";
import { buildById, type FlashApp } from "../service/flash-operations.ts";
import type { Service } from "../service/service.ts";

export type UpdateOptions = { readonly env?: string; readonly app?: string; readonly prune?: boolean };

export async function updateEndpoints(
  cli: Cli,
  options: UpdateOptions & { readonly waitSeconds: number },
): Promise<void> {
  const startedAt = performance.now();
  const appName = await appNameOf(cli, options.app);
  const named = options.env === undefined ? undefined : await checkedName("environment", options.env);
  const service = await openService(cli);
  const app = await findApp(service, appName);
  const environmentName = chooseEnvironment(app, named);
  const prepared = await prepare(cli, service, app, environmentName);
  if (prepared === undefined) throw nothingToUpdate(appName, environmentName);
  const target = await ensureTarget(service, appName, environmentName);
  const build = await prepared(target.app.id);
  const prunes = options.prune ?? false;
  await deployBuildToEnvironment(cli, service, {
    ...build,
    target,
    prunes,
    warnings: [],
    startedAt,
    waitSeconds: options.waitSeconds,
  });
}

/** The build to deploy, for an app that may not exist yet: the last one of this project, else the active one. */
async function prepare(
  cli: Cli,
  service: Service,
  app: FlashApp | undefined,
  environmentName: string,
): Promise<((appId: string) => Promise<StoredBuild>) | undefined> {
  const localBuild = await findLocalBuild(cli.directory);
  if (localBuild) return async (appId) => await storedBuild(cli, service, appId, localBuild);
  const active = await activeBuild(service, app, environmentName);
  return active && (async () => active);
}

function nothingToUpdate(appName: string, environmentName: string): Failure {
  return new Failure(
    `There is no build in .flash/, and nothing is deployed in environment '${environmentName}' of app '${appName}'.`,
    ["Deploy the app first: flash deploy"],
  );
}

type StoredBuild = { readonly buildId: string; readonly manifest: FlashManifest };

/** Uploads the last build unless the service has it. */
async function storedBuild(
  cli: Cli,
  service: Service,
  appId: string,
  localBuild: LocalBuild,
): Promise<StoredBuild> {
  return {
    buildId: await uploadWithProgress(cli, service, { appId, ...localBuild }),
    manifest: localBuild.manifest,
  };
}

/** The build that the environment runs now. */
async function activeBuild(
  service: Service,
  app: FlashApp | undefined,
  environmentName: string,
): Promise<StoredBuild | undefined> {
  const environment = app?.flashEnvironments.find(({ name }) => name === environmentName);
  const buildId = environment?.activeBuildId ?? null;
  if (buildId === null) return undefined;
  const { flashBuild } = await service.query(buildById, { id: buildId });
  return flashBuild?.manifest ? { buildId, manifest: flashBuild.manifest } : undefined;
}
