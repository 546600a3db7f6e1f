import { Command, Option } from "commander";
import type { Cli } from "../core/cli.ts";
import type { DeployOptions } from "../deploy/deploy.ts";
import { listOption } from "./list-option.ts";
import { portOption, storedSettings } from "./options.ts";
import { addWaitOptions, type WaitFlags, waitLimitOf } from "./wait-options.ts";

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
    .action(async (options: DeployOptions & WaitFlags & { readonly port: number }, command: Command) => {
      const { deployApp, previewApp } = await import("../deploy/deploy.ts");
      const waitSeconds = waitLimitOf(options);
      if (options.preview === true) {
        const stored = await storedSettings(cli, command);
        await previewApp(cli, { ...options, waitSeconds, port: stored.port ?? options.port });
      } else await deployApp(cli, { ...options, waitSeconds });
    });
}
