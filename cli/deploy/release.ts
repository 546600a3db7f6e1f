/** A build that is on the service becomes what an environment runs; what `deploy` and `update` end with. */
import type { FlashManifest } from "../../src/contract/flash-manifest.ts";
import type { Cli } from "../cli.ts";
import { Failure } from "../failure.ts";
import type { Service } from "../service/service.ts";
import { writeContext } from "./context-file.ts";
import { deploy } from "./deployment.ts";
import { secondsSince } from "../terminal/seconds.ts";
import { type DeploymentDocument, showDeployment } from "./deployment-report.ts";
import type { Target } from "./target.ts";

export type Release = {
  readonly target: Target;
  readonly buildId: string;
  readonly manifest: FlashManifest;
  readonly prunes: boolean;
  readonly warnings: readonly string[];
  /** When the command began, of `performance.now()`. */
  readonly startedAt: number;
};

/** Throws a Failure when an endpoint could not be made what it should be; all that was done was shown by then. */
export async function release(cli: Cli, service: Service, order: Release): Promise<void> {
  const { target, buildId, manifest, prunes, warnings, startedAt } = order;
  const { name } = target.environment;
  const title = `Deploying to ${name}`;
  const stepStartedAt = performance.now();
  const step = cli.terminal.step(title);
  let isOver = false;
  cli.onHurry?.(() =>
    isOver ? [] : [`Environment '${name}' stays DEPLOYING until it is deployed to again.`],
  );
  const deployment = await deploy(service, { target, buildId, manifest, prunes }, step)
    .catch((error: unknown) => {
      step.fail(`${title} failed`);
      if (cli.signal.aborted) cli.terminal.warn(`${title} was cut off. Run the command again: it goes on.`);
      throw error;
    })
    .finally(() => (isOver = true));
  await writeContext(cli.directory, target);
  const stepSeconds = secondsSince(stepStartedAt);
  if (deployment.hasFailed) step.fail(`Deployed to ${name} in part (${stepSeconds} s)`);
  else step.done(`Deployed to ${name} (${stepSeconds} s)`);
  showDeployment(cli.terminal, manifest, deployment);
  const { endpoints, removed } = deployment;
  cli.terminal.json({
    app: target.app.name,
    environment: name,
    buildId,
    endpoints,
    removed,
    warnings,
    seconds: secondsSince(startedAt),
  } satisfies DeploymentDocument);
  if (deployment.hasFailed) {
    throw new Failure("Not everything could be deployed; what failed is named above.", [
      "Mend it and run the command again: what is done already stays as it is.",
    ]);
  }
}
