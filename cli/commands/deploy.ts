/** `flash deploy`, `flash update` and `flash undeploy`. */
import { Command, InvalidArgumentError, Option } from "commander";
import { CANARY_PERCENT_MAX } from "../../src/contract/endpoint.ts";
import type { Cli } from "../core/cli.ts";
import type { DeployOptions } from "../deploy/deploy.ts";
import {
  listOption,
  portOption,
  storedSettings,
  addWaitOptions,
  type WaitFlags,
  waitSettingsOf,
} from "./options.ts";
import type { UpdateOptions } from "../deploy/update.ts";
import { appNameOf } from "../project/project.ts";
import type { UndeployOptions } from "../apps/undeploy.ts";

type DeployFlags = DeployOptions & WaitFlags & { readonly preview?: boolean; readonly port: number };

export function deployCommand(cli: Cli): Command {
  const command = new Command("deploy")
    .description("Build the app and deploy it, one endpoint for each configuration.")
    .option("-e, --env <name>", "environment (default: the app's only one, or production)")
    .option("-a, --app <name>", "app (default: name of this directory)")
    .option("--exclude <packages>", "leave out these packages too, as a comma list", listOption, [])
    .option("--no-deps", "install no dependencies of dependencies")
    .option("-o, --output <name>", "file name of the archive within .flash/")
    .option("--python-version <version>", "Python of the workers, such as 3.12")
    .option("--python <path>", "interpreter that reads the app")
    .option("--prune", "delete endpoints that the app no longer has")
    .option("--canary <percent>", "try the new version with this share of the jobs, such as 10%", readPercent)
    .addOption(
      new Option("--preview", "deploy nothing: run it here, a container for each endpoint").conflicts([
        "env",
        "prune",
      ]),
    );
  return addWaitOptions(command)
    .addOption(portOption("with --preview: port; the next free one when it is taken"))
    .option("-y, --yes", "do not ask")
    .option("--json", "print JSON")
    .action(async (options: DeployFlags, command: Command) => {
      const waiting = waitSettingsOf(options);
      if (options.preview === true) {
        const { previewApp } = await import("../preview/preview.ts");
        const stored = await storedSettings(cli, command);
        await previewApp(cli, { ...options, waiting, port: stored.port ?? options.port });
      } else {
        const { deployApp } = await import("../deploy/deploy.ts");
        await deployApp(cli, { ...options, waiting });
      }
    });
}

function readPercent(value: string): number {
  const percent = Number(value.replace(/%$/, ""));
  if (Number.isInteger(percent) && percent > 0 && percent <= CANARY_PERCENT_MAX) return percent;
  throw new InvalidArgumentError(`It must be a whole number from 1 to ${CANARY_PERCENT_MAX}, such as 10%.`);
}

export function updateCommand(cli: Cli): Command {
  const command = new Command("update")
    .description("Bring the endpoints in line with the last build, without building.")
    .option("-e, --env <name>", "environment (default: the app's only one, or production)")
    .option("-a, --app <name>", "app (default: name of this directory)")
    .option("--prune", "delete endpoints that the app no longer has");
  return addWaitOptions(command)
    .option("-y, --yes", "do not ask")
    .option("--json", "print JSON")
    .action(async (options: UpdateOptions & WaitFlags) => {
      const { updateEndpoints } = await import("../deploy/update.ts");
      await updateEndpoints(cli, { ...options, waiting: waitSettingsOf(options) });
    });
}

type UndeployFlags = Omit<UndeployOptions, "app" | "name"> & { readonly app?: string };

export function undeployCommand(cli: Cli): Command {
  return new Command("undeploy")
    .description("Delete deployed endpoints.")
    .argument("[name]", "name or id of an endpoint; `list` shows them")
    .option("-a, --app <name>", "app (default: name of this directory)")
    .option("-e, --env <name>", "environment (default: the app's only one)")
    .option("--all", "delete all endpoints of the environment")
    .option("-i, --interactive", "choose from a list")
    .option("--cleanup-stale", "forget endpoints that the service no longer has")
    .option("-f, --force", "do not ask; with --yes not even for --all")
    .option("-y, --yes", "do not ask")
    .option("--json", "print JSON")
    .action(async (name: string | undefined, { app, ...flags }: UndeployFlags) => {
      const { undeploy } = await import("../apps/undeploy.ts");
      await undeploy(cli, { ...flags, name, app: await appNameOf(cli, app) });
    });
}
