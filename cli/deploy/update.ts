/** `flash update`: reconciles the endpoints with the last build, without building. */
import type { FlashManifest } from "../../src/contract/flash/flash-manifest.ts";
import type { Cli } from "../core/cli.ts";
import { findLocalBuild } from "../build/local-build.ts";
import { deployBuildToEnvironment } from "./deploy-build.ts";
import { ensureTarget, openTarget } from "./target.ts";
import { uploadWithProgress } from "./upload.ts";
import type { WaitSettings } from "./worker-wait.ts";
import { Failure } from "../../src/std/failure.ts";
import { buildById, type FlashApp } from "../service/flash-operations.ts";
import type { Service } from "../service/service.ts";

export type UpdateOptions = { readonly env?: string; readonly app?: string; readonly prune?: boolean };

export async function updateEndpoints(
  cli: Cli,
  options: UpdateOptions & { readonly waiting: WaitSettings },
): Promise<void> {
  const startedAt = performance.now();
  const { service, appName, app, environmentName } = await openTarget(cli, options);
  const found = (await findLocalBuild(cli.directory)) ?? (await activeBuild(service, app, environmentName));
  if (!found) throw nothingToUpdate(appName, environmentName);
  const target = await ensureTarget(service, appName, environmentName);
  const appId = target.app.id;
  await deployBuildToEnvironment(cli, service, {
    target,
    // The service may not have the last build of this project.
    buildId:
      "artifact" in found ? await uploadWithProgress(cli, service, { appId, ...found }) : found.buildId,
    manifest: found.manifest,
    prunes: options.prune ?? false,
    warnings: [],
    startedAt,
    waiting: options.waiting,
  });
}

function nothingToUpdate(appName: string, environmentName: string): Failure {
  return new Failure(
    `There is no build in .flash/, and nothing is deployed in environment '${environmentName}' of app '${appName}'.`,
    ["Deploy the app first: flash deploy"],
  );
}

type ActiveBuild = { readonly buildId: string; readonly manifest: FlashManifest };

/** The build that the environment runs now. */
async function activeBuild(
  service: Service,
  app: FlashApp | undefined,
  environmentName: string,
): Promise<ActiveBuild | undefined> {
  const environment = app?.flashEnvironments.find(({ name }) => name === environmentName);
  const buildId = environment?.activeBuildId ?? null;
  if (buildId === null) return undefined;
  const { flashBuild } = await service.query(buildById, { id: buildId });
  return flashBuild?.manifest ? { buildId, manifest: flashBuild.manifest } : undefined;
}
