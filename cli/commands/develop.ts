/** `flash init`, `flash build` and `flash dev`. */
import { Command, Option } from "commander";
import type { BuildOptions } from "../build/build.ts";
import type { Cli } from "../core/cli.ts";
import { appNameOf } from "../project/project.ts";
import { listOption, portOption, storedSettings } from "./options.ts";

export function initCommand(cli: Cli): Command {
  return new Command("init")
    .description("Create the files of a new app.")
    .argument("[project]", "directory to create, or . for this one")
    .option("-f, --force", "overwrite files without asking")
    .option("-y, --yes", "the same")
    .action(async (project: string | undefined, _flags, command: Command) => {
      if (project === undefined) return command.outputHelp();
      const { initProject } = await import("../configuration/init.ts");
      await initProject(cli, project);
    });
}

type BuildFlags = BuildOptions & { readonly app?: string };

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
      const { buildApp, showBuild } = await import("../build/build.ts");
      showBuild(cli, await buildApp(cli, await appNameOf(cli, flags.app), flags));
    });
}

const DEFAULT_HOST = "localhost";

type DevFlags = {
  readonly host: string;
  readonly port: number;
  readonly reload: boolean;
  readonly autoProvision?: boolean;
  readonly local?: boolean;
  readonly runtime?: "docker" | "process";
  readonly app?: string;
  readonly python?: string;
};

/** Also available as `flash run`, for users of other tools. */
export function devCommand(cli: Cli, name = "dev"): Command {
  return new Command(name)
    .description("Serve the app's functions on this computer; they run on workers, and follow every change.")
    .addOption(new Option("--host <host>", "where to listen").default(DEFAULT_HOST).env("FLASH_HOST"))
    .addOption(portOption())
    .option("--reload", "follow changes of files (default)", true)
    .option("--no-reload", "serve the app as it is now")
    .option("--auto-provision", "make all live endpoints at once, not each at its first call")
    .option("--local", "run workers on this computer: needs no service, no account, no GPU")
    .addOption(
      new Option("--runtime <kind>", "with --local: how workers run (default: process)").choices([
        "docker",
        "process",
      ]),
    )
    .option("-a, --app <name>", "app (default: name of this directory)")
    .option("--python <path>", "interpreter that reads the app")
    .option("-y, --yes", "do not ask")
    .action(async (flags: DevFlags, command: Command) => {
      const { dev } = await import("../dev/dev.ts");
      const stored = await storedSettings(cli, command);
      await dev(cli, {
        appName: await appNameOf(cli, flags.app),
        host: stored.host ?? flags.host,
        port: stored.port ?? flags.port,
        reloads: flags.reload,
        provisionsAll: flags.autoProvision ?? false,
        python: flags.python,
        ...(flags.local ? { local: { runtime: flags.runtime ?? "process" } } : {}),
      });
    });
}
