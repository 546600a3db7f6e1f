/** Deploys an uploaded build to an environment: the common end of `flash deploy` and `flash update`. */
import type { FlashManifest } from "../../src/contract/flash/flash-manifest.ts";
import type { Cli } from "../core/cli.ts";
import { Failure } from "../../src/std/failure.ts";
import type { Service } from "../service/service.ts";
import { deploy, type Deployment } from "./deployment.ts";
import { secondsSince } from "../core/format.ts";
import { type DeploymentDocument, showDeployment } from "./deployment-report.ts";
import { ownHostOf } from "./endpoint-urls.ts";
import type { Target } from "./target.ts";
import { requireNoFailure, workerFailures } from "./worker-failures.ts";
import { awaitWorkers, type WaitSettings } from "./worker-wait.ts";
import { join } from "node:path";
import writeFileAtomic from "write-file-atomic";
import { ensureFlashDirectory } from "../project/project.ts";

type BuildDeployment = {
  readonly target: Target;
  readonly buildId: string;
  readonly manifest: FlashManifest;
  readonly prunes: boolean;
  readonly canaryPercent?: number | undefined;
  readonly warnings: readonly string[];
  readonly waiting: WaitSettings;
  /** When the command started, from `performance.now()`. */
  readonly startedAt: number;
};

/** Throws a Failure when an endpoint could not be saved or its workers did not become ready, after showing the result. */
export async function deployBuildToEnvironment(
  cli: Cli,
  service: Service,
  order: BuildDeployment,
): Promise<void> {
  const { target, manifest, warnings, startedAt, waiting } = order;
  const deployment = await deployWithProgress(cli, service, order);
  const { endpoints, removed } = deployment;
  const workers = await awaitWorkers(cli, service, { manifest, endpoints, ...waiting });
  const failures = await workerFailures(service, workers);
  const hostOf = endpoints.some(({ type }) => type === "LB") ? await ownHostOf(service) : undefined;
  showDeployment(cli.terminal, manifest, deployment, hostOf);
  cli.terminal.json({
    app: target.app.name,
    environment: target.environment.name,
    buildId: order.buildId,
    endpoints,
    removed,
    workers,
    failures,
    warnings: [...warnings, ...(cli.warnings?.messages ?? [])],
    seconds: secondsSince(startedAt),
  } satisfies DeploymentDocument);
  if (deployment.hasFailed) {
    throw new Failure("Not everything could be deployed; failures are listed above.", [
      "Fix them and run the command again: what succeeded stays as it is.",
    ]);
  }
  requireNoFailure(failures);
}

async function deployWithProgress(cli: Cli, service: Service, order: BuildDeployment): Promise<Deployment> {
  const { target } = order;
  const { name } = target.environment;
  const title = `Deploying to ${name}`;
  const stepStartedAt = performance.now();
  const step = cli.terminal.step(title);
  let isOver = false;
  cli.onForceQuit?.(() =>
    isOver ? [] : [`Environment '${name}' stays DEPLOYING until it is deployed to again.`],
  );
  const deployment = await deploy(service, order, step)
    .catch((error: unknown) => {
      step.fail(`${title} failed`);
      if (cli.signal.aborted)
        cli.terminal.warn(`${title} was interrupted. Run the command again to continue.`);
      throw error;
    })
    .finally(() => (isOver = true));
  await writeContext(cli.directory, target);
  const stepSeconds = secondsSince(stepStartedAt);
  if (deployment.hasFailed) step.fail(`Deployed to ${name} partly (${stepSeconds} s)`);
  else step.done(`Deployed to ${name} (${stepSeconds} s)`);
  return deployment;
}

/** Writes `.flash/context.json`: the last deployment of the project, by which scripts find their functions. */
export async function writeContext(directory: string, { app, environment }: Target): Promise<void> {
  const path = join(await ensureFlashDirectory(directory), "context.json");
  const context = { app: app.name, environment: environment.name };
  await writeFileAtomic(path, `${JSON.stringify(context, null, 2)}\n`);
}
