/** `flash deploy`: builds the app, uploads it, and reconciles its endpoints. */
import { buildApp, type BuildOptions } from "../build/build.ts";
import type { Cli } from "../core/cli.ts";
import { deployBuildToEnvironment } from "./deploy-build.ts";
import { ensureTarget, openTarget } from "./target.ts";
import { uploadWithProgress } from "./upload.ts";
import type { WaitSettings } from "./worker-wait.ts";

export type DeployOptions = BuildOptions & {
  readonly env?: string;
  readonly app?: string;
  readonly prune?: boolean;
  /** The share of jobs that tries new versions first. */
  readonly canary?: number;
};

export async function deployApp(
  cli: Cli,
  options: DeployOptions & { readonly waiting: WaitSettings },
): Promise<void> {
  const startedAt = performance.now();
  const { service, appName, environmentName } = await openTarget(cli, options);
  const { artifact, manifest, warnings } = await buildApp(cli, appName, options);
  const target = await ensureTarget(service, appName, environmentName);
  const buildId = await uploadWithProgress(cli, service, { appId: target.app.id, artifact, manifest });
  await deployBuildToEnvironment(cli, service, {
    target,
    buildId,
    manifest,
    prunes: options.prune ?? false,
    canaryPercent: options.canary,
    warnings,
    startedAt,
    waiting: options.waiting,
  });
}
