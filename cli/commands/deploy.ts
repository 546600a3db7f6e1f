/** `flash deploy`: builds the app, brings it to the service, and makes its endpoints what it says. */
import { Command, Option } from "commander";
import { buildApp, type BuildResult } from "../build/build.ts";
import type { Cli } from "../cli.ts";
import { openService } from "../configuration/service-access.ts";
import { release } from "../deploy/release.ts";
import { openDocker } from "../preview/docker-access.ts";
import { runPreview, tidy } from "../preview/preview.ts";
import { chooseEnvironment, ensureTarget, findApp } from "../deploy/target.ts";
import { showUpload } from "../deploy/upload-step.ts";
import { appNameOf, checkedName } from "../project.ts";
import { listOption } from "./list-option.ts";

type DeployOptions = {
  readonly env?: string;
  readonly app?: string;
  readonly exclude: readonly string[];
  readonly deps: boolean;
  readonly output?: string;
  readonly pythonVersion?: string;
  readonly python?: string;
  readonly prune?: boolean;
  readonly preview?: boolean;
};

export function deployCommand(cli: Cli): Command {
  return new Command("deploy")
    .description("Build the app and deploy it, one endpoint for each configuration.")
    .option("-e, --env <name>", "environment (default: the app's only one, or production)")
    .option("-a, --app <name>", "app (default: name of this directory)")
    .option("--exclude <packages>", "leave out these packages too, as a comma list", listOption, [])
    .option("--no-deps", "install no dependencies of dependencies")
    .option("-o, --output <name>", "file name of the archive within .flash/")
    .option("--python-version <version>", "Python of the workers, such as 3.12")
    .option("--python <path>", "interpreter that reads the app")
    .option("--prune", "delete endpoints that the app no longer has")
    .addOption(
      new Option("--preview", "deploy nothing: run it here, a container for each endpoint").conflicts([
        "env",
        "prune",
      ]),
    )
    .option("-y, --yes", "do not ask")
    .option("--json", "print JSON")
    .action(async (options: DeployOptions) => {
      if (options.preview === true) await previewApp(cli, options);
      else await deployApp(cli, options);
    });
}

async function deployApp(cli: Cli, options: DeployOptions): Promise<void> {
  const startedAt = performance.now();
  const appName = appNameOf(cli, options.app);
  const named = options.env === undefined ? undefined : checkedName("environment", options.env);
  const service = await openService(cli);
  // Before anything is built: a wrong key or an open choice is said at once.
  const environmentName = chooseEnvironment(await findApp(service, appName), named);
  const { artifact, manifest, warnings } = await build(cli, appName, options);
  const target = await ensureTarget(service, appName, environmentName);
  const buildId = await showUpload(cli, service, { appId: target.app.id, artifact, manifest });
  const prunes = options.prune ?? false;
  await release(cli, service, { target, buildId, manifest, prunes, warnings, startedAt });
}

/** The same build, run on this computer; no service and no key are needed. */
async function previewApp(cli: Cli, options: DeployOptions): Promise<void> {
  const appName = appNameOf(cli, options.app);
  const docker = await openDocker(cli);
  await tidy(cli, docker);
  await runPreview(cli, docker, await build(cli, appName, options));
}

async function build(cli: Cli, appName: string, options: DeployOptions): Promise<BuildResult> {
  return await buildApp(cli, {
    appName,
    withDependenciesOfDependencies: options.deps,
    output: options.output,
    exclude: options.exclude,
    pythonVersion: options.pythonVersion,
    python: options.python,
    keepsBuildDirectory: false,
  });
}
