/** `flash deploy`: builds the app, uploads it, and reconciles its endpoints. */
import { buildApp, type BuildOptions } from "../build/build.ts";
import type { Cli } from "../core/cli.ts";
import { openService } from "../configuration/settings.ts";
import { appNameOf, checkedName } from "../project/project.ts";
import { deployBuildToEnvironment } from "./deploy-build.ts";
import { chooseEnvironment, ensureTarget, findApp } from "./target.ts";
import { uploadWithProgress } from "./upload.ts";

export type DeployOptions = BuildOptions & {
  readonly env?: string;
  readonly app?: string;
  readonly prune?: boolean;
  readonly preview?: boolean;
};

export async function deployApp(
  cli: Cli,
  options: DeployOptions & { readonly waitSeconds: number },
): Promise<void> {
  const startedAt = performance.now();
  const appName = await appNameOf(cli, options.app);
  const named = options.env === undefined ? undefined : await checkedName("environment", options.env);
  const service = await openService(cli);
  // Before the build, so that a wrong key or an ambiguous environment shows at once.
  const environmentName = chooseEnvironment(await findApp(service, appName), named);
  const { artifact, manifest, warnings } = await buildApp(cli, appName, options);
  const target = await ensureTarget(service, appName, environmentName);
  const buildId = await uploadWithProgress(cli, service, { appId: target.app.id, artifact, manifest });
  const prunes = options.prune ?? false;
  await deployBuildToEnvironment(cli, service, {
    target,
    buildId,
    manifest,
    prunes,
    warnings,
    startedAt,
    waitSeconds: options.waitSeconds,
  });
}

/** Deploys the same build to an edge on this computer; no service and no key are needed. */
export async function previewApp(
  cli: Cli,
  options: DeployOptions & { readonly port: number; readonly waitSeconds: number },
): Promise<void> {
  const { openDocker } = await import("../preview/docker-access.ts");
  const { runPreview } = await import("../preview/preview.ts");
  const appName = await appNameOf(cli, options.app);
  const docker = await openDocker(cli);
  const { port, waitSeconds } = options;
  await runPreview(cli, docker, { ...(await buildApp(cli, appName, options)), port, waitSeconds });
}
