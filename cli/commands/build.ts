import { Command } from "commander";
import type { Cli } from "../core/cli.ts";
import { appNameOf } from "../project/app-name.ts";
import { listOption } from "./list-option.ts";

type BuildFlags = {
  readonly app?: string;
  readonly deps: boolean;
  readonly output?: string;
  readonly exclude: readonly string[];
  readonly pythonVersion?: string;
  readonly python?: string;
  readonly keepBuild?: boolean;
};

export function buildCommand(cli: Cli): Command {
  return new Command("build")
    .description("Build the app's artifact without deploying it.")
    .option("-a, --app <name>", "app (default: name of this directory)")
    .option("--no-deps", "install no dependencies of dependencies")
    .option("-o, --output <name>", "file name of the archive within .flash/")
    .option("--exclude <packages>", "leave out these packages too, as a comma list", listOption, [])
    .option("--python-version <version>", "Python of the workers, such as 3.12")
    .option("--python <path>", "interpreter that reads the app")
    .option("--keep-build", "keep .flash/.build")
    .option("--json", "print JSON")
    .action(async (flags: BuildFlags) => {
      const { buildApp } = await import("../build/build.ts");
      const { showBuild } = await import("../build/build-summary.ts");
      const result = await buildApp(cli, {
        appName: await appNameOf(cli, flags.app),
        withDependenciesOfDependencies: flags.deps,
        output: flags.output,
        exclude: flags.exclude,
        pythonVersion: flags.pythonVersion,
        python: flags.python,
        keepsBuildDirectory: flags.keepBuild === true,
      });
      showBuild(cli, result);
    });
}
